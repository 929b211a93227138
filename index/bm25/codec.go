package bm25

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// AppendDoc appends a document to dst, its terms written out, so that any
// lexicon can take it in again:
//
//	for each of MaxFields fields: length
//	number of terms
//	for each term: length of its text, text, mask (one byte), a count for each bit of the mask
//
// All numbers but the masks are unsigned varints.
func AppendDoc(dst []byte, d *Doc, v View) []byte {
	for _, n := range d.Lengths {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Terms)))
	c := 0
	for i, id := range d.Terms {
		term := v.bytes(id)
		dst = binary.AppendUvarint(dst, uint64(len(term)))
		dst = append(dst, term...)
		dst = append(dst, d.Masks[i])
		for range bits.OnesCount8(d.Masks[i]) {
			dst = binary.AppendUvarint(dst, uint64(d.Counts[c]))
			c++
		}
	}
	return dst
}

var errMalformed = errors.New("malformed document")

// A reader takes numbers and bytes off a slice; after the first failure it
// gives zeros.
type reader struct {
	data []byte
	bad  bool
}

// number reads a varint of at most limit.
func (r *reader) number(limit uint64) uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > limit {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

// DecodeDoc reads a document that AppendDoc wrote, numbering its terms by l,
// and returns what follows it in data, which is not kept.
func DecodeDoc(data []byte, l *Lexicon) (d Doc, rest []byte, err error) {
	r := reader{data: data}
	for f := range d.Lengths {
		d.Lengths[f] = uint32(r.number(math.MaxUint32))
	}
	n := r.number(uint64(len(r.data) / 2)) // a term takes two bytes or more
	dec := decoding{ids: make([]uint32, 0, n), masks: make([]uint8, 0, n), counts: make([]uint16, 0, n+n/4)}
	ordered := true
	for range n {
		id := l.addBytes(r.take(r.number(uint64(len(r.data)))))
		mask := r.take(1)
		if r.bad || mask[0] == 0 {
			return Doc{}, nil, fmt.Errorf("decode terms: %w", errMalformed)
		}
		ordered = ordered && (len(dec.ids) == 0 || dec.ids[len(dec.ids)-1] < id)
		dec.ids = append(dec.ids, id)
		dec.masks = append(dec.masks, mask[0])
		for range bits.OnesCount8(mask[0]) {
			dec.counts = append(dec.counts, uint16(r.number(math.MaxUint16)))
		}
	}
	if r.bad {
		return Doc{}, nil, fmt.Errorf("decode terms: %w", errMalformed)
	}
	d.Terms, d.Masks, d.Counts = dec.ids, dec.masks, dec.counts
	if !ordered && !dec.sort(&d) {
		return Doc{}, nil, fmt.Errorf("decode terms: %w: a term twice", errMalformed)
	}
	return d, r.data, nil
}

// A decoding is a document's terms in the order they were written.
type decoding struct {
	ids    []uint32
	masks  []uint8
	counts []uint16
}

// sort puts the terms into d in ascending order; a term that is there twice
// is refused.
func (c *decoding) sort(d *Doc) bool {
	type place struct{ id, index, count uint32 }
	order := make([]place, len(c.ids))
	count := uint32(0)
	for i, id := range c.ids {
		order[i] = place{id, uint32(i), count}
		count += uint32(bits.OnesCount8(c.masks[i]))
	}
	slices.SortFunc(order, func(a, b place) int { return cmp.Compare(a.id, b.id) })
	d.Terms, d.Masks, d.Counts = make([]uint32, len(order)), make([]uint8, len(order)), make([]uint16, 0, count)
	for i, p := range order {
		if i > 0 && order[i-1].id == p.id {
			return false
		}
		mask := c.masks[p.index]
		d.Terms[i], d.Masks[i] = p.id, mask
		d.Counts = append(d.Counts, c.counts[p.count:p.count+uint32(bits.OnesCount8(mask))]...)
	}
	return true
}
