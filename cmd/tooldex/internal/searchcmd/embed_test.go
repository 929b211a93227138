package searchcmd

import "testing"

func TestCosine(t *testing.T) {
	for _, k := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{1, 0}, []float32{2, 0}, 1}, {[]float32{1, 0}, []float32{0, 3}, 0}, {[]float32{1, 1}, []float32{-1, -1}, -1}, {nil, []float32{1}, 0},
	} {
		if got := cosine(k.a, k.b); got < k.want-1e-9 || got > k.want+1e-9 {
			t.Errorf("cosine %v %v: got %v, want %v", k.a, k.b, got, k.want)
		}
	}
}
