package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestSweepEqualsScoringAll compares the rows and totals of a catalog that
// several goroutines share out with those of scores that are all made exact,
// one document after the other.
func TestSweepEqualsScoringAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	for _, c := range []struct {
		name   string
		change func(i int, t *Tool)
	}{
		{"servers", func(int, *Tool) {}},
		{"some without a server", func(i int, t *Tool) {
			if i%7 == 0 {
				t.Server = ""
			}
		}},
		{"some without a vector", func(i int, t *Tool) {
			if i%11 == 0 {
				t.Name = "blank " + t.Name
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := openDir(t, "", Options{})
			gen := newSynthetic()
			byServer := map[string][]Tool{}
			for i := range 2*parallelFrom + r.IntN(1000) {
				tool := gen.tool(i)
				tool.Tags = []string{[]string{"even", "odd"}[i%2]}
				c.change(i, &tool)
				byServer[tool.Server] = append(byServer[tool.Server], tool)
			}
			if _, err := ix.ReplaceAll(t.Context(), byServer); err != nil {
				t.Fatal(err)
			}
			plain := DefaultParams()
			plain.Diversity = 0 // it moves rows for reasons of its own
			if err := ix.SetParams(plain); err != nil {
				t.Fatal(err)
			}
			attach(t, ix, wordEmbedder{40})
			for i := range 60 {
				q := sweepQuery(r, ix, i)
				checkSweep(t, ix, &q)
			}
		})
	}
}

// sweepQuery is words of some tools, now and then a tool's name, in any mode,
// with filters and floors now and then.
func sweepQuery(r *rand.Rand, ix *Index, i int) Query {
	docs := ix.snapshot().docs
	a, b := docs[r.IntN(len(docs))], docs[r.IntN(len(docs))]
	q := Query{
		Mode: []Mode{Keyword, Semantic, Hybrid}[i%3], Limit: 1 + r.IntN(30),
		Text: a.tool.Description[:min(30, len(a.tool.Description))] + " " + b.tool.Description[:min(20, len(b.tool.Description))],
	}
	if r.IntN(4) == 0 {
		q.Text = a.qualified
	}
	if r.IntN(3) == 0 {
		q.Filter.Tags = []string{"odd"}
	}
	if r.IntN(3) == 0 {
		floor := r.Float64() / 2
		q.MinScore = &floor
	}
	return q
}

func checkSweep(t *testing.T, ix *Index, q *Query) {
	t.Helper()
	got, err := ix.Search(t.Context(), *q)
	if err != nil {
		t.Fatal(err)
	}
	run, err := ix.begin(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer run.end()
	var all []scored
	total := 0
	run.each(func(d uint32) {
		if run.refine(d); run.scores[d] >= run.floor() && (q.Mode != Keyword || run.scores[d] > 0) {
			total++
		}
		all = append(all, scored{d, run.scores[d]})
	})
	slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc)) })
	if got.Total != total {
		t.Fatalf("%s %q: %d in all, want %d", q.Mode, q.Text, got.Total, total)
	}
	var want, have []string
	for _, s := range all[:min(len(all), q.Limit)] {
		if (q.MinScore == nil || s.score >= *q.MinScore) && (q.Mode != Keyword || s.score > 0) {
			want = append(want, fmt.Sprintf("%s %.12f", run.s.docs[s.doc].qualified, s.score))
		}
	}
	for _, h := range got.Hits {
		have = append(have, fmt.Sprintf("%s %.12f", h.Tool.QualifiedName(), h.Score))
	}
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Fatalf("%s %q: all exact -, searched +:\n%s", q.Mode, q.Text, diff)
	}
}
