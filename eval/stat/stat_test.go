package stat

import (
	"math"
	"testing"
)

func TestRandomisationAgainstEnumeration(t *testing.T) {
	diffs := []float64{.5, -.1, .3, .2, 0, .4, -.05, .25}
	var nonzero []float64
	sum := 0.0
	for _, d := range diffs {
		sum += d
		if d != 0 {
			nonzero = append(nonzero, d)
		}
	}
	extreme := 0
	for mask := range 1 << len(nonzero) {
		s := 0.0
		for i, d := range nonzero {
			if mask>>i&1 == 1 {
				d = -d
			}
			s += d
		}
		if math.Abs(s) >= math.Abs(sum)-1e-12 {
			extreme++
		}
	}
	want := float64(extreme) / float64(int(1)<<len(nonzero))
	if got := Randomisation(diffs, 100_000, 7); math.Abs(got-want) > .005 {
		t.Errorf("got p = %.4f, want %.4f from all %d sign flips", got, want, 1<<len(nonzero))
	}
}

func TestRandomisationIsSeeded(t *testing.T) {
	diffs := []float64{.1, -.2, .3, .1, .4, -.1}
	if a, b := Randomisation(diffs, 1000, 1), Randomisation(diffs, 1000, 1); a != b {
		t.Errorf("one seed gave %v and %v", a, b)
	}
	if got := Randomisation([]float64{0, 0}, 100, 1); got != 1 {
		t.Errorf("no difference: got p = %v, want 1", got)
	}
}

// The worked example of Holm 1979's procedure: p sorted .005 .01 .03 .04 times
// 4 3 2 1, made monotone.
func TestHolm(t *testing.T) {
	got := Holm([]float64{.01, .04, .03, .005})
	for i, want := range []float64{.03, .06, .06, .02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("p %d: got %v, want %v", i, got[i], want)
		}
	}
}

func TestLowerBound(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{
		{0, 10, 0}, {0, 0, 0},
		{10, 10, math.Pow(.05, .1)}, // all succeed: the n-th root of alpha
		{1, 1, .05},
	} {
		if got := LowerBound(c.k, c.n); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("LowerBound(%d, %d) = %v, want %v", c.k, c.n, got, c.want)
		}
	}
	// By definition P(X ≥ k) = .05 at the bound.
	p := LowerBound(45, 50)
	tail := 0.0
	for x := 45; x <= 50; x++ {
		l, _ := math.Lgamma(51)
		a, _ := math.Lgamma(float64(x) + 1)
		b, _ := math.Lgamma(float64(50-x) + 1)
		tail += math.Exp(l - a - b + float64(x)*math.Log(p) + float64(50-x)*math.Log(1-p))
	}
	if math.Abs(tail-.05) > 1e-6 {
		t.Errorf("P(X ≥ 45 of 50) at the bound %v is %v, want .05", p, tail)
	}
}

func TestResample(t *testing.T) {
	col := make([]float64, 400)
	for i := range col {
		col[i] = float64(i % 2) // standard error of the mean .025
	}
	twice := make([]float64, len(col))
	for i, x := range col {
		twice[i] = 2 * x
	}
	means := Resample([][]float64{col, twice}, 2000, 3)
	iv := Percentiles(means[0])
	if math.Abs(iv[0]-(.5-1.96*.025)) > .006 || math.Abs(iv[1]-(.5+1.96*.025)) > .006 {
		t.Errorf("got interval %v, want about [.451 .549]", iv)
	}
	for i := range means[0] {
		if math.Abs(means[1][i]-2*means[0][i]) > 1e-12 {
			t.Fatalf("sample %d: columns do not share the draw", i)
		}
	}
	if got := Resample([][]float64{nil}, 3, 1); len(got[0]) != 3 {
		t.Errorf("no queries: got %v", got)
	}
}

func TestQuantile(t *testing.T) {
	v := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, 1: 4, .5: 2.5, .25: 1.75} {
		if got := Quantile(v, q); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if Quantile(nil, .5) != 0 || Mean(nil) != 0 {
		t.Error("nothing: want 0")
	}
}
