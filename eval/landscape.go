package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/eval/journal"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/rescore"
	"github.com/tooldex/tooldex/index"
)

// A landscape gives the height of points: the metrics of parameters on
// collected candidates. Heights are kept, in a file if asked to.
type landscape struct {
	o       TuneOptions
	mode    index.Mode
	model   string
	knobs   []knob
	sets    []*labels.Set
	queries [][]*rescore.Query // by set
	folds   [][]int            // by set, query
	metrics []func(metric.Found) float64

	sums  map[string][][]float64 // by point: by set, fold
	state *journal.Journal       // nil keeps nothing
}

func newLandscape(ctx context.Context, sets []*labels.Set, o TuneOptions) (*landscape, error) {
	l := &landscape{o: o, sets: sets, mode: o.Mode, sums: map[string][][]float64{}}
	for _, name := range o.Metrics {
		m, err := metric.Named(name)
		if err != nil {
			return nil, fmt.Errorf("tune: %w", err)
		}
		l.metrics = append(l.metrics, m)
	}
	if o.Embedder == nil {
		l.mode = index.Keyword
	} else {
		l.model = o.Embedder.Model()
	}
	l.knobs = knobs(l.mode, l.model)
	if err := l.collect(ctx); err != nil {
		return nil, err
	}
	return l, l.openState()
}

func (l *landscape) close() {
	if l.state != nil {
		l.state.Close() // every line was written whole
	}
}

// collect draws the queries of each set and takes their candidates.
func (l *landscape) collect(ctx context.Context) error {
	lib := newLibrary(l.o.Options)
	defer lib.close()
	for _, s := range l.sets {
		drawn := s.Draw(l.o.Queries, l.o.Seed)
		if len(drawn) < l.o.Folds {
			return fmt.Errorf("tune: set %s has %d answerable queries; want %d or more", s.Title(), len(drawn), l.o.Folds)
		}
		ix, err := lib.open(ctx, s)
		if err != nil {
			return err
		}
		qs, err := l.collectSet(ctx, ix, drawn, s.Title())
		if err != nil {
			return fmt.Errorf("tune: set %s: %w", s.Title(), err)
		}
		folds := make([]int, len(qs))
		for i := range folds {
			folds[i] = i % l.o.Folds // drawn in random order
		}
		l.queries, l.folds = append(l.queries, qs), append(l.folds, folds)
	}
	return nil
}

func (l *landscape) collectSet(ctx context.Context, ix rescore.Engine, qs []labels.Query, title string) ([]*rescore.Query, error) {
	c, err := rescore.NewCollector(ix, l.mode, l.o.PoolSize)
	if err != nil {
		return nil, err
	}
	out := make([]*rescore.Query, len(qs))
	err = each(ctx, len(qs), func(ctx context.Context, i int) (err error) {
		out[i], err = c.Collect(ctx, qs[i])
		return err
	}, func(done int) { l.o.Progress("candidates of "+title, done, len(qs)) })
	return out, err
}

// climb is the search for a part of the queries.
func (l *landscape) climb(ctx context.Context, start point, stage string, p part) (point, error) {
	tried := 0
	return climb(l.knobs, start, l.o.Least, func(pt point) (float64, error) {
		tried++
		l.o.Progress(stage, min(tried, l.budget()), l.budget())
		return l.score(ctx, pt, p)
	})
}

// budget is about how many points a search looks at.
func (l *landscape) budget() int {
	n := 0
	for _, k := range l.knobs {
		n += 2*len(k.coarse) + 2*4 + 1
	}
	return n
}

// score is the mean over sets of the mean over queries, for a part.
func (l *landscape) score(ctx context.Context, pt point, p part) (float64, error) {
	sums, ok := l.sums[pt.key()]
	if !ok {
		sums = l.sumUp(l.values(ctx, pt))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := l.keep(pt.key(), sums); err != nil {
			return 0, err
		}
	}
	total, sets := 0.0, 0
	for s := range l.sets {
		if s == p.set {
			continue
		}
		sum, n := 0.0, 0
		for f, x := range sums[s] {
			if f != p.fold {
				sum += x
				n += (len(l.folds[s]) - f + l.o.Folds - 1) / l.o.Folds
			}
		}
		total += sum / float64(n)
		sets++
	}
	return total / float64(sets), nil
}

func (l *landscape) sumUp(values [][]float64) [][]float64 {
	sums := make([][]float64, len(values))
	for s, vs := range values {
		sums[s] = make([]float64, l.o.Folds)
		for q, v := range vs {
			sums[s][l.folds[s][q]] += v
		}
	}
	return sums
}

// values are those of the ranking that a point gives.
func (l *landscape) values(ctx context.Context, pt point) [][]float64 {
	return l.valuesOf(ctx, pt.params(l.knobs, *l.o.Params), l.mode, nil)
}

// valuesOf are the metrics' mean for every query, by set. They are incomplete
// when ctx ends. A nil fusion is the index's.
func (l *landscape) valuesOf(ctx context.Context, p index.Params, mode index.Mode, fusion rescore.Fusion) [][]float64 {
	like := rescore.Scorer{W: rescore.NewWeights(p, p.Fusion[fusionKey(p, l.model)], mode), Fusion: fusion}
	out := make([][]float64, len(l.sets))
	for s := range out {
		out[s] = make([]float64, len(l.queries[s]))
		l.setValues(ctx, like, l.queries[s], out[s])
	}
	return out
}

func (l *landscape) setValues(ctx context.Context, like rescore.Scorer, qs []*rescore.Query, out []float64) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			scorer := rescore.Scorer{W: like.W, Fusion: like.Fusion} // with scratch space of its own
			for i := int(next.Add(1)) - 1; i < len(qs) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				found := scorer.Found(qs[i])
				for _, m := range l.metrics {
					out[i] += m(found) / float64(len(l.metrics))
				}
			}
		})
	}
	wg.Wait()
}

// openState reads the state file and appends to it from then on.
func (l *landscape) openState() (err error) {
	if l.o.State == "" {
		return nil
	}
	if l.state, l.sums, err = journal.Open(l.o.State, l.problem()); err != nil {
		return fmt.Errorf("tune: state %w", err)
	}
	return nil
}

// problem identifies everything that heights depend on.
func (l *landscape) problem() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	// A hash takes every write, and the values are plain data.
	_ = enc.Encode([]any{l.o.Metrics, l.o.Queries, l.o.Folds, l.o.PoolSize, l.o.Seed, l.mode, l.model, l.o.Params})
	for _, qs := range l.queries {
		_ = enc.Encode(qs)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (l *landscape) keep(key string, sums [][]float64) error {
	l.sums[key] = sums
	if l.state == nil {
		return nil
	}
	if err := l.state.Keep(key, sums); err != nil {
		return fmt.Errorf("tune: write state: %w", err)
	}
	return nil
}
