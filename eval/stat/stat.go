// Package stat holds the statistics that ranking figures are judged by:
// bootstrap intervals over queries, the paired randomisation test, Holm's
// correction and the exact bound of a proportion. Everything random is seeded:
// the same input gives the same output on every machine.
package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Source returns the generator that all of this package draws from.
func Source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// Mean is the arithmetic mean, 0 of nothing.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Resample draws n bootstrap samples of the queries and returns the mean of
// each column over each sample: out[column][sample]. Columns are as long as
// each other, one value a query, and share the draws.
func Resample(columns [][]float64, n int, seed uint64) [][]float64 {
	out := make([][]float64, len(columns))
	for c := range out {
		out[c] = make([]float64, n)
	}
	if len(columns) == 0 || len(columns[0]) == 0 {
		return out
	}
	r := Source(seed)
	queries := len(columns[0])
	times := make([]float64, queries)
	for s := range n {
		clear(times)
		for range queries {
			times[r.IntN(queries)]++
		}
		for c, col := range columns {
			sum := 0.0
			for q, x := range col {
				sum += times[q] * x
			}
			out[c][s] = sum / float64(queries)
		}
	}
	return out
}

// An Interval is a two-sided 95 % confidence interval.
type Interval [2]float64

// Percentiles is the percentile bootstrap interval of resampled means.
func Percentiles(means []float64) Interval {
	s := slices.Sorted(slices.Values(means))
	return Interval{Quantile(s, .025), Quantile(s, .975)}
}

// Quantile interpolates linearly between the order statistics of an ascending
// slice; 0 of nothing.
func Quantile(ascending []float64, q float64) float64 {
	if len(ascending) == 0 {
		return 0
	}
	at := q * float64(len(ascending)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(ascending)-1)
	return ascending[lo] + (at-float64(lo))*(ascending[hi]-ascending[lo])
}

// Randomisation is the two-sided p-value of Fisher's paired randomisation
// test that differences have mean zero: each difference keeps or flips its
// sign with probability one half (Smucker, Allan, Carterette 2007). The sample
// as observed counts among the permutations, so p is never 0.
func Randomisation(diffs []float64, permutations int, seed uint64) float64 {
	var moved []float64
	observed := 0.0
	for _, d := range diffs {
		if d != 0 {
			moved = append(moved, d)
			observed += d
		}
	}
	if len(moved) == 0 {
		return 1
	}
	observed = math.Abs(observed)
	r := Source(seed)
	extreme := 1
	for range permutations {
		// Sums in another order differ in the last bits; a tie must count.
		if math.Abs(flipped(moved, r)) >= observed*(1-1e-12) {
			extreme++
		}
	}
	return float64(extreme) / float64(permutations+1)
}

func flipped(v []float64, r *rand.Rand) float64 {
	sum := 0.0
	var bits uint64
	for i, x := range v {
		if i%64 == 0 {
			bits = r.Uint64()
		}
		sum += math.Float64frombits(math.Float64bits(x) ^ bits<<63)
		bits >>= 1
	}
	return sum
}

// Holm adjusts p-values for having been looked at together; order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	worst := 0.0
	for i, at := range order {
		worst = max(worst, min(1, p[at]*float64(len(p)-i)))
		out[at] = worst
	}
	return out
}

// LowerBound is the one-sided 95 % lower confidence bound of a proportion
// with k successes of n (Clopper and Pearson 1934).
func LowerBound(k, n int) float64 {
	if k <= 0 || n <= 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(k), Beta: float64(n-k) + 1}.Quantile(.05)
}
