package vector

import (
	"math"
	"runtime"
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
	extent
}

// An extent is the greatest of what rows come to.
type extent struct {
	widest  float32 // scale
	longest float64 // length, less the centre
	steps   float64 // length of the error by codes, in units of the scale
	left    float64 // length of the error by both layers
}

func (e *extent) include(o extent) {
	e.widest, e.longest = max(e.widest, o.widest), max(e.longest, o.longest)
	e.steps, e.left = max(e.steps, o.steps), max(e.left, o.left)
}

// centreRows is how many rows the centre is taken from: it need not be exact.
const centreRows = 1000

func newCoding(m Matrix) *coding {
	c := &coding{codes: newCodes(m.Dims, m.Rows()), rest: newCodes(m.Dims, m.Rows()), centre: centreOf(m)}
	var wg sync.WaitGroup
	extents := make([]extent, runtime.GOMAXPROCS(0))
	for part := range extents {
		wg.Go(func() {
			buf := make([]float32, m.Dims)
			lo, hi := share(part, len(extents), m.Rows())
			for i := lo; i < hi; i++ {
				extents[part].include(c.encode(i, m.Row(i), buf))
			}
		})
	}
	wg.Wait()
	for _, e := range extents {
		c.include(e)
	}
	return c
}

// rebase is the coding of a matrix that shares rows with that of c. The centre
// stays.
func (c *coding) rebase(m Matrix, from []uint32) *coding {
	d := &coding{codes: newCodes(m.Dims, m.Rows()), rest: newCodes(m.Dims, m.Rows()), centre: c.centre, extent: c.extent}
	buf := make([]float32, m.Dims)
	for i := 0; i < len(from); {
		if from[i] == None {
			d.include(d.encode(i, m.Row(i), buf))
			i++
			continue
		}
		n := 1
		for i+n < len(from) && from[i+n] == from[i]+uint32(n) {
			n++
		}
		d.codes.take(i, &c.codes, int(from[i]), n)
		d.rest.take(i, &c.rest, int(from[i]), n)
		i += n
	}
	return d
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

// encode sets row i; buf is scratch.
func (c *coding) encode(i int, x, buf []float32) (e extent) {
	if !present(x) {
		return e
	}
	for d, v := range x {
		buf[d] = v - c.centre[d]
	}
	e.longest = math.Sqrt(float64(dot(buf, buf))) * 1.001 // for the rounding of the sum
	e.steps = c.set(i, buf)
	c.scale[i] = max(c.scale[i], math.SmallestNonzeroFloat32) // 0 would mean absent
	e.widest = c.scale[i]
	c.subtract(i, buf)
	e.left = c.rest.set(i, buf) * float64(c.rest.scale[i])
	return e
}

// A codedQuery is a query vector at two bytes a number, so that its own
// rounding adds next to nothing to the error.
type codedQuery struct {
	words  []int16
	planes []int8 // the high bytes of words, then the low ones
	lift   int32  // 128 times the sum of words, which may wrap
	scale  float32
	lost   float64 // length of the rounding error
	base   float32 // product with the centre
	errors Errors  // but for the sizes
}

// prepare sets cq for the rows of c. By Cauchy and Schwarz |q·x − q'·x'| is at
// most ‖q'‖‖x − x'‖ + ‖q − q'‖‖x‖, where x, less the centre, is no longer
// than 2.
func (cq *codedQuery) prepare(c *coding, q []float32) {
	cq.set(q, c.stride)
	cq.base = dot(q, c.centre)
	const rounding = 1e-5 // of the 32-bit sums on both sides
	norm := math.Sqrt(float64(dot(q, q)))
	fixed := cq.lost*c.longest + rounding*max(1, norm)
	cq.errors.Fixed = float32(fixed)
	cq.errors.Slope = float32((norm + cq.lost) * c.steps)
	cq.errors.Sharpened = float32((norm+cq.lost)*c.left + fixed)
}

// inOrder are the numbers of rows that follow each other.
var inOrder = func() (ids [1024]uint32) {
	for i := range ids {
		ids[i] = uint32(i)
	}
	return ids
}()

// run sets dst[i] to about the dot product of the query and row i, for all
// rows from lo on that dst has.
func (c *coding) run(dst []float32, lo int, q *codedQuery) {
	for ; lo < len(dst); lo += len(inOrder) {
		n := min(len(inOrder), len(dst)-lo)
		rows := c.codes.from(lo)
		rows.dots(dst[lo:lo+n], inOrder[:n], q, q.base)
	}
}
