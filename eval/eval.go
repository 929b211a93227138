// Package eval measures how well an index ranks tools for labelled queries,
// and makes the ranking better: [Run] measures, [Compare] tells two rankings
// apart, [Tune] and [Calibrate] fit parameters, [Ablate] says what each part
// is worth, [LintTools] looks for what no parameter mends.
//
// Sets are read by package labels, scored by package metric and judged by
// package stat; package report draws the result. Everything random is seeded.
// A figure of a small set is uncertain: read it with its interval.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/index"
)

// Options say how to search. The zero value measures the shipped ranking in
// hybrid mode without vectors.
type Options struct {
	Mode     index.Mode     // "" means hybrid
	Embedder index.Embedder // nil searches without vectors
	Params   *index.Params  // nil means index.DefaultParams
	Phrases  phrased.From   // "" means none
	K        []int          // cut-offs of recall, hit and all; nil means 1, 5, 10
	Limit    int            // rows that a client asks for; 0 means 10
	Depth    int            // rows that mrr and map look at; 0 means 100
	Seed     uint64         // of bootstrap and permutations
	Progress Progress       // nil reports nothing
}

// Progress is told how far a stage of the work is. It may be called from
// several goroutines.
type Progress func(stage string, done, total int)

func (o Options) withDefaults() Options {
	o.Mode, o.Phrases = cmp.Or(o.Mode, index.Hybrid), cmp.Or(o.Phrases, phrased.None)
	if o.K == nil {
		o.K = []int{1, 5, 10}
	}
	o.Limit = cmp.Or(o.Limit, 10)
	o.Depth = max(cmp.Or(o.Depth, 100), o.Limit)
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o
}

// Run searches for every query of the sets and scores the rankings.
func Run(ctx context.Context, sets []*labels.Set, o Options) (*Result, error) {
	o = o.withDefaults()
	lib := newLibrary(o)
	defer lib.close()
	return lib.run(ctx, sets, o)
}

// run is Run over indexes that stay open.
func (lib *library) run(ctx context.Context, sets []*labels.Set, o Options) (*Result, error) {
	var res Result
	for _, s := range sets {
		ix, err := lib.open(ctx, s)
		if err != nil {
			return nil, err
		}
		r, err := runSet(ctx, ix, s, o)
		if err != nil {
			return nil, fmt.Errorf("search set %s: %w", s.Title(), err)
		}
		r.Phrases = lib.phrased[s]
		res.Sets = append(res.Sets, r)
	}
	res.summarise(o)
	return &res, nil
}

// A searcher ranks tools; an index or a stand-in for it.
type searcher interface {
	Search(ctx context.Context, q index.Query) (*index.Results, error)
}

func runSet(ctx context.Context, ix searcher, s *labels.Set, o Options) (*SetResult, error) {
	latency, err := timeQueries(ctx, ix, s.Queries, o)
	if err != nil {
		return nil, err
	}
	r := &SetResult{Name: s.Name, Split: s.Split, Queries: len(s.Queries), Tools: len(s.Tools),
		Skipped: s.Skipped, Latency: latency, PerQuery: make([]QueryResult, len(s.Queries))}
	err = each(ctx, len(s.Queries), func(ctx context.Context, i int) error {
		q, err := rank(ctx, ix, s.Queries[i], o)
		if err != nil {
			return fmt.Errorf("query %s: %w", s.Queries[i].ID, err)
		}
		q.Set, q.Split = s.Name, s.Split
		r.PerQuery[i] = q
		return nil
	}, func(done int) { o.Progress(s.Title(), done, len(s.Queries)) })
	if err != nil {
		return nil, err
	}
	return r, r.score(o)
}

// each calls f for 0..n-1 on all cores, and tick after each call.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error, tick func(done int)) error {
	g, ctx := errgroup.WithContext(ctx)
	var next, done atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(ctx, i); err != nil {
					return err
				}
				tick(int(done.Add(1)))
			}
			return nil
		})
	}
	return g.Wait()
}

// rank asks as a client would, and then deeper for the metrics that look
// beyond a client's limit; the rows a client gets stay in front.
func rank(ctx context.Context, ix searcher, q labels.Query, o Options) (QueryResult, error) {
	out := QueryResult{ID: q.ID, Text: q.Text, Kind: q.Kind, Relevant: q.Relevant}
	res, err := ix.Search(ctx, index.Query{Text: q.Text, Mode: o.Mode, Limit: o.Limit})
	if errors.Is(err, index.ErrNoVectors) {
		return unanswered(out, o, err), nil
	}
	if err != nil {
		return out, err
	}
	out.Mode, out.Model, out.Degraded = res.Mode, res.Model, res.Reason
	out.Weak, out.Confidence, out.Calibrated = res.WeakMatch, res.Confidence, res.Calibrated
	out.Ranking = rows(res.Hits, nil)
	if len(res.Hits) == o.Limit && o.Depth > o.Limit {
		deep, err := ix.Search(ctx, index.Query{Text: q.Text, Mode: o.Mode, Limit: o.Depth})
		if err != nil {
			return out, err
		}
		out.Ranking = rows(deep.Hits, out.Ranking)
	}
	if q.Answerable() {
		out.Metrics = metric.Score(q.Relevant, out.tools(), o.K)
	}
	return out, nil
}

// unanswered is a query whose text has no vector, in a mode that needs one: a
// client gets an error, so no tool is found.
func unanswered(q QueryResult, o Options, err error) QueryResult {
	q.Mode, q.Degraded = o.Mode, err.Error()
	if len(q.Relevant) > 0 {
		q.Metrics = metric.Score(q.Relevant, nil, o.K)
	}
	return q
}

// rows appends the hits that are not among the first rows yet.
func rows(hits []index.Hit, first []Row) []Row {
	seen := make(map[string]bool, len(first))
	for _, r := range first {
		seen[r.Tool] = true
	}
	for _, h := range hits {
		if key := labels.Key(h.Tool); !seen[key] {
			first = append(first, Row{key, h.Score})
		}
	}
	return first
}

// timeQueries measures up to 200 searches one after another, as a client's
// come; the parallel pass that follows would measure its own crowding.
func timeQueries(ctx context.Context, ix searcher, qs []labels.Query, o Options) (Latency, error) {
	const sample, warm = 200, 20
	n := min(sample, len(qs))
	took := make([]time.Duration, 0, n)
	for i := -min(warm, n); i < n; i++ {
		q := qs[max(i, -i)*(len(qs)-1)/max(1, n)]
		start := time.Now()
		_, err := ix.Search(ctx, index.Query{Text: q.Text, Mode: o.Mode, Limit: o.Limit})
		if err != nil && !errors.Is(err, index.ErrNoVectors) {
			return Latency{}, fmt.Errorf("query %s: %w", q.ID, err)
		}
		if i >= 0 {
			took = append(took, time.Since(start))
		}
	}
	return latency(took), nil
}
