package index

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/blend"
)

// maxParts bounds the goroutines of one search: others want the cores too.
const maxParts = 4

// patience is how often a goroutine that comes early looks for work before it
// gives up, and lets others run in between. To wake one from sleep takes
// longer than to embed a query, so they are called before.
const patience = 200

// A part is what one goroutine finds among the documents that it scores: some
// lots, which the goroutines of a search take until none is left, so that one
// that wakes up late delays nobody.
type part struct {
	r      *search
	floor  float64 // of the search
	lo, hi int     // the lot at hand

	best  shortlist
	edge  []uint32 // documents of the lot that may reach the floor
	total int      // documents that do
	marks [blendDocs / 64]uint64
}

// lotDocs is the documents of a lot where there are several goroutines. It is a
// multiple of 64: no two lots share a word of a bitmap.
const lotDocs = 1024

// blendDocs is the documents that are fused before the least score worth
// ranking is looked at again.
const blendDocs = 256

// A crew is the goroutines of a search. It is pooled: one that comes too late
// for its search finds nothing to do, or lends the next one a hand.
type crew struct {
	parts [maxParts]part
	help  func() // what a goroutine does; made once, to allocate nothing for it

	mu     sync.Mutex // guards the fields below
	left   sync.Cond  // a goroutine has
	wanted int        // goroutines; 0 while there is nothing to do
	joined int
	active int

	lot    int            // documents of a lot
	next   atomic.Int64   // the first document that nobody has taken
	primed sync.WaitGroup // until the priors are known
}

func newCrew() *crew {
	c := new(crew)
	c.left.L = &c.mu
	c.help = func() {
		p := c.join()
		for i := 0; i < patience && p == nil; i++ {
			runtime.Gosched()
			p = c.join()
		}
		if p != nil {
			p.work()
			c.leave()
		}
	}
	return c
}

// summon starts n − 1 goroutines, which will find something to do once the
// caller has opened the crew.
func (c *crew) summon(n int) {
	for range n - 1 {
		go c.help()
	}
}

// join returns a part for a goroutine, nil if it is not needed.
func (c *crew) join() *part {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.joined >= c.wanted {
		return nil
	}
	c.joined++
	c.active++
	return &c.parts[c.joined-1]
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	c.left.Broadcast()
}

// open lets n goroutines join and share some documents.
func (c *crew) open(n, docs int) {
	c.lot = docs
	if n > 1 {
		c.lot = lotDocs
	}
	c.next.Store(0)
	c.primed.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted, c.joined = n, 0
}

// close waits for those who have joined and returns their parts.
func (c *crew) close() []part {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.wanted = 0; c.active > 0; {
		c.left.Wait()
	}
	return c.parts[:c.joined]
}

// forget drops what belongs to a search that is over.
func (c *crew) forget() {
	for i := range c.parts {
		c.parts[i].r = nil
	}
}

// hands is how many goroutines a search is for.
func (r *search) hands() int {
	if r.mode == Keyword || r.count < parallelFrom || r.count > r.s.threshold {
		return 1
	}
	return min(maxParts, runtime.GOMAXPROCS(0))
}

// runParts scores the allowed documents and returns what was found. The crew's
// other goroutines are summoned already.
func (r *search) runParts() []part {
	n := r.hands()
	for i := range n {
		p := &r.crew.parts[i]
		p.r, p.floor, p.total = r, r.floor(), 0
		p.best.reset(r.limit, r.reach())
	}
	r.crew.open(n, len(r.s.docs))
	p := r.crew.join()
	r.prime()
	r.crew.primed.Done()
	if p != nil {
		p.work()
		r.crew.leave()
	}
	return r.crew.close()
}

// prime computes the server priors, nearly exactly.
func (r *search) prime() {
	if r.space == nil || r.weights.prior == 0 {
		clear(r.priors)
		return
	}
	r.servers.Sharp(r.priors)
	for i, dot := range r.priors {
		r.priors[i] = float32(r.weights.prior) * max(0, dot)
	}
}

// work scores lots until none is left.
func (p *part) work() {
	docs, c := len(p.r.s.docs), p.r.crew
	for {
		p.hi = int(c.next.Add(int64(c.lot)))
		if p.lo = p.hi - c.lot; p.lo >= docs {
			return
		}
		p.hi = min(p.hi, docs)
		p.score()
	}
}

// score scores a lot.
func (p *part) score() {
	r := p.r
	p.edge = p.edge[:0]
	if r.mode != Semantic {
		clear(r.keywords[p.lo:p.hi])
		r.s.lexical.Approximate(r.keywords, &r.lexical, p.lo, p.hi)
	}
	if r.space != nil {
		r.probe.Scores(r.cosines, r.allowed, p.lo, p.hi)
	}
	r.crew.primed.Wait()
	if r.allowed == nil && !r.s.unnamed && (r.space == nil || r.space.absent == nil) {
		p.visitAll()
	} else {
		p.visitEach()
	}
	p.decide()
}

// decide counts those documents on the edge that reach the floor.
func (p *part) decide() {
	r, floor := p.r, p.floor
	r.sharpen(p.edge)
	for _, d := range p.edge {
		if math.Abs(r.scores[d]-floor) <= r.margins.closely(r.scores[d]) || slices.Contains(r.named.docs, d) {
			r.refine(d)
		}
		if r.scores[d] >= floor {
			p.total++
		}
	}
}

// visitAll scores and sorts out all documents of the lot.
func (p *part) visitAll() {
	r, m := p.r, p.r.margins
	w := blend.Weights{
		Keyword: float32(r.weights.lexical(r.space)), Cosine: float32(r.weights.cosine),
		Fixed: float32(m.fixed), Slope: float32(m.slope), Relative: float32(m.relative), Floor: float32(p.floor),
	}
	if r.mode == Keyword { // a score of 0 is never above the floor, at most marked
		w.Floor = max(w.Floor, math.SmallestNonzeroFloat32)
	}
	for lo := p.lo; lo < p.hi; lo += blendDocs {
		hi := min(lo+blendDocs, p.hi)
		b := blend.Block{
			Scores: r.rough[lo:hi], Keywords: r.keywords[lo:hi], Servers: r.s.server[lo:hi], Priors: r.priors,
			Cosines: r.keywords[lo:hi], Sizes: r.keywords[lo:hi], // of no weight without vectors
		}
		if r.space != nil {
			b.Cosines, b.Sizes = r.cosines[lo:hi], m.sizes[lo:hi]
		}
		w.Least = float32(p.best.least)
		p.total += b.Run(&w, p.marks[:])
		p.visitMarked(lo)
	}
}

// visitMarked visits the marked documents of those from lo on.
func (p *part) visitMarked(lo int) {
	for i, word := range p.marks {
		for ; word != 0; word &= word - 1 {
			d := uint32(lo + 64*i + bits.TrailingZeros64(word))
			p.visit(d, float64(p.r.rough[d]))
		}
	}
}

// visitEach scores and sorts out the allowed documents of the part.
func (p *part) visitEach() {
	r := p.r
	for d := p.lo; d < p.hi; d++ {
		if r.allowed != nil {
			next, ok := r.allowed.NextSet(uint(d))
			if d = int(next); !ok || d >= p.hi {
				return
			}
		}
		score := r.blended(uint32(d))
		r.rough[d] = float32(score)
		p.visit(uint32(d), score)
	}
}

// visit sorts out one document: counted, to be looked at closely, a candidate.
// What shares no term with a query of words alone is no result whatever the
// floor.
func (p *part) visit(doc uint32, score float64) {
	r := p.r
	if r.mode == Keyword && r.keywords[doc] == 0 {
		return
	}
	r.scores[doc] = score
	within := r.margins.within(doc, score)
	if score >= p.floor+within {
		p.total++
	} else if score >= p.floor-within {
		p.edge = append(p.edge, doc)
	}
	if score+within >= p.best.least {
		p.best.offer(bounds{doc, score - within, score + within})
	}
}
