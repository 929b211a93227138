//go:build !amd64

package vector

// Dots sets dst to the scores of some rows. The query has as many numbers as
// they.
func (c *Codes) Dots(dst []float32, ids []uint32, q *Query) { c.dotsGo(dst, ids, q) }
