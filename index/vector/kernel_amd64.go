package vector

import (
	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"
	"golang.org/x/sys/cpu"
)

var (
	floatsInHardware = vek.Info().Acceleration // AVX2 and FMA, not on macOS
	codesInHardware  = cpu.X86.HasAVX2
	bytesInHardware  = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI
)

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 {
	if floatsInHardware {
		return vek32.Dot(x, y)
	}
	return dotGo(x, y)
}

// The kernels are dotCodesGo over n ids; stride is a multiple of 64, and q has
// stride elements. That for VNNI multiplies unsigned bytes with signed ones:
// it adds 128 to every code, takes the query as two planes of bytes, the high
// ones first, and takes lift, 128 times the query's sum, off again.
//
//go:noescape
func dotBytesAVX2(dst *int32, codes *int8, ids *uint32, q *int16, n, stride int)

//go:noescape
func dotBytesVNNI(dst *int32, codes *int8, ids *uint32, q *int8, n, stride int, lift int32)

func dotCodes(dst []int32, data []int8, ids []uint32, q *codedQuery) {
	if len(ids) == 0 {
		return
	}
	dst = dst[:len(ids)]
	switch {
	case bytesInHardware:
		dotBytesVNNI(&dst[0], &data[0], &ids[0], &q.planes[0], len(ids), len(q.q), q.lift)
	case codesInHardware:
		dotBytesAVX2(&dst[0], &data[0], &ids[0], &q.q[0], len(ids), len(q.q))
	default:
		dotCodesGo(dst, data, ids, q.q)
	}
}
