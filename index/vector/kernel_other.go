//go:build !amd64

package vector

const codesInHardware = false

// dot returns the dot product of x and y, which are of one length.
func dot(x, y []float32) float32 { return dotGo(x, y) }

func (c *codes) dots(dst []float32, ids []uint32, q *codedQuery, base float32) {
	c.dotsGo(dst, ids, q, base)
}
