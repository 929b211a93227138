package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// Explain accounts for the score of the tool id under q, also when q's filter
// or limit drops it, and says why it is dropped.
func (s *Snapshot) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	q.Explain = true
	run, err := s.begin(ctx, &q)
	if err != nil {
		return Explanation{}, err
	}
	defer run.end()
	doc, ok := run.s.find(id)
	if !ok {
		return Explanation{}, fmt.Errorf("explain tool %s: not in the catalog", id)
	}
	if run.scratch == nil {
		return Explanation{Dropped: run.s.failing(&q.Filter, doc)}, nil
	}
	rows := run.results().Hits
	e := run.explain(doc)
	e.Dropped = run.dropped(doc, &e, rows)
	return e, nil
}

// explain accounts for one document, allowed or not.
func (r *search) explain(doc uint32) Explanation {
	e := Explanation{Upper: r.lexical.Upper, Terms: []Term{}}
	if r.mode != Semantic {
		r.explainTerms(doc, &e)
	}
	e.Phrases = r.s.docs[doc].matches(r, r.space.said(doc))
	e.Lambda = 1
	if r.weights.Alone > 0 {
		e.Keyword = e.BM25F * r.weights.Alone
	}
	if r.space != nil {
		r.explainVectors(doc, &e)
	}
	e.Score = max(0, r.fused(doc, float32(e.Cosine)))
	if slices.Contains(r.named.docs, doc) {
		raised := rank.Named(e.Score)
		e.ExactName, e.Score = raised > e.Score, raised
	}
	e.Rank = r.rankOf(doc, e.Score)
	return e
}

func (r *search) explainTerms(doc uint32, e *Explanation) {
	for i, c := range r.s.lexical.Explain(doc, &r.lexical) {
		q := r.lexical.Terms[i]
		t := Term{Text: q.Text, IDF: q.IDF, QueryCount: q.Count, Frequency: c.Frequency, Contribution: c.Score}
		for f, n := range c.Counts[:fieldCount] {
			if n > 0 {
				if t.Fields == nil {
					t.Fields = map[string]int{}
				}
				t.Fields[fieldNames[f]] = int(n)
			}
		}
		e.BM25F += c.Score
		e.Terms = append(e.Terms, t)
	}
}

// matches says what each phrase has in common with the query of a search, by
// words and by the phrases' vectors.
func (d *Document) matches(r *search, said []vector.Code) (all []PhraseMatch) {
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	for i, p := range d.Phrases() {
		m := PhraseMatch{Text: p.Text, Source: p.Source, Stale: p.Stale}
		for _, tok := range an.Tokens(p.Text) {
			for _, q := range r.lexical.Terms {
				if q.Text == tok.Text && r.mode != Semantic && !slices.Contains(m.Terms, q.Text) {
					m.Terms = append(m.Terms, q.Text)
				}
			}
		}
		if i < len(said) && said[i].Scale > 0 {
			one := vector.NewCodes(1, len(said[i].Numbers))
			one.Set(0, said[i])
			m.Cosine = float64(one.Score(0, &r.query))
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b PhraseMatch) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(len(b.Terms), len(a.Terms)))
	})
	return all
}

// explainVectors accounts for the part of the vectors.
func (r *search) explainVectors(doc uint32, e *Explanation) {
	if r.mode == Semantic {
		e.Lambda = 0
	}
	if e.HasVector = r.space.rows.Has(int(doc)); !e.HasVector {
		return
	}
	e.Cosine = float64(r.space.rows.Score(doc, &r.query))
	if r.mode == Semantic {
		return
	}
	e.Lambda, e.Gamma = r.fusion.Lambda, r.fusion.Gamma
	e.Prior = e.Cosine
	if server := r.s.server[doc]; int(server) < len(r.s.servers) {
		e.Prior = float64(r.space.servers.Score(server, &r.query))
	}
}

// rankOf is the place of a document by score alone among those scored, 0 when
// it is not allowed.
func (r *search) rankOf(doc uint32, score float64) int {
	if !r.allows(doc) {
		return 0
	}
	place := 1
	self := rank.Hit{Doc: doc, Score: score}
	for d, score := range r.scores {
		if other := (rank.Hit{Doc: uint32(d), Score: score}); other.Doc != doc && other.Before(self) {
			place++
		}
	}
	return place
}

// dropped says why a document is not among the rows.
func (r *search) dropped(doc uint32, e *Explanation, rows []Hit) []string {
	for _, h := range rows {
		if h.ID == r.s.docs[doc].ID {
			return nil
		}
	}
	out := r.s.failing(&r.q.Filter, doc)
	if len(out) > 0 {
		return out
	}
	if r.mode == Keyword && e.Score == 0 {
		return []string{"shares no term with the query"}
	}
	if r.q.MinScore != nil && e.Score < *r.q.MinScore {
		out = append(out, fmt.Sprintf("score %.4f is below min_score %.4f", e.Score, *r.q.MinScore))
	}
	if e.Rank > r.limit {
		out = append(out, fmt.Sprintf("rank %d is beyond the limit of %d", e.Rank, r.limit))
	}
	if len(out) == 0 {
		out = append(out, "rows of other servers moved ahead of it (diversity rule)")
	}
	return out
}

// failing says which parts of a filter a document does not pass.
func (s *Snapshot) failing(f *Filter, doc uint32) []string {
	alone := []struct {
		name   string
		filter Filter
		value  any
	}{
		{"tags", Filter{Tags: f.Tags}, f.Tags},
		{"exclude_tags", Filter{ExcludeTags: f.ExcludeTags}, f.ExcludeTags},
		{"servers", Filter{Servers: f.Servers}, f.Servers},
		{"categories", Filter{Categories: f.Categories}, f.Categories},
		{"visibility", Filter{Visibility: f.Visibility}, f.Visibility},
		{"teams", Filter{Teams: f.Teams}, f.Teams},
		{"integration_type", Filter{Integration: f.Integration}, f.Integration},
		{"name_pattern", Filter{NamePattern: f.NamePattern}, f.NamePattern},
		{"description_contains", Filter{DescriptionContains: f.DescriptionContains}, f.DescriptionContains},
		{"has_examples", Filter{HasExamples: f.HasExamples}, f.HasExamples},
		{"scope", Filter{Scope: f.Scope}, nil},
	}
	var out []string
	for _, a := range alone {
		set, _ := s.allowed(&a.filter)
		if set == nil || set.Test(uint(doc)) {
			continue
		}
		text := "filter " + a.name
		if a.value != nil {
			text += fmt.Sprintf(" %v", a.value)
		}
		out = append(out, strings.TrimSpace(text+" does not match"))
	}
	return out
}
