package bm25

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// AppendNumbered appends a document to dst like [AppendDoc], but its terms as
// numbers: the differences of number(id), which must ascend with the ids.
func AppendNumbered(dst []byte, d *Doc, number func(id uint32) uint32) []byte {
	for _, n := range d.Lengths {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Terms)))
	counts, last := d.Counts, uint32(0)
	for i, id := range d.Terms {
		n := number(id)
		dst = binary.AppendUvarint(dst, uint64(n-last))
		last = n
		dst = append(dst, d.Masks[i])
		for range bits.OnesCount8(d.Masks[i]) {
			dst = binary.AppendUvarint(dst, uint64(counts[0]))
			counts = counts[1:]
		}
	}
	return dst
}

// DecodeNumbered reads a document that AppendNumbered wrote, whose numbers
// are below limit, and returns what follows it in data, which is not kept.
func DecodeNumbered(data []byte, limit uint32) (d Doc, rest []byte, err error) {
	r := reader{data: data}
	for f := range d.Lengths {
		d.Lengths[f] = uint32(r.number(math.MaxUint32))
	}
	n := r.number(uint64(len(r.data) / 2)) // a term takes two bytes or more
	d.Terms, d.Masks, d.Counts = make([]uint32, n), make([]uint8, n), make([]uint16, 0, n+n/8)
	last := uint64(0)
	for i := range d.Terms {
		step := r.number(math.MaxUint32)
		mask := r.take(1)
		last += step
		if r.bad || mask[0] == 0 || last >= uint64(limit) || i > 0 && step == 0 {
			return Doc{}, nil, fmt.Errorf("decode terms: %w", errMalformed)
		}
		d.Terms[i], d.Masks[i] = uint32(last), mask[0]
		for range bits.OnesCount8(mask[0]) {
			d.Counts = append(d.Counts, uint16(r.number(math.MaxUint16)))
		}
	}
	if r.bad {
		return Doc{}, nil, fmt.Errorf("decode terms: %w", errMalformed)
	}
	return d, r.data, nil
}
