//go:build !amd64

package vector

var kernels = map[string]func(c *codes, dst []float32, ids []uint32, q *codedQuery){
	"default": func(c *codes, dst []float32, ids []uint32, q *codedQuery) { c.dots(dst, ids, q, .5) },
}
