package vector

import "math"

// Unit returns v at length 1, unless it is zero or not finite.
func Unit(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(float64(x) * float64(x)) // rounded before the sum, on every processor
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	n := 1 / math.Sqrt(sum)
	if math.Abs(n-1) < 1e-6 {
		return v, true
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) * n)
	}
	return out, true
}
