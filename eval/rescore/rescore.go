// Package rescore ranks the candidates of labelled queries again under other
// parameters, without searching: the counts, lengths and cosines that scores
// are made of are taken from an index once, and a change of parameters then
// costs a few multiplications a candidate.
//
// The arithmetic is the index's own (packages bm25 and rank); a test compares
// the two. What it leaves out: the
// diversity rule, which depends on a client's limit, and tools that no arm
// had among its candidates.
package rescore

import (
	"cmp"
	"math"
	"slices"

	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/rank"
)

// fields are the searched fields in the order of Weights.
var fields = [...]string{"name", "title", "description", "server", "params", "param_text", "phrases"}

// A Query is one request with the tools that may be ranked for it.
type Query struct {
	ID         string
	Terms      []Term
	Upper      float64 // upper bound of the BM25F score, without its factor k1 + 1
	Candidates []Candidate
	Relevant   []int // candidates that are relevant
	Grades     []int // by Relevant
	Total      int   // relevant tools
	Ideal      float64
}

// A Term is one distinct term of a query.
type Term struct {
	IDF   float64
	Count float64 // in the query, as counted
}

// A Candidate is one tool as one query sees it.
type Candidate struct {
	Tool      string
	Counts    []Count
	Cosine    float64
	Prior     float64
	HasVector bool
	Exact     bool
}

// A Count is how often a field of a tool holds a term.
type Count struct {
	Term, Field uint16
	N           float32
	Length      float32 // of the field, over its average
}

// Weights are parameters in the form that scoring needs.
type Weights struct {
	Words bm25.Params // numbered as fields
	Parts rank.Weights
	Mode  index.Mode
	Names bool // the exact-name rule
}

// NewWeights takes what scoring needs from parameters; fusion is the entry
// that serves.
func NewWeights(p index.Params, fusion index.Fusion, mode index.Mode) Weights {
	w := Weights{Words: bm25.Params{K1: p.K1}, Parts: rank.Weigh(mode, fusion, 1), Mode: mode, Names: p.ExactNames}
	for i, f := range fields {
		w.Words.Weight[i], w.Words.B[i] = p.Fields[f].Weight, p.Fields[f].B
	}
	return w
}

// Parts are the absolute scores that a fusion combines.
type Parts struct {
	Keyword, Cosine, Prior float64
	HasVector, Exact       bool
}

// Parts scores one candidate's arms. tf is scratch space, as long as the
// query's terms.
func (q *Query) Parts(w *Weights, c *Candidate, tf []float64) Parts {
	p := Parts{Cosine: max(0, c.Cosine), Prior: max(0, c.Prior), HasVector: c.HasVector, Exact: c.Exact}
	if q.Upper <= 0 || len(c.Counts) == 0 {
		return p
	}
	clear(tf)
	for _, n := range c.Counts {
		tf[n.Term] += float64(float64(n.N) * w.Words.Norm(int(n.Field), float64(n.Length)))
	}
	sum := 0.0
	for i, t := range q.Terms {
		sum += float64(t.Count * t.IDF * w.Words.Saturate(tf[i]))
	}
	p.Keyword = sum / (q.Upper * (w.Words.K1 + 1))
	return p
}

// Fuse combines a candidate's arms into the index's score.
func (p Parts) Fuse(w *Weights) float64 {
	s := w.Parts.Words(p.Keyword)
	if w.Mode != index.Keyword && p.HasVector {
		s = w.Parts.Score(p.Keyword, p.Cosine, p.Prior)
	}
	if p.Exact && w.Names {
		s = rank.Named(s)
	}
	return s
}

// A Fusion turns the arms of a query's candidates into scores; dst is as long
// as parts.
type Fusion func(parts []Parts, dst []float64)

// A Scorer ranks queries with scratch space of its own.
type Scorer struct {
	W      Weights
	Fusion Fusion // nil means the index's own

	parts  []Parts
	scores []float64
	tf     []float64
	found  metric.Found
}

// Scores returns the candidates' scores, valid until the next call.
func (s *Scorer) Scores(q *Query) []float64 {
	s.parts, s.scores = resize(s.parts, len(q.Candidates)), resize(s.scores, len(q.Candidates))
	s.tf = resize(s.tf, len(q.Terms))
	for i := range q.Candidates {
		s.parts[i] = q.Parts(&s.W, &q.Candidates[i], s.tf)
	}
	if s.Fusion != nil {
		s.Fusion(s.parts, s.scores)
		return s.scores
	}
	for i, p := range s.parts {
		s.scores[i] = p.Fuse(&s.W)
	}
	return s.scores
}

// Found says where the query's ranking has its relevant tools, valid until
// the next call. Keyword mode ranks only what shares a term.
func (s *Scorer) Found(q *Query) metric.Found {
	scores := s.Scores(q)
	s.found.Ranks, s.found.Grades = s.found.Ranks[:0], s.found.Grades[:0]
	s.found.Total, s.found.Ideal = q.Total, q.Ideal
	for i, at := range q.Relevant {
		if s.W.Mode == index.Keyword && scores[at] <= 0 {
			continue
		}
		s.found.Ranks = append(s.found.Ranks, placeOf(scores, at))
		s.found.Grades = append(s.found.Grades, q.Grades[i])
	}
	sortRanks(s.found.Ranks, s.found.Grades)
	return s.found
}

// placeOf is the place of one candidate; of equal scores the earlier candidate
// is first, candidates standing in order of their ids.
func placeOf(scores []float64, at int) int {
	r, own := 1, scores[at]
	for i, x := range scores {
		if x > own || x == own && i < at {
			r++
		}
	}
	return r
}

// sortRanks sorts both slices by rank; they hold a handful of values.
func sortRanks(ranks, grades []int) {
	for i := 1; i < len(ranks); i++ {
		for j := i; j > 0 && ranks[j] < ranks[j-1]; j-- {
			ranks[j], ranks[j-1] = ranks[j-1], ranks[j]
			grades[j], grades[j-1] = grades[j-1], grades[j]
		}
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// ReciprocalRanks fuses by ranks instead of scores (Cormack, Clarke, Büttcher
// 2009): the sum over both arms of 1 / (k + rank).
func ReciprocalRanks(k float64) Fusion {
	return func(parts []Parts, dst []float64) {
		clear(dst)
		for _, arm := range []func(Parts) float64{
			func(p Parts) float64 { return p.Keyword }, func(p Parts) float64 { return p.Cosine }} {
			for i, r := range ranksOf(parts, arm) {
				if r > 0 {
					dst[i] += 1 / (k + float64(r))
				}
			}
		}
	}
}

// ranksOf ranks candidates by one arm, from 1; 0 where the arm has nothing.
func ranksOf(parts []Parts, arm func(Parts) float64) []int {
	order := make([]int, 0, len(parts))
	for i, p := range parts {
		if arm(p) > 0 {
			order = append(order, i)
		}
	}
	stableDescending(order, func(i int) float64 { return arm(parts[i]) })
	out := make([]int, len(parts))
	for r, i := range order {
		out[i] = r + 1
	}
	return out
}

// A Normalisation maps one arm's scores over a query's candidates to a common
// scale.
type Normalisation func(scores []float64)

// MinMax maps the lowest score to 0 and the highest to 1.
func MinMax(scores []float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range scores {
		lo, hi = min(lo, x), max(hi, x)
	}
	for i := range scores {
		if hi > lo {
			scores[i] = (scores[i] - lo) / (hi - lo)
		}
	}
}

// ZScore maps scores to distances from the mean in standard deviations.
func ZScore(scores []float64) {
	mean, square := 0.0, 0.0
	for _, x := range scores {
		mean += x / float64(len(scores))
	}
	for _, x := range scores {
		square += (x - mean) * (x - mean) / float64(len(scores))
	}
	for i := range scores {
		if square > 0 {
			scores[i] = (scores[i] - mean) / math.Sqrt(square)
		}
	}
}

// Normalised fuses both arms after normalising each over the candidates; the
// prior joins as it is.
func Normalised(n Normalisation, lambda, gamma float64) Fusion {
	return func(parts []Parts, dst []float64) {
		keyword, cosine := make([]float64, len(parts)), make([]float64, len(parts))
		for i, p := range parts {
			keyword[i], cosine[i] = p.Keyword, p.Cosine
		}
		n(keyword)
		n(cosine)
		for i, p := range parts {
			dst[i] = float64(lambda*keyword[i]) + float64((1-lambda)*cosine[i]) + float64(gamma*p.Prior)
		}
	}
}

func stableDescending(order []int, by func(int) float64) {
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by(b), by(a)) })
}
