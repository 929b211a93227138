package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"
)

// randomMatrix has unit rows drawn around a few centres per hundred rows, as
// tools gather around products; spread 0 gives rows without any structure.
func randomMatrix(seed uint64, rows, dims int, spread float64) Matrix {
	r := rand.New(rand.NewPCG(seed, 1))
	m := Matrix{Dims: dims, Data: make([]float32, rows*dims)}
	centres := make([]float32, (rows/25+1)*dims)
	for i := range centres {
		centres[i] = float32(r.NormFloat64())
	}
	for i := range rows {
		row, c := m.Row(i), 0
		if spread > 0 {
			c = r.IntN(len(centres)/dims) * dims
		}
		for d := range row {
			row[d] = float32(r.NormFloat64())
			if spread > 0 {
				row[d] = centres[c+d] + float32(spread)*row[d]
			}
		}
		normalise(row)
	}
	return m
}

func normalise(x []float32) {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	for i := range x {
		x[i] /= float32(math.Sqrt(sum))
	}
}

// oracle ranks by sorting everything.
func oracle(m Matrix, q []float32, allowed *bitset.BitSet, k int) []Hit {
	var hits []Hit
	for i := range m.Rows() {
		if (allowed == nil || allowed.Test(uint(i))) && m.present(i) {
			hits = append(hits, Hit{uint32(i), dot(q, m.Row(i))})
		}
	}
	slices.SortFunc(hits, compareHits)
	return hits[:min(k, len(hits))]
}

func someOf(seed uint64, n int, share float64) *bitset.BitSet {
	r := rand.New(rand.NewPCG(seed, 2))
	b := bitset.New(uint(n))
	for i := range n {
		if r.Float64() < share {
			b.Set(uint(i))
		}
	}
	return b
}

func TestDotGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 70; n++ {
		x, y := make([]float32, n), make([]float32, n)
		var want float64
		for i := range x {
			x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			want += float64(x[i]) * float64(y[i])
		}
		for name, got := range map[string]float32{"dot": dot(x, y), "dotGo": dotGo(x, y)} {
			if math.Abs(float64(got)-want) > 1e-4 {
				t.Errorf("%s of %d elements = %g, want %g", name, n, got, want)
			}
		}
	}
}

func TestScanEqualsSorting(t *testing.T) {
	for _, rows := range []int{0, 1, 63, 64, 65, 500, parallelFrom + 77} {
		for _, share := range []float64{-1, 0, .01, .5, 1} {
			t.Run(fmt.Sprintf("rows=%d,share=%g", rows, share), func(t *testing.T) {
				m := randomMatrix(uint64(rows), rows, 24, 1)
				for i := 0; i < rows; i += 7 {
					copy(m.Row(i), m.Row(i/2)) // ties
				}
				for i := 3; i < rows; i += 11 {
					clear(m.Row(i))
				}
				var allowed *bitset.BitSet
				if share >= 0 {
					allowed = someOf(3, rows, share)
				}
				q := randomMatrix(9, 1, 24, 0).Row(0)
				for _, k := range []int{1, 10, rows + 5} {
					if diff := cmp.Diff(oracle(m, q, allowed, k), NewScan(m).Search(q, allowed, k)); diff != "" && k > 0 {
						if len(oracle(m, q, allowed, k)) == 0 && len(NewScan(m).Search(q, allowed, k)) == 0 {
							continue
						}
						t.Fatalf("k=%d: want -, got +:\n%s", k, diff)
					}
				}
			})
		}
	}
}

func TestScanRefusesOddArguments(t *testing.T) {
	m := randomMatrix(1, 10, 8, 1)
	s := NewScan(m)
	if got := s.Search(m.Row(0)[:4], nil, 3); got != nil {
		t.Errorf("short query: got %v, want nothing", got)
	}
	if got := s.Search(m.Row(0), nil, 0); got != nil {
		t.Errorf("k=0: got %v, want nothing", got)
	}
	if got := NewScan(Matrix{}).Search(nil, nil, 3); got != nil {
		t.Errorf("empty matrix: got %v, want nothing", got)
	}
	if got := s.Search(m.Row(0), bitset.New(3).Set(2), 3); len(got) != 1 || got[0].Doc != 2 {
		t.Errorf("short bitmap: got %v, want document 2 alone", got)
	}
}

func TestScanAllocatesResultsOnly(t *testing.T) {
	if underRace {
		t.Skip("the race detector makes pools forget")
	}
	m := randomMatrix(4, 5000, 32, 1)
	s, q := NewScan(m), m.Row(0)
	dst := make([]float32, m.Rows())
	var p Probe
	p.Set(s, q)
	if n := testing.AllocsPerRun(100, func() { s.Search(q, nil, 10) }); n > 1.5 {
		t.Errorf("Search allocates %.1f times, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { p.Set(s, q); p.Scores(dst, nil, 0, m.Rows()) }); n > .5 {
		t.Errorf("Probe.Scores allocates %.1f times, want 0", n)
	}
}

func BenchmarkScan(b *testing.B) {
	for _, rows := range []int{1_000, 10_000, 20_000, 100_000} {
		m := randomMatrix(1, rows, 256, 1)
		queries := randomMatrix(2, 64, 256, 1)
		for _, share := range []float64{1, .1, .01} {
			allowed := someOf(1, rows, share)
			if share == 1 {
				allowed = nil
			}
			b.Run(fmt.Sprintf("rows=%d/allowed=%g", rows, share), func(b *testing.B) {
				s := NewScan(m)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					s.Search(queries.Row(i%64), allowed, 10)
				}
			})
		}
		s, dst := NewScan(m), make([]float32, rows)
		b.Run(fmt.Sprintf("rows=%d/approximate", rows), func(b *testing.B) {
			b.ReportAllocs()
			var p Probe
			for i := 0; b.Loop(); i++ {
				p.Set(s, queries.Row(i%64))
				p.Scores(dst, nil, 0, rows)
			}
		})
		b.Run(fmt.Sprintf("rows=%d/prepare", rows), func(b *testing.B) {
			for b.Loop() {
				NewScan(m)
			}
		})
	}
}

func BenchmarkDot(b *testing.B) {
	m := randomMatrix(1, 2, 256, 1)
	b.Run("dot", func(b *testing.B) {
		for b.Loop() {
			dot(m.Row(0), m.Row(1))
		}
	})
	b.Run("portable", func(b *testing.B) {
		for b.Loop() {
			dotGo(m.Row(0), m.Row(1))
		}
	})
}

func TestApproximateKeepsItsPromise(t *testing.T) {
	for _, dims := range []int{1, 31, 64, 256, 1000} {
		for _, rows := range []int{50, parallelFrom + 50} {
			m := randomMatrix(uint64(dims), rows, dims, .5)
			copy(m.Row(3), make([]float32, dims))
			m.Row(3)[0] = 1 // one number takes all
			s, allowed, dst := NewScan(m), someOf(1, rows, .5), make([]float32, rows)
			for seed := range uint64(20) {
				q := randomMatrix(seed, 1, dims, 0).Row(0)
				var p Probe
				p.Set(s, q)
				p.Scores(dst, allowed, 0, 64*(rows/128))
				p.Scores(dst, allowed, 64*(rows/128), rows)
				e := p.Errors()
				if e.Fixed > .001 || e.Slope*e.Sizes[0] > .08 || e.Sharpened > .001 {
					t.Errorf("%d dimensions: bounds %g + %g and %g are too wide to be of use", dims, e.Fixed, e.Slope*e.Sizes[0], e.Sharpened)
				}
				var ids []uint32
				off := func(when string, promised func(i int) float32) {
					for i := range rows {
						promised := promised(i)
						if d := dst[i] - s.Score(q, uint32(i)); allowed.Test(uint(i)) && max(d, -d) > promised {
							t.Fatalf("%d dimensions, row %d, %s: off by %g, promised %g", dims, i, when, d, promised)
						} else if allowed.Test(uint(i)) {
							ids = append(ids, uint32(i))
						}
					}
				}
				off("at first", func(i int) float32 { return e.Fixed + e.Slope*e.Sizes[i] })
				p.Sharpen(dst, ids)
				off("sharpened", func(int) float32 { return e.Sharpened })
			}
		}
	}
}

func TestCodeKernelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, dims := range []int{1, 64, 100, 256, 4096} {
		x := newCodes(dims, 9)
		for i := range x.data {
			x.data[i] = int8(r.IntN(2*maxCode+1) - maxCode)
		}
		var q codedQuery
		q.set(randomMatrix(r.Uint64(), 1, dims, 0).Row(0), x.stride)
		for i := range x.scale {
			x.scale[i] = r.Float32()
		}
		ids := []uint32{8, 0, 3, 3, 1, 7, 6, 5, 4, 3, 2}
		got, want := make([]float32, len(ids)), make([]float32, len(ids))
		x.dotsGo(want, ids, &q, .5)
		for name, kernel := range kernels {
			kernel(&x, got, ids, &q)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d dimensions: got %v, want %v", name, dims, got, want)
			}
		}
	}
}

// A query all of whose numbers are equal makes the largest sums.
func TestCodesDoNotOverflow(t *testing.T) {
	for _, dims := range []int{32, 256, 4096} {
		m := Matrix{Dims: dims, Data: make([]float32, dims)}
		for i := range m.Data {
			m.Data[i] = 1
		}
		normalise(m.Data)
		dst := make([]float32, 1)
		var p Probe
		p.Set(NewScan(m), m.Row(0))
		p.Scores(dst, nil, 0, 1)
		if math.Abs(float64(dst[0])-1) > 1e-3 {
			t.Errorf("%d dimensions: got %g, want 1", dims, dst[0])
		}
	}
}

// TestRebase changes rows of a matrix again and again: what is made of the
// scan before finds the same and keeps its promise.
func TestRebase(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	m := Matrix{Dims: 40}
	for i := range 700 {
		m.At = append(m.At, randomMatrix(uint64(i), 1, m.Dims, 0).Row(0))
	}
	s := NewScan(m)
	for round := range 20 {
		next := Matrix{Dims: m.Dims}
		var from []uint32
		for i, row := range m.At {
			switch r.IntN(40) {
			case 0:
				continue
			case 1:
				row = make([]float32, m.Dims) // absent
				fallthrough
			case 2:
				next.At, from = append(next.At, randomMatrix(r.Uint64(), 1, m.Dims, 0).Row(0)), append(from, None)
			}
			next.At = append(next.At, row)
			if from = append(from, uint32(i)); &row[0] != &m.At[i][0] {
				from[len(from)-1] = None
			}
		}
		m, s = next, s.Rebase(next, from)
		q := randomMatrix(r.Uint64(), 1, m.Dims, 0).Row(0)
		if diff := cmp.Diff(oracle(m, q, nil, 10), s.Search(q, nil, 10)); diff != "" {
			t.Fatalf("round %d: want -, got +:\n%s", round, diff)
		}
		var p Probe
		p.Set(s, q)
		dst, e := make([]float32, m.Rows()), p.Errors()
		p.Scores(dst, nil, 0, m.Rows())
		for i, got := range dst {
			if off := got - s.Score(q, uint32(i)); m.present(i) && max(off, -off) > e.Fixed+e.Slope*e.Sizes[i] {
				t.Fatalf("round %d, row %d: off by %g", round, i, off)
			}
		}
	}
}
