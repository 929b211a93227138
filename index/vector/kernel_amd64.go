package vector

import (
	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"
	"golang.org/x/sys/cpu"
)

var (
	floatsInHardware = vek.Info().Acceleration // AVX2 and FMA, not on macOS
	codesInHardware  = cpu.X86.HasAVX2
)

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 {
	if floatsInHardware {
		return vek32.Dot(x, y)
	}
	return dotGo(x, y)
}

// The kernels are dotCodesGo over n ids; stride is a multiple of 32, and q has
// stride elements.
//
//go:noescape
func dotBytesAVX2(dst *int32, codes *int8, ids *uint32, q *int16, n, stride int)

//go:noescape
func dotWordsAVX2(dst *int32, codes *int16, ids *uint32, q *int16, n, stride int)

func dotCodes[C code](dst []int32, data []C, ids []uint32, q []int16) {
	if !codesInHardware || len(ids) == 0 {
		dotCodesGo(dst, data, ids, q)
		return
	}
	dst = dst[:len(ids)]
	switch data := any(data).(type) {
	case []int8:
		dotBytesAVX2(&dst[0], &data[0], &ids[0], &q[0], len(ids), len(q))
	case []int16:
		dotWordsAVX2(&dst[0], &data[0], &ids[0], &q[0], len(ids), len(q))
	}
}
