// Package bm25 ranks documents of several fields by BM25F (Robertson and
// Zaragoza, The Probabilistic Relevance Framework, 2009): per field
// length-normalised term frequencies are weighted, summed, and saturated once.
//
//	tf    = Σ_f w_f · tf_f / (1 − b_f + b_f · len_f/avglen_f)
//	idf   = ln(1 + (N − df + .5)/(df + .5))
//	score = Σ over distinct query terms t of min(qtf_t, 2) · idf(t) · (k1 + 1) · tf/(k1 + tf)
//
// avglen_f is the mean over all documents, empty fields included; a field of
// average length 0 is skipped. Every posting of a query's terms is read: the
// number of documents above a floor is part of an answer, so that nothing may
// be skipped, and reading a posting takes less time than deciding to skip it.
//
// A [Lexicon] numbers the terms, a [Counter] counts a document's, and [Build]
// makes an immutable [Index] that any number of goroutines may search. A score
// is what the postings add up to, in 32 bits.
package bm25

import (
	"math"
	"math/bits"
	"slices"
)

// MaxFields is how many fields a document may have.
const MaxFields = 8

// Params weigh the fields. Fields beyond those in use stay zero.
type Params struct {
	K1     float64
	Weight [MaxFields]float64
	B      [MaxFields]float64 // length normalisation, 0 none to 1 full
}

// A Doc is what one document's text comes to. It is immutable.
type Doc struct {
	Terms   []uint32          // distinct, ascending
	Masks   []uint8           // by term: bit f is set when field f has it
	Counts  []uint16          // by term, one for each set bit from the lowest
	Lengths [MaxFields]uint32 // terms of each field that count in its length
}

// A Counter counts a document's terms. The zero value is ready.
type Counter struct {
	seen    []uint64 // term << 8 | field
	lengths [MaxFields]uint32
}

// Add counts one occurrence of term in field; one that is extra counts in no
// length.
func (c *Counter) Add(term uint32, field int, extra bool) {
	c.seen = append(c.seen, uint64(term)<<8|uint64(field))
	if !extra {
		c.lengths[field]++
	}
}

// Doc returns what was counted and starts anew.
func (c *Counter) Doc() Doc {
	slices.Sort(c.seen)
	terms, counts := 0, 0
	for i, s := range c.seen {
		if i == 0 || s != c.seen[i-1] {
			counts++
		}
		if i == 0 || s>>8 != c.seen[i-1]>>8 {
			terms++
		}
	}
	d := Doc{
		Terms:   make([]uint32, 0, terms),
		Masks:   make([]uint8, 0, terms),
		Counts:  make([]uint16, 0, counts),
		Lengths: c.lengths,
	}
	for i, s := range c.seen {
		if i > 0 && s == c.seen[i-1] {
			if last := &d.Counts[len(d.Counts)-1]; *last < math.MaxUint16 {
				*last++
			}
			continue
		}
		if i == 0 || s>>8 != c.seen[i-1]>>8 {
			d.Terms = append(d.Terms, uint32(s>>8))
			d.Masks = append(d.Masks, 0)
		}
		d.Masks[len(d.Masks)-1] |= 1 << (s & 0xff)
		d.Counts = append(d.Counts, 1)
	}
	c.seen, c.lengths = c.seen[:0], [MaxFields]uint32{}
	return d
}

// Without is a counter of what the document has, but for one field.
func (d *Doc) Without(field int) Counter {
	c := Counter{lengths: d.Lengths}
	c.lengths[field] = 0
	n := 0
	for i, term := range d.Terms {
		for mask := d.Masks[i]; mask != 0; mask &= mask - 1 {
			f := bits.TrailingZeros8(mask)
			for range d.Counts[n] {
				if f != field {
					c.seen = append(c.seen, uint64(term)<<8|uint64(f))
				}
			}
			n++
		}
	}
	return c
}

// Statistics of a set of documents, as scores use them.
type Statistics struct {
	N      int
	AvgLen [MaxFields]float64
	DF     []uint32 // by term, after the cap on one group's share
}

// floodCap is how many documents one group may add to any document frequency
// (DESIGN: a fifth of the catalog, at least 50, where there are three groups
// or more).
func floodCap(n, groups int) uint32 {
	if groups < 3 {
		return math.MaxUint32
	}
	return uint32(max(50, n/5))
}
