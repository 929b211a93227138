package vector

import "github.com/bits-and-blooms/bitset"

// A Matrix is unit vectors of Dims numbers: row i is the vector of document i.
// A row that is all zero is absent: it scores 0 and is no one's neighbour.
//
// Rows lie end to end in Data, or wherever At says, so that matrices can share
// them.
type Matrix struct {
	Dims int
	Data []float32   // rows × Dims; not looked at where there is At
	At   [][]float32 // by row
}

// Rows returns how many rows m has, absent ones included.
func (m Matrix) Rows() int {
	switch {
	case m.At != nil:
		return len(m.At)
	case m.Dims == 0:
		return 0
	}
	return len(m.Data) / m.Dims
}

// Row returns row i, which aliases m.
func (m Matrix) Row(i int) []float32 {
	if m.At != nil {
		return m.At[i]
	}
	return m.Data[i*m.Dims : (i+1)*m.Dims : (i+1)*m.Dims]
}

// present reports whether row i is not absent.
func (m Matrix) present(i int) bool { return present(m.Row(i)) }

func present(x []float32) bool {
	for _, v := range x {
		if v != 0 {
			return true
		}
	}
	return false
}

// A Hit is one found document and its dot product with the query.
type Hit struct {
	Doc   uint32
	Score float32
}

// A Searcher finds the k documents with the highest dot products with q among
// those that allowed has (nil allows all): best first, ties by lower number,
// absent rows never. The query has as many dimensions as the rows; with any
// other length nothing is found.
type Searcher interface {
	Search(q []float32, allowed *bitset.BitSet, k int) []Hit
}

var _ Searcher = (*Scan)(nil)
