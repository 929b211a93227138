package vector

import (
	"unsafe"

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

// A kernelCall is what the kernels, in assembly, are called with. They know its
// layout.
type kernelCall struct {
	dst    *float32
	codes  *int8
	scale  *float32
	ids    *uint32
	query  unsafe.Pointer // to words, or to planes
	n      int
	stride int // a multiple of 64
	lift   int32
	factor float32
	base   float32
}

//go:noescape
func dotBytesAVX2(call *kernelCall)

//go:noescape
func dotBytesVNNI(call *kernelCall)

func (c *codes) dots(dst []float32, ids []uint32, q *codedQuery, base float32) {
	if len(ids) == 0 {
		return
	}
	if !codesInHardware || c.stride == 0 {
		c.dotsGo(dst, ids, q, base)
		return
	}
	dst = dst[:len(ids)]
	call := kernelCall{
		dst: &dst[0], codes: &c.data[0], scale: &c.scale[0], ids: &ids[0],
		n: len(ids), stride: c.stride, lift: q.lift, factor: q.scale, base: base,
	}
	if bytesInHardware {
		call.query = unsafe.Pointer(&q.planes[0])
		dotBytesVNNI(&call)
	} else {
		call.query = unsafe.Pointer(&q.words[0])
		dotBytesAVX2(&call)
	}
}
