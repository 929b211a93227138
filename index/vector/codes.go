package vector

import "math"

// codeBlock is the number of codes that the kernels take at once; rows are
// padded to a multiple of it.
const codeBlock = 32

// A code is one number of a vector in few bits.
type code interface{ int8 | int16 }

// The greatest codes. Those of 16 bits are kept to 13, which leaves a query as
// many before the sum of their products would pass 31.
const (
	maxByte = math.MaxInt8
	maxWord = 1<<12 - 1
)

// A codes is a matrix in fewer bits: row i is about scale[i] times its codes.
// Fewer bytes mean less memory traffic, which is what bounds a scan.
type codes[C code] struct {
	dims, stride int
	limit        float32   // the greatest code
	data         []C       // rows of stride codes, zero past dims
	scale        []float32 // 0 for an absent row
}

func newCodes[C code](dims, rows int) codes[C] {
	limit := float32(maxByte)
	if _, ok := any(C(0)).(int16); ok {
		limit = maxWord
	}
	stride := (dims + codeBlock - 1) / codeBlock * codeBlock
	return codes[C]{dims: dims, stride: stride, limit: limit, data: make([]C, rows*stride), scale: make([]float32, rows)}
}

// set quantises x into row i and returns the length of what that loses.
func (c *codes[C]) set(i int, x []float32) (lost float64) {
	peak := peak(x)
	if peak == 0 {
		return 0
	}
	c.scale[i] = peak / c.limit
	row, factor, lift := c.data[i*c.stride:][:len(x)], c.limit/peak, int32(c.limit)+1
	half := float32(lift) + .5
	var sums [2]float32 // two, so that one add need not wait for the other
	for d, v := range x {
		// Rounding by way of positive numbers costs no function call.
		v *= factor
		code := int32(v+half) - lift
		row[d] = C(code)
		diff := v - float32(code)
		sums[d%2] += diff * diff
	}
	// A little more covers the rounding of the sum itself.
	return math.Sqrt(float64(sums[0]+sums[1])) * float64(c.scale[i]) * 1.001
}

// peak returns the greatest absolute value in x. The bits of positive floats
// are in the order of the floats.
func peak(x []float32) float32 {
	var bits uint32
	for _, v := range x {
		bits = max(bits, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(bits)
}

// A codedQuery is a query vector at two bytes a number, so that its own
// rounding adds next to nothing to the error.
type codedQuery struct {
	q     []int16
	scale float32
	lost  float64 // length of the rounding error
}

// set quantises x for rows of that stride with codes up to limit.
func (cq *codedQuery) set(x []float32, stride int, limit float32) {
	peak, sum := float64(peak(x)), 0.0
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	cq.q = append(cq.q[:0], make([]int16, stride)...)
	cq.scale, cq.lost = 0, 0
	if peak == 0 {
		return
	}
	// Besides fitting 16 bits, no sum of products with codes may pass 31 bits.
	factor := min((math.MaxInt16-1)/peak, (math.MaxInt32/float64(limit)-float64(stride))/sum)
	cq.scale = float32(1 / factor)
	for d, v := range x {
		cq.q[d] = int16(math.RoundToEven(float64(v) * factor))
		diff := float64(v) - float64(cq.q[d])*float64(cq.scale)
		cq.lost += diff * diff
	}
	cq.lost = math.Sqrt(cq.lost)
}

// dots sets dst[i] to about the dot product of the query and row ids[i].
func (c *codes[C]) dots(dst []float32, sums []int32, ids []uint32, q *codedQuery) {
	dotCodes(sums, c.data, ids, q.q)
	for i, id := range ids {
		dst[i] = float32(sums[i]) * (c.scale[id] * q.scale)
	}
}
