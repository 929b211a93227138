package blend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomBlock(r *rand.Rand, n int) Block {
	b := Block{Scores: make([]float32, n), Priors: make([]float32, 1+n/10)}
	for range n {
		keyword := float32(0)
		if r.IntN(3) == 0 {
			keyword = r.Float32()
		}
		b.Keywords = append(b.Keywords, keyword)
		b.Cosines = append(b.Cosines, r.Float32()-.3)
		b.Sizes = append(b.Sizes, r.Float32())
		b.Servers = append(b.Servers, r.Uint32N(uint32(len(b.Priors))))
	}
	for i := range b.Priors {
		b.Priors[i] = r.Float32() / 10
	}
	return b
}

func randomWeights(r *rand.Rand) Weights {
	w := Weights{r.Float32(), r.Float32(), r.Float32() / 1000, r.Float32() / 50, r.Float32() / 100, r.Float32(), r.Float32()}
	if r.IntN(4) == 0 {
		w.Least = float32(math.Inf(-1))
	}
	return w
}

// TestRun compares every document with what its own numbers say.
func TestRun(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, 8, 9, 64, 65, 1000, 1024} {
		b, w := randomBlock(r, n), randomWeights(r)
		marks := make([]uint64, n/64+1)
		marks[n/64] = 1 << 63 // left by whoever used them before
		above, want := b.Run(&w, marks), 0
		for i := range n {
			score := w.Keyword*b.Keywords[i] + w.Cosine*max(0, b.Cosines[i]) + b.Priors[b.Servers[i]]
			if math.Abs(float64(score-b.Scores[i])) > 1e-6 {
				t.Fatalf("document %d of %d scores %g, want %g", i, n, b.Scores[i], score)
			}
			within := w.Fixed + w.Slope*b.Sizes[i] + w.Relative*b.Scores[i]
			look := math.Abs(float64(b.Scores[i]-w.Floor)) <= float64(within) || b.Scores[i]+within >= w.Least
			if marked := marks[i/64]>>(i%64)&1 == 1; marked != look {
				t.Fatalf("document %d of %d: marked %v, want %v", i, n, marked, look)
			}
			if !look && b.Scores[i] > w.Floor {
				want++
			}
		}
		if above != want {
			t.Errorf("%d documents: %d above the floor, want %d", n, above, want)
		}
		if left := marks[n/64] >> (n % 64); left != 0 {
			t.Errorf("%d documents: bits past the last are %b", n, left)
		}
	}
}

// TestKernel compares what the processor does eight at a time with the loop.
func TestKernel(t *testing.T) {
	if !fast {
		t.Skip("this processor takes one document after the other")
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		x, w := randomBlock(r, 8*r.IntN(60)), randomWeights(r)
		y := x
		y.Scores = make([]float32, len(x.Scores))
		got, want := make([]uint64, 10), make([]uint64, 10)
		if a, b := x.Run(&w, got), y.run(&w, want, 0); a != b || !slices.Equal(got, want) || !slices.Equal(x.Scores, y.Scores) {
			t.Fatalf("%d documents: %d above, want %d; marks %x, want %x", len(x.Scores), a, b, got, want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	block := randomBlock(r, 1024)
	w := Weights{Keyword: .4, Cosine: .4, Fixed: 1e-4, Slope: 2e-3, Floor: .2, Least: .6}
	marks := make([]uint64, 16)
	for _, c := range []struct {
		name string
		run  func() int
	}{
		{"fast", func() int { return block.Run(&w, marks) }},
		{"portable", func() int { clear(marks); return block.run(&w, marks, 0) }},
	} {
		b.Run(fmt.Sprint(c.name, "/docs=", len(block.Scores)), func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
	}
}
