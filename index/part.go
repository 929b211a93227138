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
		p.best.reset(r.limit, r.reach())
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
	switch {
	case r.allowed != nil:
		p.visitAllowed()
	case r.space == nil:
		p.visitWords()
	default:
		p.fuseAll()
		p.visitAll()
	}
	p.decide()
}

// decide counts those documents on the edge that reach the floor.
func (p *part) decide() {
	r, floor := p.r, p.r.floor()
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
	w, priors := r.weights, r.priors
	scores, keywords := r.scores[p.lo:p.hi], r.keywords[p.lo:p.hi]
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

// visitAll is visit for all documents of the part. Most need no more than
// being counted, which the loop does without a branch.
func (p *part) visitAll() {
	m, floor, least, total := p.r.margins, p.r.floor(), p.best.least, 0
	scores := p.r.scores[p.lo:p.hi]
	sizes := m.sizes[p.lo:p.hi]
	for i, score := range scores {
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

// visitWords scores and sorts out the documents of the part that share a term
// with the query.
func (p *part) visitWords() {
	r := p.r
	within := r.margins.fixed
	for i, keyword := range r.keywords[p.lo:p.hi] {
		score := clip(r.weights.alone * float64(keyword))
		r.scores[p.lo+i] = score
		if keyword > 0 {
			p.visit(uint32(p.lo+i), score, within)
		}
	}
}

// visitAllowed scores and sorts out the allowed documents of the part.
func (p *part) visitAllowed() {
	r := p.r
	for d, ok := r.allowed.NextSet(uint(p.lo)); ok && int(d) < p.hi; d, ok = r.allowed.NextSet(d + 1) {
		doc := uint32(d)
		score := r.fused(doc, float64(r.keywords[d]), float64(r.cosines[d]))
		r.scores[d] = score
		if r.mode != Keyword || score > 0 {
			p.visit(doc, score, r.margins.within(doc))
		}
	}
}

// visit sorts out one document: counted, to be looked at closely, a candidate.
func (p *part) visit(doc uint32, score, within float64) {
	floor := p.r.floor()
	if score >= floor+within {
		p.total++
	} else if score >= floor-within {
		p.edge = append(p.edge, doc)
	}
	if score+within >= p.best.least {
		p.best.offer(bounds{doc, score - within, score + within})
	}
}
