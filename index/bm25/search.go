package bm25

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// maxQTF bounds how often a repeated query term counts.
const maxQTF = 2

// A QueryTerm is one distinct term of a query.
type QueryTerm struct {
	Text  string
	ID    uint32 // meaningful when Known
	Known bool   // some document has it
	Count int    // occurrences, at most 2
	IDF   float64
}

// A Query is a text's terms, weighed by an index's statistics.
type Query struct {
	Terms []QueryTerm
	// Sees says which documents whoever asks may know of; nil says all.
	Sees func(doc uint32) bool
	// Among is how many documents Sees shows, when the query is weighed by these
	// alone; 0 weighs it by all.
	Among int
	Upper float64 // what no score can exceed: Σ min(qtf, 2) · idf · (k1 + 1)
}

// Add counts one occurrence of a term; one that is extra is left out unless
// some document that q sees has it, also when the term is there already: what a query
// comes to does not depend on the order of its words.
func (q *Query) Add(ix *Index, v View, text string, extra bool) {
	for i := range q.Terms {
		if q.Terms[i].Text == text {
			if t := &q.Terms[i]; t.Count < maxQTF && (!extra || t.Known && ix.shows(q, t.ID)) {
				t.Count++
				q.Upper += float64(t.IDF * (ix.params.K1 + 1))
			}
			return
		}
	}
	t := QueryTerm{Text: text, Count: 1}
	if id, ok := v.Find(text); ok && ix.has(id) {
		t.ID, t.Known = id, true
	}
	if extra && !(t.Known && ix.shows(q, t.ID)) {
		return
	}
	t.IDF = ix.idf(q, t)
	q.Terms = append(q.Terms, t)
	q.Upper += float64(t.IDF * (ix.params.K1 + 1))
}

// idf weighs a term, by what q is weighed by.
func (ix *Index) idf(q *Query, t QueryTerm) float64 {
	switch {
	case !t.Known:
		return IDF(cmp.Or(q.Among, ix.stats.N), 0)
	case q.Among == 0:
		return IDF(ix.stats.N, ix.stats.DF[t.ID])
	}
	df := uint32(0)
	for _, p := range ix.post[ix.start[t.ID]:ix.start[t.ID+1]] {
		if q.Sees(p.doc) {
			df++
		}
	}
	return IDF(q.Among, df)
}

func (ix *Index) has(term uint32) bool {
	return int(term)+1 < len(ix.start) && ix.start[term] < ix.start[term+1]
}

// shows says whether a document that q sees has the term.
func (ix *Index) shows(q *Query, term uint32) bool {
	return q.Sees == nil || slices.ContainsFunc(ix.post[ix.start[term]:ix.start[term+1]], func(p posting) bool { return q.Sees(p.doc) })
}

// Scores adds to dst, which has one element a document, the scores of all
// documents.
func (ix *Index) Scores(dst []float32, q *Query) {
	for _, t := range q.Terms {
		if !t.Known {
			continue
		}
		w := float32(float64(t.Count) * t.IDF)
		for _, p := range ix.post[ix.start[t.ID]:ix.start[t.ID+1]] {
			dst[p.doc] += float32(w * p.impact) // rounded before the sum, on every processor
		}
	}
}

// A Contribution is one query term's part of a document's score.
type Contribution struct {
	Frequency float64 // weighted, normalised tf
	Score     float64
	Counts    [MaxFields]uint16
}

// Explain accounts for the score of document d, one Contribution a query
// term.
func (ix *Index) Explain(d uint32, q *Query) []Contribution {
	out := make([]Contribution, len(q.Terms))
	doc := ix.docs[d]
	var norm [MaxFields]float64
	ix.norms(doc, &norm)
	c := 0
	for i, t := range doc.Terms {
		n := bits.OnesCount8(doc.Masks[i])
		for j, qt := range q.Terms {
			if qt.Known && qt.ID == t {
				out[j] = contribution(qt, doc.Masks[i], doc.Counts[c:c+n], &norm)
				out[j].Score = float64(qt.Count) * qt.IDF * ix.params.Saturate(out[j].Frequency)
			}
		}
		c += n
	}
	return out
}

func contribution(t QueryTerm, mask uint8, counts []uint16, norm *[MaxFields]float64) Contribution {
	c := Contribution{Frequency: frequency(mask, counts, norm)}
	for _, n := range counts {
		c.Counts[bits.TrailingZeros8(mask)] = n
		mask &= mask - 1
	}
	return c
}

// Like makes q the query of the n terms that weigh most in document d, each
// counted once.
func (ix *Index) Like(q *Query, d uint32, n int, v View) {
	type weighed struct {
		id     uint32
		weight float64
	}
	doc := ix.docs[d]
	var norm [MaxFields]float64
	ix.norms(doc, &norm)
	list := make([]weighed, len(doc.Terms))
	c := 0
	for i, t := range doc.Terms {
		k := bits.OnesCount8(doc.Masks[i])
		tf := frequency(doc.Masks[i], doc.Counts[c:c+k], &norm)
		c += k
		list[i] = weighed{t, ix.idf(q, QueryTerm{ID: t, Known: true}) * ix.params.Saturate(tf)}
	}
	slices.SortFunc(list, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(v.Term(a.id), v.Term(b.id)))
	})
	for _, w := range list[:min(n, len(list))] {
		q.Add(ix, v, v.Term(w.id), false)
	}
}
