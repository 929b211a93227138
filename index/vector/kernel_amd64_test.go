package vector

import "unsafe"

// kernels are all that this machine has, with a base of .5.
var kernels = map[string]func(c *codes, dst []float32, ids []uint32, q *codedQuery){
	"default": func(c *codes, dst []float32, ids []uint32, q *codedQuery) { c.dots(dst, ids, q, .5) },
}

func init() {
	if !codesInHardware {
		return
	}
	kernels["AVX2"] = func(c *codes, dst []float32, ids []uint32, q *codedQuery) {
		dotBytesAVX2(&kernelCall{
			dst: &dst[0], codes: &c.data[0], scale: &c.scale[0], ids: &ids[0], query: unsafe.Pointer(&q.words[0]),
			n: len(ids), stride: c.stride, factor: q.scale, base: .5,
		})
	}
}
