package index

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// maxParts bounds the goroutines of one search: others want the cores too.
const maxParts = 4

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
}

// lotDocs is the documents of a lot where there are several goroutines. It is a
// multiple of 64: no two lots share a word of a bitmap.
const lotDocs = 1024

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
		if p := c.join(); p != nil {
			p.work()
			c.leave()
		}
	}
	return c
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

// runParts scores the allowed documents and returns what was found.
func (r *search) runParts() []part {
	n := 1
	if r.space != nil && r.count >= parallelFrom {
		n = min(maxParts, runtime.GOMAXPROCS(0))
	}
	for i := range n {
		p := &r.crew.parts[i]
		p.r, p.floor, p.total = r, r.floor(), 0
		p.best.reset(r.limit, r.reach())
	}
	r.crew.open(n, len(r.s.docs))
	for range n - 1 {
		go r.crew.help()
	}
	p := r.crew.join() // the others are still waking up
	r.prime()
	r.crew.primed.Done()
	if p != nil {
		p.work()
		r.crew.leave()
	}
	return r.crew.close()
}

// prime computes the server priors.
func (r *search) prime() {
	if r.space == nil || r.weights.prior == 0 {
		return
	}
	for server := range r.priors {
		r.prior(uint32(server))
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
		r.s.lexical.Approximate(r.keywords, &r.lexical, p.lo, p.hi)
	}
	if r.space != nil {
		r.probe.Scores(r.cosines, r.allowed, p.lo, p.hi)
	}
	r.crew.primed.Wait()
	switch {
	case r.space == nil && r.allowed == nil:
		p.visitWords()
	case r.allowed == nil && r.space.absent == nil:
		p.visitAll()
	default:
		p.visitEach()
	}
	p.decide()
}

// decide counts those documents on the edge that reach the floor.
func (p *part) decide() {
	r, floor := p.r, p.floor
	r.sharpen(p.edge)
	for _, d := range p.edge {
		if math.Abs(r.scores[d]-floor) <= r.margins.sharpened || slices.Contains(r.named.docs, d) {
			r.refine(d)
		}
		if r.scores[d] >= floor {
			p.total++
		}
	}
}

// visitAll scores and sorts out all documents of the part. Most need no more
// than being counted, which the loop does without a branch, and with what it
// needs in registers.
func (p *part) visitAll() {
	r, floor, total := p.r, p.floor, 0
	w, m, priors, least := r.weights, r.margins, r.priors, p.best.least
	scores := r.scores[p.lo:p.hi]
	keywords, cosines, servers, sizes := r.keywords[p.lo:][:len(scores)], r.cosines[p.lo:][:len(scores)], r.s.server[p.lo:][:len(scores)], m.sizes[p.lo:][:len(scores)]
	for i := range scores {
		cosine := float64(max(0, cosines[i]))
		prior := cosine * w.prior
		if server := servers[i]; int(server) < len(priors) {
			prior = priors[server]
		}
		score := w.keyword*float64(keywords[i]) + w.cosine*cosine + prior
		scores[i] = score
		within := m.fixed + m.slope*float64(sizes[i])
		above := 0
		if score >= floor {
			above = 1
		}
		total += above
		if score+within >= least || math.Abs(score-floor) <= within {
			total -= above
			p.visit(uint32(p.lo+i), score, within)
			least = p.best.least
		}
	}
	p.total += total
}

// visitWords is visitAll where there are words alone. What shares no term with
// the query is no result whatever the floor.
func (p *part) visitWords() {
	r, floor, total := p.r, max(p.floor, math.SmallestNonzeroFloat64), 0
	within, least := r.margins.fixed, p.best.least
	scores := r.scores[p.lo:p.hi]
	for i, keyword := range r.keywords[p.lo:p.hi] {
		score := r.weights.alone * float64(keyword)
		scores[i] = score
		above := 0
		if score >= floor {
			above = 1
		}
		total += above
		if (score+within >= least || math.Abs(score-floor) <= within) && keyword > 0 {
			total -= above
			p.visit(uint32(p.lo+i), score, within)
			least = p.best.least
		}
	}
	p.total += total
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
		score := r.fused(uint32(d), float64(r.keywords[d]), float64(r.cosines[d]))
		r.scores[d] = score
		if r.mode != Keyword || score > 0 {
			p.visit(uint32(d), score, r.margins.within(uint32(d)))
		}
	}
}

// visit sorts out one document: counted, to be looked at closely, a candidate.
func (p *part) visit(doc uint32, score, within float64) {
	if score >= p.floor+within {
		p.total++
	} else if score >= p.floor-within {
		p.edge = append(p.edge, doc)
	}
	if score+within >= p.best.least {
		p.best.offer(bounds{doc, score - within, score + within})
	}
}
