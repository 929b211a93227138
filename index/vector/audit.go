package vector

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	auditQueries = 200
	auditK       = 10
	// tuneRecall leaves room over the .99 that searches should have: the
	// sample is small and other queries are harder.
	tuneRecall = .995
)

var tuneEFs = []int{64, 96, 128, 192, 256, 384, 512}

// A Measure is what an audit saw with one beam.
type Measure struct {
	EF     int
	Recall float64       // share of the exact best ten that are found, equal scores counting as equal
	Time   time.Duration // median of one search
}

// Audit compares walks of every beam in efs with the scan, over one query a
// row of queries. It ignores the threshold and stops with ctx's error.
func (x *Index) Audit(ctx context.Context, queries Matrix, efs []int) ([]Measure, error) {
	if queries.Dims != x.graph.dims {
		return nil, fmt.Errorf("audit graph: queries have %d dimensions, the graph %d", queries.Dims, x.graph.dims)
	}
	exact := make([][]Hit, queries.Rows())
	for i := range exact {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("audit graph: %w", err)
		}
		exact[i] = x.scan.Search(queries.Row(i), nil, auditK)
	}
	var all []Measure
	for _, ef := range efs {
		m, err := x.measure(ctx, queries, exact, ef)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (x *Index) measure(ctx context.Context, queries Matrix, exact [][]Hit, ef int) (Measure, error) {
	y := *x
	y.o.EF = ef
	times := make([]time.Duration, len(exact))
	found, wanted := 0, 0
	for i := range exact {
		if err := context.Cause(ctx); err != nil {
			return Measure{}, err
		}
		start := time.Now()
		got := y.walk(queries.Row(i), nil, auditK, y.Live()+y.Delta())
		times[i] = time.Since(start)
		found += overlap(exact[i], got)
		wanted += len(exact[i])
	}
	if wanted == 0 {
		return Measure{EF: ef, Recall: 1}, nil
	}
	slices.Sort(times)
	return Measure{ef, float64(found) / float64(wanted), times[len(times)/2]}, nil
}

// overlap counts the hits of got that are as good as the last of want, at
// most as many as want has: of equal scores any will do.
func overlap(want, got []Hit) int {
	if len(want) == 0 {
		return 0
	}
	const rounding = 1e-6
	floor, n := want[len(want)-1].Score-rounding, 0
	for _, h := range got {
		if h.Score >= floor {
			n++
		}
	}
	return min(n, len(want))
}

// SampleQueries returns up to n unit vectors that lie between present rows of
// m, half of them near one row and half in the middle of three: a request
// resembles tools without being any one's description. The same matrix gives
// the same queries.
func SampleQueries(m Matrix, n int) Matrix {
	var rows []int
	for i := range m.Rows() {
		if m.present(i) {
			rows = append(rows, i)
		}
	}
	n = min(n, len(rows))
	s := Matrix{Dims: m.Dims, Data: make([]float32, n*m.Dims)}
	for i := range n {
		at, row := i*len(rows)/n, s.Row(i)
		a := m.Row(rows[at])
		b := m.Row(rows[(at*7+len(rows)/3)%len(rows)])
		c := m.Row(rows[(at*13+len(rows)/2)%len(rows)])
		near := float32(i%2*2 + 1)
		var norm float64
		for d := range row {
			row[d] = near*a[d] + b[d] + c[d]
			norm += float64(row[d]) * float64(row[d])
		}
		if norm == 0 { // opposite vectors
			copy(row, a)
			continue
		}
		for d := range row {
			row[d] /= float32(math.Sqrt(norm))
		}
	}
	return s
}

// tune sets the graph's beam to the least that meets tuneRecall on a sample,
// or the best there is, and notes its recall.
func (g *Graph) tune(ctx context.Context, keys []uint64, m Matrix) error {
	x, err := g.Bind(keys, NewScan(m), IndexOptions{})
	if err != nil {
		return err
	}
	queries := SampleQueries(m, auditQueries)
	exact := make([][]Hit, queries.Rows())
	for i := range exact {
		exact[i] = x.scan.Search(queries.Row(i), nil, auditK)
	}
	for _, ef := range tuneEFs {
		measured, err := x.measure(ctx, queries, exact, ef)
		if err != nil {
			return err
		}
		if g.ef, g.recall = measured.EF, measured.Recall; g.recall >= tuneRecall {
			return nil
		}
	}
	return nil
}
