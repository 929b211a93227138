package hnsw

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
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
func (x *Index) Audit(ctx context.Context, queries *vector.Codes, efs []int) ([]Measure, error) {
	if queries.Dims() != x.graph.Dims() {
		return nil, fmt.Errorf("audit graph: queries have %d dimensions, the graph %d", queries.Dims(), x.graph.Dims())
	}
	exact, err := x.exact(ctx, queries)
	if err != nil {
		return nil, fmt.Errorf("audit graph: %w", err)
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

// exact is what a scan finds for each query.
func (x *Index) exact(ctx context.Context, queries *vector.Codes) ([][]rank.Hit, error) {
	found := make([][]rank.Hit, queries.Rows())
	var q vector.Query
	for i := range found {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		q.Set(queries.Row(i))
		found[i] = x.rows.Near(&q, nil, auditK)
	}
	return found, nil
}

func (x *Index) measure(ctx context.Context, queries *vector.Codes, exact [][]rank.Hit, ef int) (Measure, error) {
	y := *x
	y.o.EF = ef
	times := make([]time.Duration, len(exact))
	found, wanted := 0, 0
	var q vector.Query
	for i := range exact {
		if err := context.Cause(ctx); err != nil {
			return Measure{}, err
		}
		start := time.Now()
		q.Set(queries.Row(i))
		got := y.walk(&q, nil, auditK)
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
func overlap(want, got []rank.Hit) int {
	if len(want) == 0 {
		return 0
	}
	floor, n := want[len(want)-1].Score, 0
	for _, h := range got {
		if h.Score >= floor {
			n++
		}
	}
	return min(n, len(want))
}

// SampleQueries returns up to n vectors, each in the middle of some rows. The
// same rows give the same queries.
func SampleQueries(rows *vector.Codes, n int) *vector.Codes {
	var known []int
	for i := range rows.Rows() {
		if rows.Has(i) {
			known = append(known, i)
		}
	}
	n = min(n, len(known))
	s := vector.NewCodes(n, rows.Dims())
	for i := range n {
		at := i * len(known) / n
		sum, norm := make([]float32, rows.Dims()), 0.0
		for part := range sampleRows {
			// The parts of one query come from everywhere, and differ from the next one's.
			rows.Row(known[(at*(6*part+1)+part*len(known)/sampleRows)%len(known)]).AddTo(sum)
		}
		for _, x := range sum {
			norm += float64(x) * float64(x)
		}
		for d := range sum {
			sum[d] /= float32(math.Sqrt(norm))
		}
		if norm == 0 { // rows that cancel out
			s.Set(i, rows.Row(known[at]))
			continue
		}
		s.Set(i, vector.Encode(sum))
	}
	return s
}

// tune sets the graph's beam to the least that meets tuneRecall on a sample,
// or the best there is, and notes its recall.
func (g *Graph) tune(ctx context.Context, keys []uint64, rows *vector.Codes) error {
	x, err := g.Bind(keys, rows, IndexOptions{})
	if err != nil {
		return err
	}
	queries := SampleQueries(rows, auditQueries)
	exact, err := x.exact(ctx, queries)
	if err != nil {
		return err
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
