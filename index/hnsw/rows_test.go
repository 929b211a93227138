package hnsw

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/vector"
)

// randomKeys returns n ascending 48-bit keys, as tool ids are.
func randomKeys(seed uint64, n int) []uint64 {
	r := rand.New(rand.NewPCG(seed, 3))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = r.Uint64() >> 16
	}
	slices.Sort(keys)
	return keys
}

// rowsOf are the codes of vectors, which are made as long as 1.
func rowsOf(xs [][]float32) *vector.Codes {
	dims := 0
	for _, x := range xs {
		dims = len(x)
	}
	c := vector.NewCodes(len(xs), dims)
	for i, x := range xs {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		for d := range x {
			x[d] /= float32(math.Sqrt(sum))
		}
		c.Set(i, vector.Encode(x))
	}
	return c
}

// randomRows are drawn around a few centres per hundred rows, as tools gather
// around products; spread 0 gives rows without any structure.
func randomRows(seed uint64, rows, dims int, spread float64) *vector.Codes {
	return rowsOf(randomVectors(seed, rows, dims, spread))
}

func randomVectors(seed uint64, rows, dims int, spread float64) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	random := func(n int) [][]float32 {
		xs := make([][]float32, n)
		for i := range xs {
			xs[i] = make([]float32, dims)
			for d := range xs[i] {
				xs[i][d] = float32(r.NormFloat64())
			}
		}
		return xs
	}
	centres, xs := random(rows/25+1), random(rows)
	for _, x := range xs {
		if c := centres[r.IntN(len(centres))]; spread > 0 {
			for d := range x {
				x[d] = c[d] + float32(spread)*x[d]
			}
		}
	}
	return xs
}

// nearCopies has row i at a distance of about spread from one of seven rows.
func nearCopies(seed uint64, rows, dims int, spread float64) *vector.Codes {
	xs := randomVectors(seed, rows, dims, 0)
	for i, x := range xs[7:] {
		for d := range x {
			x[d] = xs[i%7][d] + float32(spread)*x[d]
		}
	}
	return rowsOf(xs)
}

func queryOf(c vector.Code) *vector.Query {
	var q vector.Query
	q.Set(c)
	return &q
}

func absent(dims int) vector.Code { return vector.Encode(make([]float32, dims)) }

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

func build(t testing.TB, keys []uint64, m *vector.Codes) *Graph {
	t.Helper()
	g, err := Build(t.Context(), keys, m, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func bind(t testing.TB, g *Graph, keys []uint64, m *vector.Codes) *Index {
	t.Helper()
	x, err := g.Bind(keys, m, IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}
