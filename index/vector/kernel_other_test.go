//go:build !amd64

package vector

// kernels are all that this machine has.
var kernels = map[string]func(c *Codes, dst []float32, ids []uint32, q *Query){"default": (*Codes).Dots}
