package vector

import "math"

// codeBlock is the number of codes that the kernels take at once; rows are
// padded to a multiple of it.
const codeBlock = 64

// The greatest numbers of a code and of a coded query; the latter leaves its
// high byte room for a carry from the low one.
const (
	maxCode = math.MaxInt8
	maxWord = maxCode << 8
)

// A codes is a matrix at one byte a number: row i is about scale[i] times its
// codes. Fewer bytes are fewer instructions and less memory traffic.
type codes struct {
	dims, stride int
	data         []int8    // rows of stride codes, zero past dims
	scale        []float32 // 0 for an absent row
}

func newCodes(dims, rows int) codes {
	stride := (dims + codeBlock - 1) / codeBlock * codeBlock
	return codes{dims: dims, stride: stride, data: make([]int8, rows*stride), scale: make([]float32, rows)}
}

// set quantises x into row i and returns the length of what that loses, in
// units of the row's scale.
func (c *codes) set(i int, x []float32) (steps float64) {
	peak := peak(x)
	if peak == 0 {
		return 0
	}
	c.scale[i] = peak / maxCode
	row, factor := c.data[i*c.stride:][:len(x)], maxCode/peak
	const lift = maxCode + 1
	var sums [2]float32 // two, so that one add need not wait for the other
	for d, v := range x {
		// Rounding by way of positive numbers costs no function call.
		v *= factor
		code := int32(v+lift+.5) - lift
		row[d] = int8(code)
		diff := v - float32(code)
		sums[d%2] += diff * diff
	}
	// A little more covers the rounding of the sum itself.
	return math.Sqrt(float64(sums[0]+sums[1])) * 1.001
}

// subtract takes what row i stands for off x.
func (c *codes) subtract(i int, x []float32) {
	scale := c.scale[i]
	for d, code := range c.data[i*c.stride:][:len(x)] {
		x[d] -= float32(code) * scale
	}
}

// from are the rows from row i on, numbered from 0.
func (c *codes) from(i int) codes {
	return codes{dims: c.dims, stride: c.stride, data: c.data[i*c.stride:], scale: c.scale[i:]}
}

// take copies n rows from row j of other on to row i and the following.
func (c *codes) take(i int, other *codes, j, n int) {
	copy(c.data[i*c.stride:], other.data[j*c.stride:(j+n)*c.stride])
	copy(c.scale[i:], other.scale[j:j+n])
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

// set quantises x for rows of that stride.
func (cq *codedQuery) set(x []float32, stride int) {
	cq.words = append(cq.words[:0], make([]int16, stride)...)
	cq.scale, cq.lost = 0, 0
	if peak := float64(peak(x)); peak > 0 {
		sum := 0.0
		for _, v := range x {
			sum += math.Abs(float64(v))
		}
		// Besides fitting 16 bits, no sum of products with codes may pass 31 bits.
		cq.round(x, min(maxWord/peak, (math.MaxInt32/maxCode-float64(stride))/sum))
	}
	cq.split()
}

// round sets words to x times factor.
func (cq *codedQuery) round(x []float32, factor float64) {
	cq.scale = float32(1 / factor)
	for d, v := range x {
		cq.words[d] = int16(math.RoundToEven(float64(v) * factor))
		diff := float64(v) - float64(cq.words[d])*float64(cq.scale)
		cq.lost += diff * diff
	}
	cq.lost = math.Sqrt(cq.lost)
}

// split sets planes and lift.
func (cq *codedQuery) split() {
	n := len(cq.words)
	cq.planes = append(cq.planes[:0], make([]int8, 2*n)...)
	cq.lift = 0
	for d, v := range cq.words {
		low := int8(v)
		cq.planes[d], cq.planes[n+d] = int8((v-int16(low))>>8), low
		cq.lift += 128 * int32(v)
	}
}
