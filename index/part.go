package index

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// maxParts bounds the goroutines of one search: others want the cores too.
const maxParts = 4

// A part is the documents from lo up to hi, which one goroutine scores and
// sorts out. lo is a multiple of 64, so that no two parts share a word of a
// bitmap.
type part struct {
	r      *search
	lo, hi int
	start  func() // scores the part on a goroutine; made once, to allocate nothing for it

	best  shortlist
	edge  []uint32 // documents that may reach the floor
	total int      // documents that do
}

// A crew runs the parts of a search.
type crew struct {
	parts  [maxParts]part
	primed sync.WaitGroup // until all priors are known
	done   sync.WaitGroup
}

func newCrew() *crew {
	c := new(crew)
	for i := range c.parts {
		p := &c.parts[i]
		p.start = func() {
			defer c.done.Done()
			p.score()
		}
	}
	return c
}

// forget drops what belongs to a search that is over.
func (c *crew) forget() {
	for i := range c.parts {
		c.parts[i].r = nil
	}
}

// runParts divides the documents and returns the parts once all are scored.
func (r *search) runParts() []part {
	docs := len(r.s.docs)
	n := 1
	if r.count >= parallelFrom {
		n = min(maxParts, runtime.GOMAXPROCS(0))
	}
	step := (docs/n/64 + 1) * 64
	for i := range n {
		p := &r.crew.parts[i]
		p.r, p.lo, p.hi = r, min(i*step, docs), min((i+1)*step, docs)
		p.total, p.edge = 0, p.edge[:0]
		p.best.reset(r.limit, r.within, r.reach())
	}
	r.crew.primed.Add(n)
	r.crew.done.Add(n - 1)
	for i := 1; i < n; i++ {
		go r.crew.parts[i].start()
	}
	r.crew.parts[0].score()
	r.crew.done.Wait()
	return r.crew.parts[:n]
}

// score scores the part.
func (p *part) score() {
	r := p.r
	p.prime()
	if r.mode != Semantic {
		r.s.lexical.Approximate(r.keywords, &r.lexical, p.lo, p.hi)
	}
	if r.space != nil {
		r.probe.Scores(r.cosines, r.allowed, p.lo, p.hi)
	}
	r.crew.primed.Wait()
	if r.allowed == nil {
		p.fuseAll()
		p.visitAll()
	} else {
		p.visitAllowed()
	}
	p.decide()
}

// decide counts those documents on the edge that reach the floor.
func (p *part) decide() {
	r, floor := p.r, p.r.floor()
	r.sharpen(p.edge)
	for _, d := range p.edge {
		if math.Abs(r.scores[d]-floor) <= r.sharpened || slices.Contains(r.named.docs, d) {
			r.refine(d)
		}
		if r.scores[d] >= floor {
			p.total++
		}
	}
}

// prime computes the part's share of the server priors, which all parts need.
func (p *part) prime() {
	defer p.r.crew.primed.Done()
	if p.r.space == nil || p.r.weights.prior == 0 {
		return
	}
	docs, servers := len(p.r.s.docs), len(p.r.priors)
	for server := p.lo * servers / docs; server < p.hi*servers/docs; server++ {
		p.r.prior(uint32(server))
	}
}

// fuseAll is fused for all documents of the part, in a loop that keeps what
// it needs in registers.
func (p *part) fuseAll() {
	r := p.r
	scores, keywords := r.scores[p.lo:p.hi], r.keywords[p.lo:p.hi]
	if r.space == nil {
		for i, keyword := range keywords {
			scores[i] = clip(r.weights.alone * float64(keyword))
		}
		return
	}
	w, priors := r.weights, r.priors
	cosines, servers := r.cosines[p.lo:p.hi], r.s.server[p.lo:p.hi]
	for i := range scores {
		cosine := float64(max(0, cosines[i]))
		prior := cosine * w.prior
		if server := servers[i]; int(server) < len(priors) {
			prior = priors[server]
		}
		scores[i] = clip(w.keyword*float64(keywords[i]) + w.cosine*cosine + prior)
	}
	if r.space.absent == nil {
		return
	}
	for i, absent := range r.space.absent[p.lo:p.hi] {
		if absent {
			scores[i] = clip(w.alone * float64(keywords[i]))
		}
	}
}

// visitAll sorts out all documents of the part. Most need no more than being
// counted, which the loop does without a branch.
func (p *part) visitAll() {
	r := p.r
	floor, high := r.floor(), r.high
	if r.mode == Keyword {
		// What shares no term with the query is no result whatever the floor.
		high = max(high, math.SmallestNonzeroFloat64)
	}
	for i, score := range r.scores[p.lo:p.hi] {
		above := 0
		if score >= high {
			above = 1
		}
		p.total += above
		if score >= p.best.least || math.Abs(score-floor) <= r.within {
			p.total -= above
			p.visit(uint32(p.lo+i), score)
		}
	}
}

// visitAllowed scores and sorts out the allowed documents of the part.
func (p *part) visitAllowed() {
	r := p.r
	for d, ok := r.allowed.NextSet(uint(p.lo)); ok && int(d) < p.hi; d, ok = r.allowed.NextSet(d + 1) {
		doc := uint32(d)
		r.scores[d] = r.fused(doc, float64(r.keywords[d]), float64(r.cosines[d]))
		p.visit(doc, r.scores[d])
	}
}

// visit sorts out one document: counted, to be looked at closely, or a
// candidate.
func (p *part) visit(doc uint32, score float64) {
	r := p.r
	if score == 0 && r.mode == Keyword {
		return
	}
	if score >= r.high {
		p.total++
	} else if score >= r.low {
		p.edge = append(p.edge, doc)
	}
	if score >= p.best.least {
		p.best.offer(doc, score)
	}
}
