package vector

import "github.com/bits-and-blooms/bitset"

// A Matrix is a flat, row-major matrix of unit vectors: row i is the vector
// of document i, len(Data) is rows × Dims. A row that is all zero is absent:
// it scores 0 and is no one's neighbour.
type Matrix struct {
	Dims int
	Data []float32
}

// Rows returns how many rows m has, absent ones included.
func (m Matrix) Rows() int {
	if m.Dims == 0 {
		return 0
	}
	return len(m.Data) / m.Dims
}

// Row returns row i, which aliases m.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Dims : (i+1)*m.Dims : (i+1)*m.Dims] }

// present reports whether row i is not absent.
func (m Matrix) present(i int) bool {
	for _, x := range m.Row(i) {
		if x != 0 {
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
