package vector

import (
	"math"
	"sync"

	"github.com/bits-and-blooms/bitset"
)

// A Scan searches a matrix by looking at every allowed row. Where the
// processor multiplies small integers faster than it loads floats, a first pass
// at one byte a number finds the rows that can be among the best, and only
// those are scored exactly; the answer is the same.
type Scan struct {
	m       Matrix
	*coding           // nil where it would not pay
	sizes   []float32 // of the rows' errors
}

// NewScan returns the exact searcher over m, which must not change afterwards.
// It takes some two microseconds a row and core.
func NewScan(m Matrix) *Scan {
	if !codesInHardware || m.Rows() == 0 {
		return &Scan{m: m, sizes: make([]float32, m.Rows())}
	}
	return newCoding(m).scan(m)
}

// None is the number of a row that an older matrix does not have.
const None = none

// Rebase is NewScan of a matrix that shares rows with that of s: from has for
// each row its number in s, None for a new one. It costs little more than the
// new rows.
func (s *Scan) Rebase(m Matrix, from []uint32) *Scan {
	fresh := 0
	for _, f := range from {
		if f == None {
			fresh++
		}
	}
	if s.coding == nil || s.m.Dims != m.Dims || 4*fresh > len(from) {
		return NewScan(m)
	}
	return s.rebase(m, from).scan(m)
}

func (c *coding) scan(m Matrix) *Scan { return &Scan{m: m, coding: c, sizes: c.scale} }

// Search implements Searcher, exactly.
func (s *Scan) Search(q []float32, allowed *bitset.BitSet, k int) []Hit {
	k = min(k, s.m.Rows())
	if len(q) != s.m.Dims || k <= 0 {
		return nil
	}
	j := jobs.Get().(*job)
	defer j.release()
	j.m, j.q, j.allowed, j.k = s.m, q, allowed, k
	if s.coding == nil {
		return j.run().sorted()
	}
	j.approx = resize(j.approx, s.m.Rows())
	j.coding, j.dst = s.coding, j.approx
	j.coded.prepare(s.coding, q)
	within := j.coded.errors.Fixed + j.coded.errors.Slope*s.widest
	best := j.run()
	if !best.full() {
		return j.exact(float32(math.Inf(-1))).sorted()
	}
	return j.exact(best.worst().Score - 2*within).sorted()
}

// Near implements the same search for a caller who does not need scores.
func (s *Scan) Near(q []float32, allowed *bitset.BitSet, k int) []uint32 {
	hits := s.Search(q, allowed, k)
	docs := make([]uint32, len(hits))
	for i, h := range hits {
		docs[i] = h.Doc
	}
	return docs
}

// A final is the scratch of best.
type final struct {
	coded        codedQuery
	scores, rest []float32
	top          topK
}

var finals = sync.Pool{New: func() any { return new(final) }}

// best returns the best k of some rows, all of them present.
func (s *Scan) best(q []float32, ids []uint32, k int) []Hit {
	if k <= 0 || len(ids) == 0 {
		return nil
	}
	f := finals.Get().(*final)
	defer finals.Put(f)
	floor := float32(math.Inf(-1))
	if s.coding != nil {
		floor = f.sharpened(s.coding, q, ids, k)
	}
	f.top.reset(k)
	for i, id := range ids {
		if s.coding == nil || f.scores[i] >= floor {
			f.top.offer(Hit{id, s.Score(q, id)})
		}
	}
	return f.top.sorted()
}

// sharpened fills scores by both layers of codes and returns what the best k
// reach.
func (f *final) sharpened(c *coding, q []float32, ids []uint32, k int) (floor float32) {
	f.coded.prepare(c, q)
	f.scores, f.rest = resize(f.scores, len(ids)), resize(f.rest, len(ids))
	c.dots(f.scores, ids, &f.coded, f.coded.base)
	c.rest.dots(f.rest, ids, &f.coded, 0)
	f.top.reset(k)
	for i, id := range ids {
		f.scores[i] += f.rest[i]
		f.top.offer(Hit{id, f.scores[i]})
	}
	if !f.top.full() {
		return float32(math.Inf(-1))
	}
	return f.top.worst().Score - 2*f.coded.errors.Sharpened
}

// A Probe is a query made ready to be scored against a Scan's rows. It may be
// used by any number of goroutines once it is set.
type Probe struct {
	scan  *Scan
	q     []float32
	coded codedQuery
}

// Set makes p ready for q, which must have the matrix's dimensions and is
// kept.
func (p *Probe) Set(s *Scan, q []float32) {
	p.scan, p.q = s, q
	p.coded.errors = Errors{}
	if s.coding != nil {
		p.coded.prepare(s.coding, q)
	}
}

// Forget drops what belongs to others, so that a Probe which waits to be used
// again keeps no matrix in memory. What it coded stays.
func (p *Probe) Forget() { p.scan, p.q = nil, nil }

// Errors bound how far a Probe's scores can be from the exact ones: row i's by
// Fixed + Slope · Sizes[i], some .01 together, and a sharpened one by
// Sharpened, some .0002. Where rows have no codes all are 0.
type Errors struct {
	Fixed, Slope, Sharpened float32
	Sizes                   []float32 // by row
}

// Errors returns the bounds for p's query. A caller that wants the exact best
// k keeps the rows that can be among them and asks Score for those.
func (p *Probe) Errors() Errors {
	e := p.coded.errors
	e.Sizes = p.scan.sizes
	return e
}

// Scores sets dst[i] to about the dot product of the query and row i for
// every row from lo up to hi that allowed has (nil allows all). The rows begin
// at a multiple of 64. What it sets for absent rows and for those that are not
// allowed means nothing.
func (p *Probe) Scores(dst []float32, allowed *bitset.BitSet, lo, hi int) {
	if allowed == nil && p.scan.coding != nil {
		p.scan.run(dst[:hi], lo, &p.coded)
		return
	}
	w := windows.Get().(*window)
	defer windows.Put(w)
	w.allowed, w.lo, w.hi = allowed, lo, hi
	w.chunks(func(ids []uint32) {
		scores := w.scores[:len(ids)]
		p.scores(scores, ids)
		for i, id := range ids {
			dst[id] = scores[i]
		}
	})
}

// Sharp sets dst to the scores of all rows, nearly exact.
func (p *Probe) Sharp(dst []float32) {
	p.Scores(dst, nil, 0, len(dst))
	for lo := 0; lo < len(dst); lo += len(inOrder) {
		n := min(len(inOrder), len(dst)-lo)
		p.sharpen(dst[lo:lo+n], lo, inOrder[:n])
	}
}

// ScoresOf is Scores of some rows.
func (p *Probe) ScoresOf(dst []float32, ids []uint32) {
	w := windows.Get().(*window)
	defer windows.Put(w)
	for len(ids) > 0 {
		some := ids[:min(len(ids), chunkRows)]
		p.scores(w.scores[:len(some)], some)
		for i, id := range some {
			dst[id] = w.scores[i]
		}
		ids = ids[len(some):]
	}
}

func (p *Probe) scores(dst []float32, ids []uint32) {
	if p.scan.coding != nil {
		p.scan.dots(dst, ids, &p.coded, p.coded.base)
		return
	}
	for i, id := range ids {
		dst[i] = dot(p.q, p.scan.m.Row(int(id)))
	}
}

// Sharpen makes scores that Scores has set nearly exact. It is to be called
// once for each.
func (p *Probe) Sharpen(dst []float32, ids []uint32) { p.sharpen(dst, 0, ids) }

// sharpen is Sharpen of rows that are numbered, as dst is, from row lo on.
func (p *Probe) sharpen(dst []float32, lo int, ids []uint32) {
	if p.scan.coding == nil {
		return
	}
	w := windows.Get().(*window)
	defer windows.Put(w)
	rest := p.scan.rest.from(lo)
	for len(ids) > 0 {
		some := ids[:min(len(ids), chunkRows)]
		rest.dots(w.scores[:], some, &p.coded, 0)
		for i, id := range some {
			dst[id] += w.scores[i]
		}
		ids = ids[len(some):]
	}
}

// Score returns the exact dot product of q and row i, 0 for an absent row.
func (s *Scan) Score(q []float32, i uint32) float32 { return dot(q, s.m.Row(int(i))) }

// exact scores the rows whose approximate score reaches floor.
func (j *job) exact(floor float32) *topK {
	best := &j.parts[0].best
	best.reset(j.k)
	j.parts[0].lo, j.parts[0].hi = 0, j.m.Rows()
	j.parts[0].chunks(func(ids []uint32) {
		for _, id := range ids {
			if j.approx[id] >= floor && j.present(id) {
				best.offer(Hit{id, dot(j.q, j.m.Row(int(id)))})
			}
		}
	})
	return best
}

var jobs = sync.Pool{New: func() any { return newJob() }}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
