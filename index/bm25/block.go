package bm25

import (
	"errors"
	"fmt"
	"math/bits"
)

var errMalformed = errors.New("malformed documents")

// A Block is many documents in a few flat arrays, which are quick to write,
// to read and to allocate.
type Block struct {
	Sizes   []uint32 // by document: how many terms it has
	Lengths []uint32 // by document: MaxFields lengths
	Terms   []uint32 // of one document after the other, as are the others
	Masks   []uint8
	Counts  []uint16
}

// Append adds a document, its terms numbered by number, which must ascend
// with the ids.
func (b *Block) Append(d *Doc, number func(id uint32) uint32) {
	b.Sizes = append(b.Sizes, uint32(len(d.Terms)))
	b.Lengths = append(b.Lengths, d.Lengths[:]...)
	for _, id := range d.Terms {
		b.Terms = append(b.Terms, number(id))
	}
	b.Masks = append(b.Masks, d.Masks...)
	b.Counts = append(b.Counts, d.Counts...)
}

// Docs cuts the documents, whose terms are below limit, out of the block. It
// refuses a block that Append cannot have made.
func (b *Block) Docs(limit uint32) ([]Doc, error) {
	docs := make([]Doc, len(b.Sizes))
	terms, masks, counts := b.Terms, b.Masks, b.Counts
	if len(terms) != len(masks) || len(b.Lengths) != MaxFields*len(docs) {
		return nil, fmt.Errorf("cut documents: %w", errMalformed)
	}
	for i, n := range b.Sizes {
		if int(n) > len(terms) {
			return nil, fmt.Errorf("cut documents: %w", errMalformed)
		}
		d := &docs[i]
		d.Lengths = [MaxFields]uint32(b.Lengths[i*MaxFields:])
		d.Terms, terms = terms[:n:n], terms[n:]
		d.Masks, masks = masks[:n:n], masks[n:]
		c, ok := d.sound(limit)
		if !ok || c > len(counts) {
			return nil, fmt.Errorf("cut documents: %w", errMalformed)
		}
		d.Counts, counts = counts[:c:c], counts[c:]
	}
	if len(terms)+len(counts) > 0 {
		return nil, fmt.Errorf("cut documents: %w", errMalformed)
	}
	return docs, nil
}

// sound says whether a document's terms ascend below limit and each is in
// some field, and how many counts that needs.
func (d *Doc) sound(limit uint32) (counts int, ok bool) {
	next := uint32(0)
	for _, t := range d.Terms {
		if t < next || t >= limit {
			return 0, false
		}
		next = t + 1
	}
	for _, mask := range d.Masks {
		if mask == 0 {
			return 0, false
		}
		counts += bits.OnesCount8(mask)
	}
	return counts, true
}
