package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/index/rank"
)

func randomVector(r *rand.Rand, dims int) []float32 {
	x := make([]float32, dims)
	sum := 0.0
	for i := range x {
		x[i] = float32(r.NormFloat64())
		sum += float64(x[i]) * float64(x[i])
	}
	for i := range x {
		x[i] /= float32(math.Sqrt(sum))
	}
	return x
}

func randomCodes(seed uint64, rows, dims int) *Codes {
	r := rand.New(rand.NewPCG(seed, 1))
	c := NewCodes(rows, dims)
	for i := range rows {
		c.Set(i, Encode(randomVector(r, dims)))
	}
	return c
}

func queryOf(x []float32) *Query {
	var q Query
	q.Set(Encode(x))
	return &q
}

// dot is the score of two codes by definition.
func dot(a, b Code) float32 {
	sum := int32(0)
	for i, n := range a.Numbers {
		sum += int32(n) * int32(b.Numbers[i])
	}
	return float32(sum) * (a.Scale * b.Scale)
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		x     []float32
		scale float32
		want  []int8
	}{
		{[]float32{0, 0}, 0, []int8{0, 0}},
		{[]float32{1, -1, .5}, 1. / 127, []int8{127, -127, 64}},
		{[]float32{-1, .004}, 1. / 127, []int8{-127, 1}},
		{[]float32{1e-30}, 1e-30 / 127, []int8{127}},
	} {
		if got := Encode(c.x); got.Scale != c.scale || !slices.Equal(got.Numbers, c.want) {
			t.Errorf("%v: got %v, want %v %v", c.x, got, c.scale, c.want)
		}
	}
}

func TestDecodeCode(t *testing.T) {
	want := Encode([]float32{.6, -.8, 0})
	data := want.Append(nil)
	if got, ok := DecodeCode(data, 3); !ok || !cmp.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, ok, want)
	}
	for _, bad := range [][]byte{nil, data[:6], append(data, 0), Encode(make([]float32, 3)).Append(nil)} {
		if got, ok := DecodeCode(bad, 3); ok {
			t.Errorf("%v is taken for %v", bad, got)
		}
	}
}

// A cosine of codes is near that of the vectors.
func TestCosines(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, dims := range []int{31, 64, 256, 1000} {
		for range 100 {
			x, y := randomVector(r, dims), randomVector(r, dims)
			exact := 0.0
			for i := range x {
				y[i] += x[i] * r.Float32()
			}
			for i := range x {
				exact += float64(x[i]) * float64(y[i])
			}
			if got := dot(Encode(x), Encode(y)); math.Abs(float64(got)-exact) > .012 {
				t.Errorf("%d dimensions: got %v, want %v", dims, got, exact)
			}
			sum := make([]float32, dims)
			Encode(x).AddTo(sum)
			for i := range sum {
				if math.Abs(float64(sum[i]-x[i])) > .01 {
					t.Fatalf("%d dimensions: %v is taken for %v", dims, x[i], sum[i])
				}
			}
		}
	}
}

func TestKernelsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, dims := range []int{1, 64, 100, 256, 4096} {
		x := NewCodes(9, dims)
		for i := range x.Rows() {
			c := Code{r.Float32(), make([]int8, dims)}
			for d := range c.Numbers {
				c.Numbers[d] = int8(r.IntN(255) - 127)
			}
			x.Set(i, c)
		}
		ids := []uint32{8, 0, 3, 3, 1, 7, 6, 5, 4, 3, 2}
		var q Query
		q.Set(x.Row(4))
		for name, kernel := range kernels {
			got := make([]float32, len(ids))
			kernel(x, got, ids, &q)
			for i, id := range ids {
				if want := dot(x.Row(int(id)), x.Row(4)); got[i] != want {
					t.Errorf("%s, %d dimensions: got %v, want %v", name, dims, got[i], want)
				}
			}
		}
	}
}

// Equal numbers make the largest sums.
func TestCodesDoNotOverflow(t *testing.T) {
	for _, dims := range []int{32, 256, 1 << 16} {
		x := make([]float32, dims)
		for i := range x {
			x[i] = float32(1 / math.Sqrt(float64(dims)))
		}
		c := NewCodes(1, dims)
		c.Set(0, Encode(x))
		for name, kernel := range kernels {
			var got [1]float32
			if kernel(c, got[:], []uint32{0}, queryOf(x)); math.Abs(float64(got[0])-1) > 1e-3 {
				t.Errorf("%s, %d dimensions: got %g, want 1", name, dims, got[0])
			}
		}
	}
}

func someOf(r *rand.Rand, n int, share float64) *bitset.BitSet {
	b := bitset.New(uint(n))
	for i := range n {
		if r.Float64() < share {
			b.Set(uint(i))
		}
	}
	return b
}

func TestNearEqualsSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, rows := range []int{0, 1, 63, 64, 65, 500} {
		for _, share := range []float64{-1, 0, .01, .5, 1} {
			c := randomCodes(uint64(rows), rows, 24)
			for i := 0; i < rows; i += 7 {
				c.Set(i, c.Row(i/2)) // ties
			}
			for i := 3; i < rows; i += 11 {
				c.Set(i, Encode(make([]float32, 24)))
			}
			var allowed *bitset.BitSet
			if share >= 0 {
				allowed = someOf(r, rows, share)
			}
			x := randomVector(r, 24)
			q := queryOf(x)
			scores := slices.Repeat([]float32{-7}, rows)
			c.Scores(scores, q, allowed)
			var all []rank.Hit
			for i := range rows {
				want := float32(-7)
				if allowed == nil || allowed.Test(uint(i)) {
					want = dot(c.Row(i), Encode(x))
					if c.Has(i) {
						all = append(all, rank.Hit{Doc: uint32(i), Score: float64(want)})
					}
				}
				if scores[i] != want || allowed == nil && c.Score(uint32(i), q) != want {
					t.Fatalf("%d rows, share %g, row %d: scores %v, want %v", rows, share, i, scores[i], want)
				}
			}
			slices.SortFunc(all, func(a, b rank.Hit) int {
				if a.Before(b) {
					return -1
				}
				return 1
			})
			for _, k := range []int{0, 1, 10, rows + 5} {
				got := c.Near(q, allowed, k)
				if diff := cmp.Diff(all[:min(k, len(all))], got); diff != "" && len(got)+min(k, len(all)) > 0 {
					t.Fatalf("%d rows, share %g, k %d: want -, got +:\n%s", rows, share, k, diff)
				}
			}
		}
	}
}

func TestNearRefusesOddArguments(t *testing.T) {
	c := randomCodes(1, 10, 80)
	q := queryOf(randomVector(rand.New(rand.NewPCG(1, 1)), 80))
	if got := c.Near(queryOf([]float32{1}), nil, 3); got != nil {
		t.Errorf("short query: got %v, want nothing", got)
	}
	if got := NewCodes(0, 0).Near(q, nil, 3); got != nil {
		t.Errorf("no rows: got %v, want nothing", got)
	}
	if got := c.Near(q, bitset.New(3).Set(2), 3); len(got) != 1 || got[0].Doc != 2 {
		t.Errorf("short bitmap: got %v, want document 2 alone", got)
	}
}

func TestScoresAllocateNothing(t *testing.T) {
	c := randomCodes(4, 2000, 32)
	x := Encode(randomVector(rand.New(rand.NewPCG(1, 1)), 32))
	dst, allowed := make([]float32, c.Rows()), someOf(rand.New(rand.NewPCG(1, 1)), c.Rows(), .5)
	var q Query
	q.Set(x)
	if n := testing.AllocsPerRun(100, func() { q.Set(x); c.Scores(dst, &q, nil); c.Scores(dst, &q, allowed) }); n > 0 {
		t.Errorf("Scores allocates %.1f times", n)
	}
}

// BenchmarkKernels scores 10,000 rows by each kernel that this machine has.
func BenchmarkKernels(b *testing.B) {
	const rows = 10_000
	c := randomCodes(1, rows, 256)
	dst, ids := make([]float32, rows), make([]uint32, rows)
	for i := range ids {
		ids[i] = uint32(i)
	}
	var q Query
	q.Set(c.Row(rows / 2))
	for name, dots := range kernels {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				dots(c, dst, ids, &q)
			}
		})
	}
}

func BenchmarkScores(b *testing.B) {
	for _, rows := range []int{1_000, 10_000, 100_000} {
		c := randomCodes(1, rows, 256)
		dst := make([]float32, rows)
		var q Query
		q.Set(c.Row(rows / 2))
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			for b.Loop() {
				c.Scores(dst, &q, nil)
			}
		})
	}
}

// A number rounds to the nearest, and in the middle to the even one, as
// math.RoundToEven does: what is stored does not depend on the version.
func TestRoundToEven(t *testing.T) {
	for x := float32(-128); x < 127.5; x = math.Nextafter32(x+1e-4, 200) {
		if got, want := roundToEven(x), int8(math.RoundToEven(float64(x))); got != want {
			t.Fatalf("%v rounds to %d, want %d", x, got, want)
		}
	}
	for n := -127; n <= 127; n++ {
		half := float32(n) + .5
		for _, x := range []float32{half, math.Nextafter32(half, -200), math.Nextafter32(half, 200), float32(n)} {
			if x < 127.5 {
				if got, want := roundToEven(x), int8(math.RoundToEven(float64(x))); got != want {
					t.Errorf("%v rounds to %d, want %d", x, got, want)
				}
			}
		}
	}
}
