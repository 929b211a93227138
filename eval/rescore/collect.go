package rescore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/index"
)

// An Engine is what candidates are collected from.
type Engine interface {
	Search(ctx context.Context, q index.Query) (*index.Results, error)
	Dump(w io.Writer) error
}

// A Collector turns labelled queries into Queries. It is safe for concurrent
// use.
type Collector struct {
	ix      Engine
	mode    index.Mode
	depth   int
	k1      float64
	lengths map[string][len(fields)]float32 // by tool id, over the average
}

// NewCollector reads the field lengths of an index. Candidates of a query are
// the first depth tools of each arm and of both together, and what is
// relevant.
func NewCollector(ix Engine, mode index.Mode, depth int) (*Collector, error) {
	var b bytes.Buffer
	if err := ix.Dump(&b); err != nil {
		return nil, fmt.Errorf("read field lengths: %w", err)
	}
	var d struct {
		Params index.Params       `json:"params"`
		AvgLen map[string]float64 `json:"avglen"`
		Tools  []struct {
			ID      string             `json:"id"`
			Lengths map[string]float64 `json:"lengths"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		return nil, fmt.Errorf("read field lengths: %w", err)
	}
	c := &Collector{ix: ix, mode: mode, depth: depth, k1: d.Params.K1,
		lengths: make(map[string][len(fields)]float32, len(d.Tools))}
	for _, t := range d.Tools {
		var l [len(fields)]float32
		for i, f := range fields {
			if d.AvgLen[f] > 0 {
				l[i] = float32(t.Lengths[f] / d.AvgLen[f])
			}
		}
		c.lengths[t.ID] = l
	}
	return c, nil
}

// Collect takes what every score of an answerable query is made of.
func (c *Collector) Collect(ctx context.Context, q labels.Query) (*Query, error) {
	pool, err := c.pool(ctx, q)
	if err != nil {
		return nil, err
	}
	res, err := c.ix.Search(ctx, index.Query{Text: q.Text, Mode: c.mode, Limit: len(pool), Explain: true,
		Filter: index.Filter{Scope: index.NewScope(func(t *index.Tool) bool { return pool[labels.Key(*t)] })}})
	if err != nil {
		return nil, err
	}
	hits := res.Hits
	slices.SortFunc(hits, func(a, b index.Hit) int { return strings.Compare(a.ID, b.ID) })
	out := &Query{ID: q.ID}
	var grades []int
	for i, h := range hits {
		if i == 0 {
			out.describe(h.Explanation, c.k1)
		}
		key := labels.Key(h.Tool)
		out.Candidates = append(out.Candidates, c.candidate(key, h))
		if g, ok := q.Relevant[key]; ok {
			out.Relevant, out.Grades = append(out.Relevant, i), append(out.Grades, g)
		}
	}
	for _, g := range q.Relevant {
		grades = append(grades, g)
	}
	out.Total, out.Ideal = len(q.Relevant), metric.IdealDCG(grades)
	return out, nil
}

// pool names the candidates of a query.
func (c *Collector) pool(ctx context.Context, q labels.Query) (map[string]bool, error) {
	pool := make(map[string]bool, 3*c.depth)
	for key := range q.Relevant {
		pool[key] = true
	}
	modes := []index.Mode{c.mode}
	if c.mode == index.Hybrid {
		modes = []index.Mode{index.Hybrid, index.Keyword, index.Semantic}
	}
	for _, m := range modes {
		res, err := c.ix.Search(ctx, index.Query{Text: q.Text, Mode: m, Limit: c.depth})
		if errors.Is(err, index.ErrNoVectors) {
			continue // the text has no vector: the lexical arm decides alone
		}
		if err != nil {
			return nil, err
		}
		for _, h := range res.Hits {
			pool[labels.Key(h.Tool)] = true
		}
	}
	return pool, nil
}

// describe takes what the query's candidates share.
func (q *Query) describe(e *index.Explanation, k1 float64) {
	q.Upper = e.Upper / (k1 + 1)
	for _, t := range e.Terms {
		q.Terms = append(q.Terms, Term{t.IDF, float64(t.QueryCount)})
	}
}

func (c *Collector) candidate(key string, h index.Hit) Candidate {
	e := h.Explanation
	out := Candidate{Tool: key, Cosine: e.Cosine, Prior: e.Prior, HasVector: e.HasVector, Exact: e.ExactName}
	lengths := c.lengths[h.ID]
	for i, t := range e.Terms {
		for f, name := range fields {
			if n := t.Fields[name]; n > 0 {
				out.Counts = append(out.Counts, Count{uint16(i), uint16(f), float32(n), lengths[f]})
			}
		}
	}
	return out
}
