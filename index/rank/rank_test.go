package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWeights(t *testing.T) {
	f := Fusion{Lambda: .4, Gamma: .2}
	for _, c := range []struct {
		mode                        Mode
		upper                       float64
		keyword, cosine, prior, has float64
		none                        float64
	}{
		{Keyword, 8, 4, .9, .9, .5, .5},
		{Semantic, 8, 4, .9, .5, .9, 0},
		{Semantic, 8, 4, -.1, .5, 0, 0},
		{Hybrid, 8, 4, .5, .25, (.4*.5 + .6*.5 + .2*.25) / 1.2, .5},
		{Hybrid, 8, 4, -.5, -.25, .4 * .5 / 1.2, .5},
		{Hybrid, 0, 0, .5, 0, .6 * .5 / 1.2, 0},
		{Keyword, 3, 3.0001, 0, 0, 1, 1},
	} {
		w := Weigh(c.mode, f, c.upper)
		if got := w.Score(c.keyword, c.cosine, c.prior); math.Abs(got-c.has) > 1e-12 {
			t.Errorf("%+v: scores %v", c, got)
		}
		if got := w.Words(c.keyword); c.mode != Semantic && math.Abs(got-c.none) > 1e-12 {
			t.Errorf("%+v: scores %v without a vector", c, got)
		}
	}
	if Named(0) <= .98 || Named(.3) <= Named(.2) || Named(1) != 1 || Named(NoResult) != Named(0) {
		t.Error("a named tool is not above the others, in the same order")
	}
}

func TestTopEqualsSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var all []Hit
		var top Top
		k := r.IntN(12)
		top.Reset(k)
		for d := range r.IntN(40) {
			h := Hit{uint32(d), float64(r.IntN(10))}
			all = append(all, h)
			top.Offer(h)
		}
		slices.SortFunc(all, func(a, b Hit) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		if want := all[:min(k, len(all))]; !slices.Equal(want, top.Hits) {
			t.Fatalf("best %d: got %v, want %v", k, top.Hits, want)
		}
		if want := math.Inf(-1); len(all) < k && top.Least() != want || len(all) >= k && k > 0 && top.Least() != all[k-1].Score {
			t.Fatalf("least of %v is %v", top.Hits, top.Least())
		}
	}
}
