package bm25

import (
	"math"
	"math/bits"
)

// An Index is an immutable set of documents, ready to be searched. Documents
// are numbered in the order Build was given them.
//
// The postings of all terms lie end to end in one flat array. What a posting
// adds to a score, but for the query's part, is computed when the index is
// built: it depends on the statistics, which change only with the documents.
type Index struct {
	params Params
	stats  Statistics
	docs   []*Doc
	start  []uint32 // postings of term t are [start[t], start[t+1])
	post   []posting
}

// A posting is a document that has a term. Those of one term ascend.
type posting struct {
	doc    uint32
	impact float32 // (k1 + 1) · tf/(k1 + tf)
}

// An Input is what Build makes an Index of.
type Input struct {
	Docs   []*Doc
	Groups []uint32 // by document: who brought it, numbered from 0
	Terms  int      // how many terms the lexicon has
	Params Params
}

// Build makes an Index; the documents are kept, not copied.
func Build(in Input) *Index {
	ix := &Index{params: in.Params, docs: in.Docs}
	ix.stats.N = len(in.Docs)
	ix.stats.DF = make([]uint32, in.Terms)
	ix.start = make([]uint32, in.Terms+1)
	ix.countLengths()
	ix.countPostings()
	ix.capFlooding(in.Groups)
	ix.fill()
	return ix
}

// Stats are the index's statistics, not to be changed.
func (ix *Index) Stats() *Statistics { return &ix.stats }

// Doc is the document numbered d.
func (ix *Index) Doc(d uint32) *Doc { return ix.docs[d] }

func (ix *Index) countLengths() {
	var sum [MaxFields]uint64
	for _, d := range ix.docs {
		for f, n := range d.Lengths {
			sum[f] += uint64(n)
		}
	}
	if len(ix.docs) == 0 {
		return
	}
	for f, n := range sum {
		ix.stats.AvgLen[f] = float64(n) / float64(len(ix.docs))
	}
}

func (ix *Index) countPostings() {
	df := ix.stats.DF
	for _, d := range ix.docs {
		for _, t := range d.Terms {
			df[t]++
		}
	}
	total := uint32(0)
	for t, n := range df {
		ix.start[t] = total
		total += n
	}
	ix.start[len(df)] = total
	ix.post = make([]posting, total)
}

// capFlooding takes back from each document frequency what a group adds
// beyond its share.
func (ix *Index) capFlooding(groups []uint32) {
	var size []uint32 // by group
	for _, g := range groups {
		if int(g) >= len(size) {
			size = append(size, make([]uint32, int(g)+1-len(size))...)
		}
		size[g]++
	}
	known := 0
	for _, n := range size {
		known += int(min(n, 1))
	}
	limit := floodCap(ix.stats.N, known)
	for g, n := range size {
		if n > limit {
			ix.capGroup(groups, uint32(g), limit)
		}
	}
}

func (ix *Index) capGroup(groups []uint32, group, limit uint32) {
	count := make([]uint32, len(ix.stats.DF))
	for d, g := range groups {
		if g != group {
			continue
		}
		for _, t := range ix.docs[d].Terms {
			if count[t]++; count[t] > limit {
				ix.stats.DF[t]--
			}
		}
	}
}

// fill places the postings, term by term, in document order.
func (ix *Index) fill() {
	next := make([]uint32, len(ix.start))
	copy(next, ix.start)
	var norm [MaxFields]float64
	for d, doc := range ix.docs {
		ix.norms(doc, &norm)
		c := 0
		for i, t := range doc.Terms {
			mask := doc.Masks[i]
			n := bits.OnesCount8(mask)
			tf := frequency(mask, doc.Counts[c:c+n], &norm)
			c += n
			p := next[t]
			next[t]++
			ix.post[p] = posting{uint32(d), float32(ix.params.Saturate(tf))}
		}
	}
}

// norms fills norm with what one occurrence in each field of doc adds to tf.
func (ix *Index) norms(doc *Doc, norm *[MaxFields]float64) {
	for f, avg := range ix.stats.AvgLen {
		norm[f] = 0
		if avg > 0 {
			norm[f] = ix.params.Norm(f, float64(doc.Lengths[f])/avg)
		}
	}
}

// Norm is what one occurrence in a field adds to tf, given the field's length
// over the average.
func (p *Params) Norm(field int, length float64) float64 {
	if l := 1 - p.B[field] + float64(p.B[field]*length); l > 0 {
		return p.Weight[field] / l
	}
	return 0
}

// Saturate is what a term with that tf adds to a score, for each unit of idf.
func (p *Params) Saturate(tf float64) float64 {
	if tf == 0 {
		return 0
	}
	return (p.K1 + 1) * tf / (p.K1 + tf)
}

// frequency is the weighted, normalised tf of one term.
func frequency(mask uint8, counts []uint16, norm *[MaxFields]float64) float64 {
	tf := 0.0
	for _, n := range counts {
		f := bits.TrailingZeros8(mask)
		mask &= mask - 1
		tf += float64(float64(n) * norm[f]) // rounded before the sum, on every processor
	}
	return tf
}

// IDF is the inverse document frequency of a term that df of n documents have.
func IDF(n int, df uint32) float64 {
	return math.Log(1 + (float64(n)-float64(df)+.5)/(float64(df)+.5))
}
