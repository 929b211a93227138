package hnsw

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tooldex/tooldex/index/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGraphRecall(t *testing.T) {
	if underRace {
		t.Skip("numbers only, which the race detector makes slow")
	}
	for _, test := range []struct {
		name string
		m    *vector.Codes
	}{
		{"clustered", randomRows(1, 3000, 48, 1)},
		{"structureless", randomRows(2, 1500, 48, 0)},
		{"near copies", nearCopies(3, 2000, 48, .1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			keys := randomKeys(1, test.m.Rows())
			g := build(t, keys, test.m)
			x := bind(t, g, keys, test.m)
			measured, err := x.Audit(t.Context(), SampleQueries(test.m, 150), []int{g.EF(), 2 * g.EF()})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("built with ef %d, recall %.4f; audited: %+v", g.EF(), g.Recall(), measured)
			if got := measured[0].Recall; got < MinRecall {
				t.Errorf("recall@10 = %.4f at ef %d, want at least %g", got, g.EF(), MinRecall)
			}
			if g.Recall() < MinRecall {
				t.Errorf("the build noted recall %.4f, want at least %g", g.Recall(), MinRecall)
			}
		})
	}
}

// At a beam as wide as the graph a walk sees every node it can reach, which
// must be all of them.
func TestWideWalkEqualsScan(t *testing.T) {
	for _, m := range []*vector.Codes{randomRows(1, 1500, 32, 1), nearCopies(2, 1500, 32, .001)} {
		keys := randomKeys(2, m.Rows())
		x := bind(t, build(t, keys, m), keys, m)
		x.o.EF = m.Rows()
		queries := SampleQueries(m, 20)
		for i := range queries.Rows() {
			want := x.rows.Near(queryOf(queries.Row(i)), nil, 30)
			if diff := cmp.Diff(want, x.walk(queryOf(queries.Row(i)), nil, 30)); diff != "" {
				t.Fatalf("query %d: want -, got +:\n%s", i, diff)
			}
		}
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	m := randomRows(1, 1200, 32, 1)
	keys := randomKeys(2, m.Rows())
	want := build(t, keys, m)
	for _, workers := range []int{1, 3, 8} {
		got, err := Build(t.Context(), keys, m, BuildOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%d workers build another graph", workers)
		}
	}
}

func TestBuildLinks(t *testing.T) {
	m := randomRows(4, 2000, 32, 1)
	g := build(t, randomKeys(4, m.Rows()), m)
	reached := make([]bool, g.Nodes())
	reach(g, reached, g.entry)
	for n := range uint32(g.Nodes()) {
		if !reached[n] {
			t.Errorf("node %d cannot be reached", n)
		}
		for layer := range int(g.level[n]) + 1 {
			links := g.links(n, layer)
			links = links[:firstNone(links)]
			for i, other := range links {
				if other == n || int(g.level[other]) < layer || slices.Contains(links[:i], other) {
					t.Fatalf("node %d, layer %d: odd links %v", n, layer, links)
				}
			}
		}
	}
	if counts := levels(g); counts[1] < 70 || counts[1] > 200 || counts[2] == 0 {
		t.Errorf("nodes by level: %v, want about a sixteenth on each next one", counts)
	}
}

func levels(g *Graph) (counts [maxLevel + 1]int) {
	for _, l := range g.level {
		counts[l]++
	}
	return counts
}

func TestBuildSmall(t *testing.T) {
	for _, rows := range []int{0, 1, 2, 3, 40} {
		m := randomRows(1, rows, 16, 0)
		keys := randomKeys(1, rows)
		x := bind(t, build(t, keys, m), keys, m)
		for i := range rows {
			if got := x.walk(queryOf(m.Row(i)), nil, 3); len(got) != min(3, rows) || got[0].Doc != uint32(i) {
				t.Errorf("%d rows: row %d finds %v, not itself first", rows, i, got)
			}
		}
		if got := x.walk(queryOf(absent(16)), nil, 3); len(got) > 3 {
			t.Errorf("%d rows: a zero query finds %v", rows, got)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	m := randomRows(1, 3, 4, 0)
	for _, test := range []struct {
		keys []uint64
		want string
	}{
		{[]uint64{1, 2}, "build graph: 2 keys for 3 rows"},
		{[]uint64{1, 2, 2}, "build graph: key 2 follows 2: keys must ascend"},
	} {
		if _, err := Build(t.Context(), test.keys, m, BuildOptions{}); err == nil || err.Error() != test.want {
			t.Errorf("keys %v: got error %v, want %s", test.keys, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, []uint64{1, 2, 3}, m, BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want canceled", err)
	}
}

func TestBuildReportsProgress(t *testing.T) {
	m := randomRows(1, batchNodes+10, 8, 0)
	var got [][2]int
	_, err := Build(t.Context(), randomKeys(1, m.Rows()), m, BuildOptions{
		Progress: func(done, total int) { got = append(got, [2]int{done, total}) },
	})
	want := [][2]int{{batchNodes, batchNodes + 10}, {batchNodes + 10, batchNodes + 10}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v; want -, got +:\n%s", err, diff)
	}
}

// Documents with one vector share a node, and all of them are found.
func TestCopiesShareANode(t *testing.T) {
	m := randomRows(5, 1000, 16, 1)
	for i := 500; i < 1000; i++ {
		m.Set(i, m.Row(i%5))
	}
	m.Set(7, absent(16))
	keys := randomKeys(5, m.Rows())
	g := build(t, keys, m)
	if g.Docs() != 999 || g.Nodes() != 499 {
		t.Errorf("%d documents on %d nodes, want 999 on 499", g.Docs(), g.Nodes())
	}
	x := bind(t, g, keys, m)
	for i := range 5 {
		want := x.rows.Near(queryOf(m.Row(i)), nil, 101)
		if diff := cmp.Diff(want, x.walk(queryOf(m.Row(i)), nil, 101)); diff != "" {
			t.Errorf("copies of %d: want -, got +:\n%s", i, diff)
		}
	}
}

// A changedCatalog is m with some rows gone, changed and added.
func changedCatalog(keys []uint64, m *vector.Codes) (newKeys []uint64, n *vector.Codes) {
	var rows []vector.Code
	extra := randomRows(77, m.Rows(), m.Dims(), 1)
	for i, key := range keys {
		row := m.Row(i)
		switch i % 20 {
		case 0:
			continue
		case 1:
			row = extra.Row(i)
		case 2:
			newKeys = append(newKeys, key-1)
			rows = append(rows, extra.Row(i))
		}
		newKeys = append(newKeys, key)
		rows = append(rows, row)
	}
	n = vector.NewCodes(len(rows), m.Dims())
	for i, c := range rows {
		n.Set(i, c)
	}
	return newKeys, n
}

func TestBindToAChangedCatalog(t *testing.T) {
	m := randomRows(6, 2000, 24, 1)
	keys := randomKeys(6, m.Rows())
	g := build(t, keys, m)
	newKeys, n := changedCatalog(keys, m)
	x := bind(t, g, newKeys, n)
	if x.Dead() != 200 || x.Delta() != 200 || x.Live() != 1800 || x.Stale() {
		t.Errorf("dead %d, delta %d, live %d, stale %t; want 200, 200, 1800, false", x.Dead(), x.Delta(), x.Live(), x.Stale())
	}
	measured, err := x.Audit(t.Context(), SampleQueries(n, 150), []int{g.EF()})
	if err != nil {
		t.Fatal(err)
	}
	if measured[0].Recall < MinRecall {
		t.Errorf("recall@10 = %.4f after changes, want at least %g", measured[0].Recall, MinRecall)
	}
	half := vector.NewCodes(900, n.Dims())
	for i := range half.Rows() {
		half.Set(i, n.Row(i))
	}
	if y := bind(t, g, newKeys[:900], half); !y.Stale() {
		t.Error("not stale with half of its documents gone")
	}
}

func TestBindErrors(t *testing.T) {
	m := randomRows(1, 3, 4, 0)
	g := build(t, randomKeys(1, 3), m)
	if _, err := g.Bind([]uint64{1}, m, IndexOptions{}); err == nil || !strings.Contains(err.Error(), "1 keys for 3 rows") {
		t.Errorf("short keys: %v", err)
	}
	wide := randomRows(1, 3, 8, 0)
	if _, err := g.Bind(randomKeys(1, 3), wide, IndexOptions{}); err == nil || !strings.Contains(err.Error(), "4 dimensions in the graph, 8") {
		t.Errorf("other dimensions: %v", err)
	}
	if _, err := g.Bind(nil, vector.NewCodes(0, 0), IndexOptions{}); err != nil {
		t.Errorf("empty catalog: %v", err)
	}
}

func TestFilteredWalk(t *testing.T) {
	if underRace {
		t.Skip("numbers only, which the race detector makes slow")
	}
	m := randomRows(7, 2500, 32, 1)
	keys := randomKeys(7, m.Rows())
	x := bind(t, build(t, keys, m), keys, m)
	queries := SampleQueries(m, 60)
	for _, share := range []float64{.9, .5, .2, .02, 0} {
		allowed := someOf(8, m.Rows(), share)
		found, wanted := 0, 0
		for i := range queries.Rows() {
			want := x.rows.Near(queryOf(queries.Row(i)), allowed, 10)
			got := x.walk(queryOf(queries.Row(i)), allowed, 10)
			for _, h := range got {
				if !allowed.Test(uint(h.Doc)) {
					t.Fatalf("found %d, which is not allowed", h.Doc)
				}
			}
			found, wanted = found+overlap(want, got), wanted+len(want)
		}
		if recall := float64(found) / float64(max(wanted, 1)); recall < MinRecall && wanted > 0 {
			t.Errorf("share %g: recall@10 = %.4f, want at least %g", share, recall, MinRecall)
		}
	}
}

// The allowed documents are all far from the query: a walk would stay where
// they are not.
func TestFilterAwayFromTheQuery(t *testing.T) {
	m := nearCopies(9, 2000, 32, .2)
	keys := randomKeys(9, m.Rows())
	x := bind(t, build(t, keys, m), keys, m)
	allowed := bitset.New(uint(m.Rows()))
	for i := range m.Rows() {
		if i%7 < 3 {
			allowed.Set(uint(i))
		}
	}
	for i := 3; i < 7; i++ {
		want := x.rows.Near(queryOf(m.Row(i)), allowed, 10)
		if diff := cmp.Diff(want, x.walk(queryOf(m.Row(i)), allowed, 10)); diff != "" {
			t.Errorf("query %d: want -, got +:\n%s", i, diff)
		}
	}
}

func TestIndexChoosesScanOrWalk(t *testing.T) {
	m := randomRows(10, 3000, 16, 1)
	keys := randomKeys(10, m.Rows())
	g := build(t, keys, m)
	for _, test := range []struct {
		threshold, allowed int
		want               bool
	}{
		{0, 3000, true}, {2999, 3000, true}, {3000, 3000, false}, {0, 100, false},
	} {
		x, err := g.Bind(keys, m, IndexOptions{Threshold: test.threshold, EF: 64})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Walks(test.allowed); got != test.want {
			t.Errorf("threshold %d, %d allowed: walks %t, want %t", test.threshold, test.allowed, got, test.want)
		}
		allowed := someOf(1, m.Rows(), .01)
		if diff := cmp.Diff(x.rows.Near(queryOf(m.Row(1)), allowed, 5), x.Near(queryOf(m.Row(1)), allowed, 5)); diff != "" {
			t.Errorf("threshold %d: want -, got +:\n%s", test.threshold, diff)
		}
	}
	bad := *g
	bad.recall = .9
	if x := bind(t, &bad, keys, m); x.Walks(3000) {
		t.Error("walks a graph that misses its recall")
	}
}

func TestSearchesShareAnIndex(t *testing.T) {
	m := randomRows(11, 1200, 32, 1)
	keys := randomKeys(11, m.Rows())
	x := bind(t, build(t, keys, m), keys, m)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < 400; i += 8 {
				if got := x.Near(queryOf(m.Row(i)), nil, 5); len(got) != 5 || got[0].Doc != uint32(i) {
					t.Errorf("row %d finds %v, not itself first", i, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestWalkAllocatesResultsOnly(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pools forget")
	}
	m := randomRows(12, 1000, 32, 1)
	keys := randomKeys(12, m.Rows())
	x := bind(t, build(t, keys, m), keys, m)
	q := queryOf(m.Row(5))
	if n := testing.AllocsPerRun(200, func() { x.walk(q, nil, 10) }); n > 3.5 {
		t.Errorf("a walk allocates %.1f times, want at most 3", n)
	}
}

func TestAuditStopsWithItsContext(t *testing.T) {
	m := randomRows(1, 50, 8, 0)
	keys := randomKeys(1, 50)
	x := bind(t, build(t, keys, m), keys, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Audit(ctx, m, []int{64}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want canceled", err)
	}
	if _, err := x.Audit(t.Context(), vector.NewCodes(0, 3), []int{64}); err == nil {
		t.Error("audited with queries of other dimensions")
	}
}

func TestSampleQueries(t *testing.T) {
	m := randomRows(1, 40, 8, 0)
	m.Set(0, absent(8))
	s := SampleQueries(m, 100)
	if s.Rows() != 39 {
		t.Fatalf("got %d queries, want one for each present row", s.Rows())
	}
	for i := range s.Rows() {
		if n := s.Score(uint32(i), queryOf(s.Row(i))); n < .99 || n > 1.01 {
			t.Errorf("query %d has length² %g", i, n)
		}
	}
	two := rowsOf([][]float32{{1, 0}, {-1, 0}})
	if got := SampleQueries(two, 2); !got.Has(0) || !got.Has(1) {
		t.Errorf("opposite rows give %v", got)
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, rows := range []int{1_000, 10_000} {
		m := randomRows(1, rows, 256, 1)
		keys := randomKeys(1, rows)
		x := bind(b, build(b, keys, m), keys, m)
		queries := SampleQueries(m, 64)
		for _, share := range []float64{1, .5} {
			var allowed *bitset.BitSet
			if share < 1 {
				allowed = someOf(1, rows, share)
			}
			b.Run(fmt.Sprintf("rows=%d/allowed=%g", rows, share), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					x.walk(queryOf(queries.Row(i%queries.Rows())), allowed, 10)
				}
			})
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, rows := range []int{1_000, 10_000} {
		m, keys := randomRows(1, rows, 256, 1), randomKeys(1, rows)
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				build(b, keys, m)
			}
		})
	}
}
