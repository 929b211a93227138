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
	o.Permutations, o.Moved, o.Alpha = cmp.Or(o.Permutations, permutations), cmp.Or(o.Moved, 10), cmp.Or(o.Alpha, .05)
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
		var all [][]pair
		for i, s := range sets {
			all = append(all, byTitle[s])
			if tests[i], err = test(s, metric, [][]pair{byTitle[s]}, o); err != nil {
				return nil, err
			}
			p[i] = tests[i].P
		}
		for i, adjusted := range stat.Holm(p) {
			tests[i].Holm = adjusted
		}
		if len(sets) > 1 {
			overall, err := test(Overall, metric, all, o)
			if err != nil {
				return nil, err
			}
			tests = append(tests, overall)
		}
		for i, t := range tests {
			tests[i].Verdict = t.verdict(o.Alpha)
		}
		c.Tests = append(c.Tests, tests...)
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

// Overall is what a Test over all sets calls its set.
const Overall = "mean over sets"

// test tests a metric over sets, in which every set counts the same.
func test(name, metric string, sets [][]pair, o CompareOptions) (Test, error) {
	t := Test{Set: name, Metric: metric}
	a, b := make([][]float64, len(sets)), make([][]float64, len(sets))
	for s, pairs := range sets {
		for _, p := range pairs {
			va, okA := p.a.Metrics[metric]
			vb, okB := p.b.Metrics[metric]
			if !okA || !okB {
				return t, fmt.Errorf("compare: query %s of set %s has no %s in both results; it has %s",
					p.a.ID, labels.Title(p.a.Set, p.a.Split), metric, strings.Join(slices.Sorted(maps.Keys(p.a.Metrics)), ", "))
			}
			if vb > va {
				t.Wins++
			}
			if vb < va {
				t.Losses++
			}
			a[s], b[s] = append(a[s], va), append(b[s], vb)
		}
		t.Queries += len(pairs)
	}
	g := gain(a, b, o.Permutations, o.Seed)
	t.A, t.B, t.P, t.Holm, t.Interval = g.Before, g.After, g.P, g.P, g.Interval
	return t, nil
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
