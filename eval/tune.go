package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// TuneOptions say how to tune. The zero value is ready to use.
type TuneOptions struct {
	Options           // Params is where the search starts
	Metrics  []string // tuned is their mean, and the mean of that over sets; nil means recall@5 and ndcg@10
	Queries  int      // drawn from each set to search with; 0 means 500
	Folds    int      // of the cross-validation over queries; 0 means 5
	Least    float64  // what a change of one parameter must gain; 0 means .002
	PoolSize int      // candidates of each arm; 0 means 100
	State    string   // file that keeps what was computed, to go on from; "" keeps nothing
}

func (o TuneOptions) withDefaults() TuneOptions {
	o.Options = o.Options.withDefaults()
	if o.Params == nil {
		o.Params = new(index.DefaultParams())
	}
	if o.Metrics == nil {
		o.Metrics = []string{"recall@5", "ndcg@10"}
	}
	o.Queries, o.Folds, o.PoolSize = cmp.Or(o.Queries, 500), cmp.Or(o.Folds, 5), cmp.Or(o.PoolSize, 100)
	o.Least = cmp.Or(o.Least, .002)
	return o
}

// A Tuning is what Tune found, and whether it is worth anything.
type Tuning struct {
	Metrics  []string     `json:"metrics"`
	Mode     index.Mode   `json:"mode"`
	Model    string       `json:"model,omitempty"`
	Changes  []Change     `json:"changes"`  // from the start to the best point
	Before   float64      `json:"before"`   // mean over sets on the queries searched with
	After    float64      `json:"after"`    // optimistic: chosen on them
	Queries  Gain         `json:"queries"`  // held-out folds of queries
	Sets     Gain         `json:"sets"`     // each set with what the others chose
	HeldOut  []HeldOut    `json:"held_out"` // by set
	Verified *Comparison  `json:"verified"` // through the index, all queries, start against best
	IsGain   bool         `json:"is_gain"`
	Verdict  string       `json:"verdict"`
	Params   index.Params `json:"params"` // the best point when it is a gain, else the start
}

// A Change is one parameter that the best point has elsewhere.
type Change struct {
	Name  string  `json:"name"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Worth float64 `json:"worth"` // lost when it alone goes back
}

// A Gain is how much better held-out queries were served by parameters that
// were chosen without them.
type Gain struct {
	Before   float64       `json:"before"`
	After    float64       `json:"after"`
	P        float64       `json:"p"`
	Interval stat.Interval `json:"interval"` // of the gain, 95 %
}

// Mean is the gain itself.
func (g Gain) Mean() float64 { return g.After - g.Before }

// HeldOut is one set under the parameters that the other sets chose.
type HeldOut struct {
	Set    string   `json:"set"`
	Before float64  `json:"before"`
	After  float64  `json:"after"`
	P      float64  `json:"p"`
	Holm   float64  `json:"p_holm"`
	Chosen []Change `json:"chosen"` // without Worth
}

// Tune searches for better parameters. It calls a change a gain only when
// parameters chosen without some queries, and those chosen without a whole
// set, serve them significantly better, and no set significantly worse.
func Tune(ctx context.Context, sets []*labels.Set, o TuneOptions) (*Tuning, error) {
	o = o.withDefaults()
	if len(sets) < 2 {
		return nil, errors.New("tune: one set cannot show that a change generalises; give two or more")
	}
	l, err := newLandscape(ctx, sets, o)
	if err != nil {
		return nil, err
	}
	defer l.close()
	t := &Tuning{Metrics: o.Metrics, Mode: l.mode, Model: l.model, Params: *o.Params}
	start := place(l.knobs, o.Params)
	best, err := l.climb(ctx, start, "tune", everything)
	if err != nil {
		return nil, err
	}
	if err := t.describe(ctx, l, start, best); err != nil {
		return nil, err
	}
	if err := t.crossValidate(ctx, l, start); err != nil {
		return nil, err
	}
	if err := t.leaveSetsOut(ctx, l, start); err != nil {
		return nil, err
	}
	tuned := best.params(l.knobs, *o.Params)
	if t.Verified, err = verify(ctx, sets, o, tuned); err != nil {
		return nil, err
	}
	t.judge(tuned)
	return t, nil
}

// part says which queries count: all but those of one set and one fold.
type part struct{ set, fold int }

var everything = part{-1, -1}

func (t *Tuning) describe(ctx context.Context, l *landscape, start, best point) error {
	var err error
	if t.Before, err = l.score(ctx, start, everything); err != nil {
		return err
	}
	if t.After, err = l.score(ctx, best, everything); err != nil {
		return err
	}
	t.Changes = changes(l.knobs, start, best)
	for c := range t.Changes {
		i := slices.IndexFunc(l.knobs, func(k knob) bool { return k.name == t.Changes[c].Name })
		without, err := l.score(ctx, best.with(i, start[i]), everything)
		if err != nil {
			return err
		}
		t.Changes[c].Worth = t.After - without
	}
	return nil
}

func changes(ks []knob, from, to point) []Change {
	out := []Change{}
	for i, k := range ks {
		if from[i] != to[i] {
			out = append(out, Change{Name: k.name, From: from[i], To: to[i]})
		}
	}
	return out
}

// crossValidate chooses parameters without each fold of queries in turn and
// looks at that fold.
func (t *Tuning) crossValidate(ctx context.Context, l *landscape, start point) error {
	before, after := make([][]float64, len(l.sets)), make([][]float64, len(l.sets))
	for fold := range l.o.Folds {
		chosen, err := l.climb(ctx, start, fmt.Sprintf("without fold %d of %d", fold+1, l.o.Folds), part{-1, fold})
		if err != nil {
			return err
		}
		a, b := l.values(ctx, start), l.values(ctx, chosen)
		for s := range l.sets {
			for q, f := range l.folds[s] {
				if f == fold {
					before[s], after[s] = append(before[s], a[s][q]), append(after[s], b[s][q])
				}
			}
		}
	}
	t.Queries = gain(before, after, permutations, l.o.Seed)
	return ctx.Err()
}

// leaveSetsOut chooses parameters without each set in turn and looks at that
// set.
func (t *Tuning) leaveSetsOut(ctx context.Context, l *landscape, start point) error {
	var before, after [][]float64
	var ps []float64
	a := l.values(ctx, start)
	for s, set := range l.sets {
		chosen, err := l.climb(ctx, start, "without "+set.Title(), part{s, -1})
		if err != nil {
			return err
		}
		b := l.values(ctx, chosen)
		before, after = append(before, a[s]), append(after, b[s])
		h := HeldOut{Set: set.Title(), Before: stat.Mean(a[s]), After: stat.Mean(b[s]), Chosen: changes(l.knobs, start, chosen)}
		h.P = stat.Randomisation(differences(a[s], b[s]), permutations, l.o.Seed)
		ps = append(ps, h.P)
		t.HeldOut = append(t.HeldOut, h)
	}
	for i, p := range stat.Holm(ps) {
		t.HeldOut[i].Holm = p
	}
	t.Sets = gain(before, after, permutations, l.o.Seed)
	return ctx.Err()
}

func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = b[i] - a[i]
	}
	return out
}

// gain tests the mean over sets of paired values, every set counting the same.
func gain(before, after [][]float64, permutations int, seed uint64) Gain {
	var g Gain
	var diffs []float64
	samples := make([]float64, bootstrapSamples)
	for s := range before {
		share := 1 / float64(len(before))
		g.Before += share * stat.Mean(before[s])
		g.After += share * stat.Mean(after[s])
		d := differences(before[s], after[s])
		for i, m := range stat.Resample([][]float64{d}, bootstrapSamples, seed)[0] {
			samples[i] += share * m
		}
		for _, x := range d {
			diffs = append(diffs, x*share/float64(len(d)))
		}
	}
	g.P = stat.Randomisation(diffs, permutations, seed)
	g.Interval = stat.Percentiles(samples)
	return g
}

// verify searches the index itself, for all queries of the sets.
func verify(ctx context.Context, sets []*labels.Set, o TuneOptions, tuned index.Params) (*Comparison, error) {
	run := func(p *index.Params) ([]QueryResult, error) {
		ro := o.Options
		ro.Params = p
		res, err := Run(ctx, sets, ro)
		if err != nil {
			return nil, err
		}
		var all []QueryResult
		for _, s := range res.Sets {
			all = append(all, s.PerQuery...)
		}
		return all, nil
	}
	a, err := run(o.Params)
	if err != nil {
		return nil, err
	}
	b, err := run(&tuned)
	if err != nil {
		return nil, err
	}
	return Compare(a, b, CompareOptions{Metrics: o.Metrics, Seed: o.Seed})
}

// judge says whether tuned is a gain, and keeps the start when it is not.
func (t *Tuning) judge(tuned index.Params) {
	const alpha = .05
	var hurt []string
	for _, h := range t.HeldOut {
		if h.Holm < alpha && h.After < h.Before {
			hurt = append(hurt, h.Set)
		}
	}
	slices.Sort(hurt)
	switch {
	case len(t.Changes) == 0:
		t.Verdict = "no gain: nothing beats the parameters there are"
	case t.Queries.Mean() <= 0 || t.Queries.P >= alpha:
		t.Verdict = fmt.Sprintf("no gain: on held-out queries %+.4f (p = %.3f) is not significant", t.Queries.Mean(), t.Queries.P)
	case t.Sets.Mean() <= 0 || t.Sets.P >= alpha:
		t.Verdict = fmt.Sprintf("no gain: on held-out sets %+.4f (p = %.3f) is not significant: it does not generalise", t.Sets.Mean(), t.Sets.P)
	case len(hurt) > 0:
		t.Verdict = "no gain: significantly worse on " + strings.Join(hurt, ", ") + " when chosen without it"
	default:
		t.IsGain = true
		t.Params = tuned
		t.Verdict = fmt.Sprintf("gain: %+.4f on held-out sets (p = %.3f), %+.4f on held-out queries (p = %.3f)",
			t.Sets.Mean(), t.Sets.P, t.Queries.Mean(), t.Queries.P)
	}
}
