package vector

import "golang.org/x/sys/cpu"

var (
	hasAVX2 = cpu.X86.HasAVX2
	hasVNNI = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI
)

// A kernelCall is what the kernels, in assembly, are called with. They know its
// layout.
type kernelCall struct {
	dst    *float32
	codes  *int8
	scale  *float32
	ids    *uint32
	query  *int8
	n      int
	stride int // a multiple of 64
	lift   int32
	factor float32
}

//go:noescape
func dotsAVX2(call *kernelCall)

//go:noescape
func dotsVNNI(call *kernelCall)

// Dots sets dst to the scores of some rows. The query has as many numbers as
// they.
func (c *Codes) Dots(dst []float32, ids []uint32, q *Query) {
	if len(ids) == 0 {
		return
	}
	if !hasAVX2 || c.stride == 0 || len(q.numbers) != c.stride {
		c.dotsGo(dst, ids, q)
		return
	}
	dst = dst[:len(ids)]
	call := kernelCall{
		dst: &dst[0], codes: &c.data[0], scale: &c.scale[0], ids: &ids[0], query: &q.numbers[0],
		n: len(ids), stride: c.stride, lift: q.lift, factor: q.scale,
	}
	if hasVNNI {
		dotsVNNI(&call)
	} else {
		dotsAVX2(&call)
	}
}
