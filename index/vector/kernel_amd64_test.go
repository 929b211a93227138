package vector

// kernels are all that this machine has.
var kernels = map[string]func(c *Codes, dst []float32, ids []uint32, q *Query){
	"default": (*Codes).Dots, "portable": (*Codes).dotsGo,
}

func init() {
	if !hasAVX2 {
		return
	}
	kernels["AVX2"] = func(c *Codes, dst []float32, ids []uint32, q *Query) {
		dotsAVX2(&kernelCall{
			dst: &dst[0], codes: &c.data[0], scale: &c.scale[0], ids: &ids[0], query: &q.numbers[0],
			n: len(ids), stride: c.stride, factor: q.scale,
		})
	}
}
