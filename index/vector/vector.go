// Package vector finds nearest neighbours among unit vectors by their codes.
//
// A vector is kept, searched and scored as its [Code]: one signed byte a
// number with one scale. A query is coded alike, and the cosine of two codes
// is the product of their scales and of an integer, the same on every
// processor. There is no other form and nothing to make more exact: on eleven
// labelled sets codes found as much as floats did, and no cosine was off by
// more than .006.
//
// [Codes] are many vectors, a row each; their Near looks at every row. Package
// hnsw searches more of them than that is good for.
package vector

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/rank"
)

// A Code is about the vector Scale times its numbers. One of scale 0 is
// absent: it scores 0 and is no one's neighbour.
type Code struct {
	Scale   float32
	Numbers []int8
}

// Encode rounds a vector to its code; one that is all zero is absent.
func Encode(x []float32) Code {
	most := uint32(0) // bits of floats without a sign are ordered as the floats are
	for _, v := range x {
		most = max(most, math.Float32bits(v)&math.MaxInt32)
	}
	peak := math.Float32frombits(most)
	c := Code{Numbers: make([]int8, len(x))}
	if peak == 0 {
		return c
	}
	c.Scale = peak / math.MaxInt8
	factor := math.MaxInt8 / peak
	for i, v := range x {
		c.Numbers[i] = roundToEven(float32(v * factor)) // rounded before the sum, on every processor
	}
	return c
}

// roundToEven rounds a number between -2²² and 2²²: beside 1.5·2²³ a float has
// no bits left for its fraction.
func roundToEven(x float32) int8 {
	const beside = 3 << 22
	return int8(x + beside - beside)
}

// Append appends the code to dst as DecodeCode reads it: the scale as a
// little-endian 32-bit float, then the numbers.
func (c Code) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(c.Scale))
	for _, n := range c.Numbers {
		dst = append(dst, byte(n))
	}
	return dst
}

// DecodeCode reads a code of that many numbers, unless data cannot be one. It
// keeps nothing of data.
func DecodeCode(data []byte, dims int) (c Code, ok bool) {
	if len(data) != 4+dims {
		return c, false
	}
	c = Code{math.Float32frombits(binary.LittleEndian.Uint32(data)), make([]int8, dims)}
	for i, b := range data[4:] {
		c.Numbers[i] = int8(b)
	}
	return c, c.Scale > 0 && c.Scale <= math.MaxFloat32
}

// AddTo adds the vector to sum.
func (c Code) AddTo(sum []float32) {
	for i, n := range c.Numbers {
		sum[i] += float32(float32(n) * c.Scale) // rounded before the sum, on every processor
	}
}

// blockCodes is the number of codes that the kernels take at once; rows are
// padded to a multiple of it.
const blockCodes = 64

func strideOf(dims int) int { return (dims + blockCodes - 1) / blockCodes * blockCodes }

// Codes are vectors of as many numbers each, all absent at first. They are
// safe for concurrent use once they are set.
type Codes struct {
	dims, stride int
	data         []int8    // rows of stride numbers, zero past dims
	scale        []float32 // by row
}

// NewCodes makes room for rows vectors of dims numbers.
func NewCodes(rows, dims int) *Codes {
	stride := strideOf(dims)
	return &Codes{dims: dims, stride: stride, data: make([]int8, rows*stride), scale: make([]float32, rows)}
}

// Dims returns how many numbers each vector has.
func (c *Codes) Dims() int { return c.dims }

// Rows returns how many vectors there are, absent ones included.
func (c *Codes) Rows() int { return len(c.scale) }

// Has says whether row i is not absent.
func (c *Codes) Has(i int) bool { return c.scale[i] != 0 }

// Set copies a code into row i.
func (c *Codes) Set(i int, code Code) {
	copy(c.data[i*c.stride:][:c.dims], code.Numbers)
	c.scale[i] = code.Scale
}

// Row is row i, which aliases c.
func (c *Codes) Row(i int) Code {
	return Code{c.scale[i], c.data[i*c.stride:][:c.dims:c.dims]}
}

// A Query is a code made ready to be compared with rows. It may be used by any
// number of goroutines once it is set.
type Query struct {
	numbers []int8 // as long as a row's
	lift    int32  // 128 times their sum
	scale   float32
}

// Set makes q ready for a code, which is copied.
func (q *Query) Set(c Code) {
	stride := strideOf(len(c.Numbers))
	if cap(q.numbers) < stride {
		q.numbers = make([]int8, stride)
	}
	q.numbers, q.scale, q.lift = q.numbers[:stride], c.Scale, 0
	clear(q.numbers[copy(q.numbers, c.Numbers):])
	for _, n := range c.Numbers {
		q.lift += 128 * int32(n)
	}
}

// A window goes through the allowed rows, some at a time.
type window struct {
	allowed    *bitset.BitSet // nil allows all
	next, rows uint
	ids        [256]uint32
}

// more returns the rows that come next, none at the end.
func (w *window) more() []uint32 {
	n := 0
	for ; w.next < w.rows && n+64 <= len(w.ids); w.next += 64 {
		word := w.word()
		if word == math.MaxUint64 { // as almost all are, mostly
			for i := range uint(64) {
				w.ids[n+int(i)] = uint32(w.next + i)
			}
			n += 64
			continue
		}
		for ; word != 0; word &= word - 1 {
			w.ids[n] = uint32(w.next) + uint32(bits.TrailingZeros64(word))
			n++
		}
	}
	return w.ids[:n]
}

// word has a bit for each of the 64 rows from next on.
func (w *window) word() uint64 {
	word := uint64(math.MaxUint64)
	if w.allowed != nil {
		words := w.allowed.Words()
		if w.next/64 >= uint(len(words)) {
			return 0
		}
		word = words[w.next/64]
	}
	if left := w.rows - w.next; left < 64 {
		word &= 1<<left - 1
	}
	return word
}

// Scores sets dst[i] to the score of every row i that allowed has; nil allows
// all. Others are left alone.
func (c *Codes) Scores(dst []float32, q *Query, allowed *bitset.BitSet) {
	w := window{allowed: allowed, rows: uint(c.Rows())}
	for ids := w.more(); len(ids) > 0; ids = w.more() {
		c.ScoresOf(dst, q, ids)
	}
}

// ScoresOf is Scores of some rows.
func (c *Codes) ScoresOf(dst []float32, q *Query, ids []uint32) {
	var scores [256]float32
	for len(ids) > 0 {
		some := ids[:min(len(ids), len(scores))]
		c.Dots(scores[:len(some)], some, q)
		for i, id := range some {
			dst[id] = scores[i]
		}
		ids = ids[len(some):]
	}
}

// Score is the score of one row.
func (c *Codes) Score(i uint32, q *Query) float32 {
	var score [1]float32
	c.Dots(score[:], []uint32{i}, q)
	return score[0]
}

// Near returns the best k of the allowed rows, best first, absent ones never.
// A query of other dimensions finds nothing.
func (c *Codes) Near(q *Query, allowed *bitset.BitSet, k int) []rank.Hit {
	if k <= 0 || len(q.numbers) != c.stride {
		return nil
	}
	var top rank.Top
	top.Reset(min(k, c.Rows()))
	var scores [256]float32
	w := window{allowed: allowed, rows: uint(c.Rows())}
	for ids := w.more(); len(ids) > 0; ids = w.more() {
		c.Dots(scores[:len(ids)], ids, q)
		least := top.Least()
		for i, id := range ids {
			if score := float64(scores[i]); score >= least && c.scale[id] != 0 {
				top.Offer(rank.Hit{Doc: id, Score: score})
				least = top.Least()
			}
		}
	}
	return top.Hits
}

// dotsGo is Dots where there is no kernel for it.
func (c *Codes) dotsGo(dst []float32, ids []uint32, q *Query) {
	for i, id := range ids {
		sum := int32(0)
		row := c.data[int(id)*c.stride:][:c.stride]
		for j := 0; j+8 <= len(row); j += 8 { // rows are padded with zeros
			a, b := (*[8]int8)(row[j:]), (*[8]int8)(q.numbers[j:])
			sum += int32(a[0])*int32(b[0]) + int32(a[1])*int32(b[1]) + int32(a[2])*int32(b[2]) + int32(a[3])*int32(b[3]) +
				int32(a[4])*int32(b[4]) + int32(a[5])*int32(b[5]) + int32(a[6])*int32(b[6]) + int32(a[7])*int32(b[7])
		}
		dst[i] = float32(sum) * (c.scale[id] * q.scale)
	}
}
