package bm25

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// None is the number of a document that an older index does not have.
const None = math.MaxUint32

// maxDrift is how far average lengths may move, as a share, before all that
// postings add to scores is computed anew. Scores that are off by as much are
// still near enough to tell which ones have to be exact. (A variable for
// tests, whose catalogs are small.)
var maxDrift = 1e-3

// Rebase makes an Index as Build does, out of an older one: from has for each
// document its number in old, None for a new one. Known documents must be in
// the order of old, and their terms numbered as they were. What it costs grows
// with the change, but for one pass over the postings.
func Rebase(old *Index, in Input, from []uint32) *Index {
	ix := &Index{params: in.Params, docs: in.Docs}
	added, to := invert(from, len(old.docs))
	if 4*len(added) > len(in.Docs) || in.Params != old.params {
		return Build(in)
	}
	ix.stats.N = len(in.Docs)
	ix.countLengths()
	if ix.impactOf = old.impactOf; ix.drift() > maxDrift {
		return Build(in)
	}
	change := old.change(in, added, to)
	ix.start = change.starts()
	ix.post = make([]posting, ix.start[in.Terms])
	change.copyPostings(ix)
	ix.stats.DF = make([]uint32, in.Terms)
	for t := range ix.stats.DF {
		ix.stats.DF[t] = ix.start[t+1] - ix.start[t]
	}
	ix.capFlooding(in.Groups)
	return ix
}

// drift is how far the average lengths that impacts were computed with are
// from the present ones, as a share: no impact is further off. For each field,
// w·n/(1 − b + b·l/avg) moves no more than avg does, and saturation only
// lessens that.
func (ix *Index) drift() float64 {
	most := 0.0
	for f, now := range ix.stats.AvgLen {
		then := ix.impactOf[f]
		switch {
		case now == then || ix.params.B[f] == 0 && (now == 0) == (then == 0):
		case now == 0 || then == 0:
			return math.Inf(1)
		default:
			most = max(most, now/then-1, then/now-1)
		}
	}
	return most
}

// invert returns the new documents, and to each old one its new number.
func invert(from []uint32, old int) (added, to []uint32) {
	to = make([]uint32, old)
	for i := range to {
		to[i] = None
	}
	for d, o := range from {
		if o == None {
			added = append(added, uint32(d))
		} else {
			to[o] = uint32(d)
		}
	}
	return added, to
}

// A change is what becomes of an index's postings.
type change struct {
	old   *Index
	to    []uint32 // by old document
	terms int
	added []termPosting // by term, then document
	gone  []uint32      // terms of documents that are gone, ascending, once for each
}

type termPosting struct {
	term uint32
	posting
}

func (ix *Index) change(in Input, added, to []uint32) *change {
	c := &change{old: ix, to: to, terms: in.Terms}
	var norm [MaxFields]float64
	for _, d := range added {
		doc := in.Docs[d]
		norms(&ix.params, &ix.impactOf, doc, &norm)
		counts := 0
		for i, t := range doc.Terms {
			n := bits.OnesCount8(doc.Masks[i])
			tf := frequency(doc.Masks[i], doc.Counts[counts:counts+n], &norm)
			counts += n
			c.added = append(c.added, termPosting{t, posting{d, float32(saturate(tf, ix.params.K1))}})
		}
	}
	slices.SortFunc(c.added, func(a, b termPosting) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.doc, b.doc))
	})
	for o, d := range to {
		if d == None {
			c.gone = append(c.gone, ix.docs[o].Terms...)
		}
	}
	slices.Sort(c.gone)
	return c
}

// starts are the new places of the terms' postings.
func (c *change) starts() []uint32 {
	start := make([]uint32, c.terms+1)
	added, gone := c.added, c.gone
	for t := range c.terms {
		n := c.old.count(uint32(t))
		for ; len(added) > 0 && added[0].term == uint32(t); added = added[1:] {
			n++
		}
		for ; len(gone) > 0 && gone[0] == uint32(t); gone = gone[1:] {
			n--
		}
		start[t+1] = start[t] + n
	}
	return start
}

// count is how many postings a term has.
func (ix *Index) count(term uint32) uint32 {
	if int(term)+1 >= len(ix.start) {
		return 0
	}
	return ix.start[term+1] - ix.start[term]
}

// copyPostings fills ix with the old postings under their new numbers and the
// added ones. Between terms that change, postings are copied without looking
// where a term ends.
func (c *change) copyPostings(ix *Index) {
	added, gone := c.added, c.gone
	read, write := uint32(0), uint32(0)
	for len(added) > 0 || len(gone) > 0 {
		t := nextTerm(added, gone)
		if int(t) < len(c.old.start) {
			write = c.renumber(ix.post, write, read, c.old.start[t])
			read = c.old.start[t]
		}
		end := read + c.old.count(t)
		for ; len(gone) > 0 && gone[0] == t; gone = gone[1:] {
		}
		for ; len(added) > 0 && added[0].term == t; added = added[1:] {
			write, read = c.before(ix.post, write, read, end, added[0].doc)
			ix.post[write] = added[0].posting
			write++
		}
		write, read = c.before(ix.post, write, read, end, None)
	}
	c.renumber(ix.post, write, read, uint32(len(c.old.post)))
}

func nextTerm(added []termPosting, gone []uint32) uint32 {
	switch {
	case len(gone) == 0:
		return added[0].term
	case len(added) == 0:
		return gone[0]
	}
	return min(added[0].term, gone[0])
}

// renumber copies old postings, none of which is gone.
func (c *change) renumber(post []posting, write, read, end uint32) uint32 {
	out := post[write:]
	for i, p := range c.old.post[read:end] {
		out[i] = posting{c.to[p.doc], p.impact}
	}
	return write + end - read
}

// before copies those of a term's old postings that are left and come before
// a document.
func (c *change) before(post []posting, write, read, end, doc uint32) (w, r uint32) {
	for ; read < end; read++ {
		p := c.old.post[read]
		d := c.to[p.doc]
		if d == None {
			continue
		}
		if d > doc {
			break
		}
		post[write] = posting{d, p.impact}
		write++
	}
	return write, read
}
