package vector

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// A coding is a matrix in two layers of codes: a row is about the centre plus
// its codes, and what that leaves of it is about its codes in rest. Vectors of
// one model point more or less the same way; without what they have in common
// they are shorter, and so are the errors.
type coding struct {
	codes
	rest   codes
	centre []float32

	lost, left float64 // longest error of a row by codes, and by both layers
}

// centreRows is how many rows the centre is taken from: it need not be exact.
const centreRows = 1000

func newCoding(m Matrix) *coding {
	c := &coding{codes: newCodes(m.Dims, m.Rows()), rest: newCodes(m.Dims, m.Rows()), centre: centreOf(m)}
	var wg sync.WaitGroup
	lost, left := make([]float64, runtime.GOMAXPROCS(0)), make([]float64, runtime.GOMAXPROCS(0))
	for part := range lost {
		wg.Go(func() {
			buf := make([]float32, m.Dims)
			lo, hi := share(part, len(lost), m.Rows())
			for i := lo; i < hi; i++ {
				a, b := c.encode(i, m.Row(i), buf)
				lost[part], left[part] = max(lost[part], a), max(left[part], b)
			}
		})
	}
	wg.Wait()
	c.lost, c.left = slices.Max(lost), slices.Max(left)
	return c
}

// centreOf is about the mean of the rows.
func centreOf(m Matrix) []float32 {
	centre := make([]float32, m.Dims)
	n := min(m.Rows(), centreRows)
	for i := range n {
		for d, x := range m.Row(i * m.Rows() / n) {
			centre[d] += x / float32(n)
		}
	}
	return centre
}

// encode sets row i and returns the lengths of its errors; buf is scratch.
func (c *coding) encode(i int, x, buf []float32) (lost, left float64) {
	if peak(x) == 0 {
		return 0, 0
	}
	for d, v := range x {
		buf[d] = v - c.centre[d]
	}
	lost = c.set(i, buf)
	c.scale[i] = max(c.scale[i], math.SmallestNonzeroFloat32) // 0 would mean absent
	c.subtract(i, buf)
	return lost, c.rest.set(i, buf)
}

// A codedQuery is a query vector at two bytes a number, so that its own
// rounding adds next to nothing to the error.
type codedQuery struct {
	q            []int16
	planes       []int8 // the high bytes of q, then the low ones
	lift         int32  // 128 times the sum of q, which may wrap
	scale        float32
	lost         float64 // length of the rounding error
	base         float32 // product with the centre
	coarse, fine float32 // bounds of the errors of scores by one layer and by two
}

// prepare sets cq for the rows of c. By Cauchy and Schwarz |q·x − q'·x'| is at
// most ‖q‖‖x − x'‖ + ‖q − q'‖‖x'‖, where x, less the centre, is no longer
// than 2.
func (cq *codedQuery) prepare(c *coding, q []float32) {
	cq.set(q, c.stride)
	cq.base = dot(q, c.centre)
	const rounding = 1e-5 // of the 32-bit sums on both sides
	norm := math.Sqrt(float64(dot(q, q)))
	always := cq.lost*(2+c.lost) + rounding*max(1, norm)
	cq.coarse = float32(norm*c.lost + always)
	cq.fine = float32(norm*c.left + always)
}

// dots sets dst[i] to about the dot product of the query and row ids[i].
func (c *coding) dots(dst []float32, sums []int32, ids []uint32, q *codedQuery) {
	dotCodes(sums, c.data, ids, q)
	for i, id := range ids {
		dst[i] = 0
		if scale := c.scale[id]; scale != 0 {
			dst[i] = float32(sums[i])*(scale*q.scale) + q.base
		}
	}
}
