package eval

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/stat"
)

// CompareOptions say how to compare. The zero value is ready to use.
type CompareOptions struct {
	Metrics      []string // nil means recall@5 and ndcg@10; tested, the first one orders the queries that moved
	Permutations int      // 0 means 10,000
	Moved        int      // queries to show a set; 0 means 10, negative none
	Alpha        float64  // 0 means .05
	Seed         uint64
}

func (o CompareOptions) withDefaults() CompareOptions {
	if o.Metrics == nil {
		o.Metrics = []string{"recall@5", "ndcg@10"}
	}
	o.Permutations, o.Moved, o.Alpha = cmp.Or(o.Permutations, 10_000), cmp.Or(o.Moved, 10), cmp.Or(o.Alpha, .05)
	return o
}

// A Comparison tells two results apart: B against A.
type Comparison struct {
	Tests []Test  `json:"tests"` // by metric, then set, then the mean over sets where there are several
	Moved []Moved `json:"moved"` // by set, the largest change first
}

// A Test is one metric on one set.
type Test struct {
	Set     string  `json:"set"`
	Metric  string  `json:"metric"`
	Queries int     `json:"queries"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Wins    int     `json:"wins"`   // queries that B serves better
	Losses  int     `json:"losses"` // and worse
	P       float64 `json:"p"`      // paired randomisation test
	// Interval is of B − A: 95 %, bootstrapped over queries.
	Interval stat.Interval `json:"interval"`
	Holm     float64       `json:"p_holm"` // corrected over the sets of this metric
	Verdict  string        `json:"verdict"`

	samples []float64 // resampled means of B − A
}

// The verdicts of a Test.
const (
	Better = "better"
	Worse  = "worse"
	Same   = "no significant difference"
)

// A Moved query is one that B ranks differently to an effect.
type Moved struct {
	Set      string             `json:"set"`
	Query    string             `json:"query"`
	Text     string             `json:"text"`
	Relevant []string           `json:"relevant"`
	Change   map[string]float64 `json:"change"` // B minus A by metric
	A        []string           `json:"a"`      // first rows
	B        []string           `json:"b"`
}

// Regressed says whether B is significantly worse in any test.
func (c *Comparison) Regressed() bool {
	return slices.ContainsFunc(c.Tests, func(t Test) bool { return t.Verdict == Worse })
}

// A pair is one query in both results.
type pair struct{ a, b QueryResult }

// Compare tests B against A over the answerable queries. Both must hold the
// same queries.
func Compare(a, b []QueryResult, o CompareOptions) (*Comparison, error) {
	o = o.withDefaults()
	sets, byTitle, err := align(a, b)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Tests: []Test{}, Moved: []Moved{}}
	for _, metric := range o.Metrics {
		tests := make([]Test, len(sets))
		p := make([]float64, len(sets))
		for i, s := range sets {
			if tests[i], err = test(byTitle[s], metric, o); err != nil {
				return nil, err
			}
			tests[i].Set = s
			p[i] = tests[i].P
		}
		for i, adjusted := range stat.Holm(p) {
			tests[i].Holm = adjusted
			tests[i].Verdict = tests[i].verdict(o.Alpha)
		}
		c.Tests = append(c.Tests, tests...)
		if len(sets) > 1 {
			c.Tests = append(c.Tests, overall(tests, byTitle, o))
		}
	}
	for _, s := range sets {
		c.Moved = append(c.Moved, moved(s, byTitle[s], o)...)
	}
	return c, nil
}

// align pairs the queries of two results by set, the sets in name order.
func align(a, b []QueryResult) ([]string, map[string][]pair, error) {
	type key struct{ set, split, id string }
	inB := make(map[key]QueryResult, len(b))
	for _, q := range b {
		inB[key{q.Set, q.Split, q.ID}] = q
	}
	out := map[string][]pair{}
	matched := 0
	for _, q := range a {
		other, ok := inB[key{q.Set, q.Split, q.ID}]
		if !ok {
			return nil, nil, fmt.Errorf("compare: query %s of set %s is in the first result only", q.ID, labels.Title(q.Set, q.Split))
		}
		matched++
		if len(q.Relevant) > 0 {
			t := labels.Title(q.Set, q.Split)
			out[t] = append(out[t], pair{q, other})
		}
	}
	if matched != len(inB) {
		return nil, nil, fmt.Errorf("compare: the first result has %d queries, the second %d; "+
			"want the same sets, splits and queries in both", matched, len(inB))
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("compare: no query has a relevant tool")
	}
	return slices.Sorted(maps.Keys(out)), out, nil
}

func test(pairs []pair, metric string, o CompareOptions) (Test, error) {
	t := Test{Metric: metric, Queries: len(pairs)}
	diffs := make([]float64, len(pairs))
	for i, p := range pairs {
		va, okA := p.a.Metrics[metric]
		vb, okB := p.b.Metrics[metric]
		if !okA || !okB {
			return t, fmt.Errorf("compare: query %s of set %s has no %s in both results; it has %s",
				p.a.ID, labels.Title(p.a.Set, p.a.Split), metric, strings.Join(slices.Sorted(maps.Keys(p.a.Metrics)), ", "))
		}
		t.A += va / float64(len(pairs))
		t.B += vb / float64(len(pairs))
		diffs[i] = vb - va
		if vb > va {
			t.Wins++
		}
		if vb < va {
			t.Losses++
		}
	}
	t.P = stat.Randomisation(diffs, o.Permutations, o.Seed)
	t.samples = stat.Resample([][]float64{diffs}, bootstrapSamples, o.Seed)[0]
	t.Interval = stat.Percentiles(t.samples)
	return t, nil
}

// Overall is what a Test over all sets calls its set.
const Overall = "mean over sets"

// overall tests the mean over sets, in which every set counts the same.
func overall(tests []Test, byTitle map[string][]pair, o CompareOptions) Test {
	t := Test{Set: Overall, Metric: tests[0].Metric}
	var diffs []float64
	t.samples = make([]float64, bootstrapSamples)
	for _, one := range tests {
		for i, m := range one.samples {
			t.samples[i] += m / float64(len(tests))
		}
		share := 1 / float64(len(tests)) / float64(one.Queries)
		for _, p := range byTitle[one.Set] {
			diffs = append(diffs, share*(p.b.Metrics[t.Metric]-p.a.Metrics[t.Metric]))
		}
		t.Queries += one.Queries
		t.Wins += one.Wins
		t.Losses += one.Losses
		t.A += one.A / float64(len(tests))
		t.B += one.B / float64(len(tests))
	}
	t.P = stat.Randomisation(diffs, o.Permutations, o.Seed)
	t.Holm = t.P
	t.Interval = stat.Percentiles(t.samples)
	t.Verdict = t.verdict(o.Alpha)
	return t
}

func (t Test) verdict(alpha float64) string {
	switch {
	case t.Holm >= alpha || t.A == t.B:
		return Same
	case t.B > t.A:
		return Better
	}
	return Worse
}

// moved lists the queries of a set that changed most: by the sum of changes,
// then the first metric, then id.
func moved(set string, pairs []pair, o CompareOptions) []Moved {
	var all []Moved
	for _, p := range pairs {
		m := Moved{Set: set, Query: p.a.ID, Text: p.a.Text, Relevant: slices.Sorted(maps.Keys(p.a.Relevant)),
			Change: map[string]float64{}, A: head(p.a.tools(), 10), B: head(p.b.tools(), 10)}
		for _, name := range o.Metrics {
			m.Change[name] = p.b.Metrics[name] - p.a.Metrics[name]
		}
		if size(m, o.Metrics) > 0 {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(size(b, o.Metrics), size(a, o.Metrics)), cmp.Compare(a.Query, b.Query))
	})
	return all[:max(0, min(o.Moved, len(all)))]
}

func size(m Moved, metrics []string) float64 {
	sum := 0.0
	for _, name := range metrics {
		sum += math.Abs(m.Change[name])
	}
	return sum
}

func head(s []string, n int) []string { return s[:min(n, len(s))] }
