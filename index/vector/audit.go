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
	// sample is small and other queries are harder: on 100,000 tools a beam
	// that found .992 of the sample found .989 of what requests are after.
	tuneRecall = .995
	// sampleRows are mixed into one sample query. Requests lie further from
	// any tool than tools from each other: on a catalog of 20,000 the middles
	// of two or three rows were found at half the beam that requests needed,
	// those of five at about the same.
	sampleRows = 5
)

var tuneEFs = []int{64, 96, 128, 192, 256, 384, 512, 768}

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
		got := y.walk(queries.Row(i), nil, auditK)
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

// SampleQueries returns up to n unit vectors, each in the middle of some
// present rows of m. The same matrix gives the same queries.
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
		at, query := i*len(rows)/n, s.Row(i)
		for part := range sampleRows {
			// The parts of one query come from everywhere, and differ from the next one's.
			row := m.Row(rows[(at*(6*part+1)+part*len(rows)/sampleRows)%len(rows)])
			for d := range query {
				query[d] += row[d]
			}
		}
		norm := math.Sqrt(float64(dot(query, query)))
		if norm == 0 { // rows that cancel out
			copy(query, m.Row(rows[at]))
			continue
		}
		for d := range query {
			query[d] /= float32(norm)
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
