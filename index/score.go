package index

import (
	"math"
	"slices"
)

// score computes the scores that ranking needs, and the total.
func (r *search) score() {
	if r.mode != Semantic {
		r.s.lexical.Scores(r.bm25f, &r.lexical)
	}
	r.setWeights()
	for i := range r.priors {
		r.priors[i] = -1 // not needed yet
	}
	if r.partial = r.mode != Keyword && r.count > r.s.threshold; r.partial {
		r.scoreCandidates()
		return
	}
	if r.mode != Keyword {
		r.findCosines()
	}
	r.sweep()
}

// findCosines fills the cosines: approximately where that is faster and the
// scores that matter can be made exact afterwards.
func (r *search) findCosines() {
	if r.exact {
		r.space.scan.Scores(r.cosines, r.vec, r.allowed)
		return
	}
	within := r.space.scan.Approximate(r.cosines, r.vec, r.allowed)
	r.within = float64(within) * (r.weights.cosine + r.weights.prior)
}

// sweep scores every allowed document in one pass that also finds the
// candidates for the first rows. With approximate cosines, every score that
// can decide which rows are best or whether a document reaches the floor is
// then made exact: rows and totals are those of exact scores.
func (r *search) sweep() {
	floor := r.floor()
	r.best.reset(r.limit, r.within, r.reach())
	r.low, r.high = floor-r.within, floor+r.within
	if r.mode == Keyword {
		r.fuseLexical()
	} else {
		r.fuseAll()
	}
	r.visitAll()
	r.candidates = append(r.candidates, r.best.candidates()...)
	for _, d := range r.named.docs {
		if !r.allows(d) {
			continue
		}
		if !slices.Contains(r.candidates, d) {
			r.candidates = append(r.candidates, d)
			r.best.see(d, r.scores[d])
		}
		if r.scores[d] < r.low && raised(r.scores[d]) >= floor {
			r.total++
		}
	}
	for _, d := range r.candidates {
		r.refine(d)
	}
	for _, d := range r.edge {
		if r.refine(d); r.scores[d] >= floor {
			r.total++
		}
	}
}

// fuseLexical is fused for all documents in keyword mode.
func (r *search) fuseLexical() {
	scores := r.scores[:len(r.bm25f)]
	for d, bm25f := range r.bm25f {
		scores[d] = clip(r.weights.alone * bm25f)
	}
}

// fuseAll is fused for all documents, allowed or not, in a loop that keeps
// what it needs in registers.
func (r *search) fuseAll() {
	for server := range r.priors {
		if r.priors[server] = 0; r.weights.prior > 0 {
			r.prior(uint32(server))
		}
	}
	w, priors := r.weights, r.priors
	bm25f := r.bm25f
	cosines, scores, servers := r.cosines[:len(bm25f)], r.scores[:len(bm25f)], r.s.server[:len(bm25f)]
	for d := range bm25f {
		cosine := float64(cosines[d])
		if cosine < 0 {
			cosine = 0
		}
		prior := cosine * w.prior
		if server := servers[d]; int(server) < len(priors) {
			prior = priors[server]
		}
		scores[d] = clip(w.keyword*bm25f[d] + w.cosine*cosine + prior)
	}
	for d, absent := range r.space.absent {
		if absent {
			scores[d] = clip(w.alone * bm25f[d])
		}
	}
}

// visitAll visits every document that may be found. Without a filter most need
// no more than counting, which the loop does without a call.
func (r *search) visitAll() {
	if r.allowed != nil || r.mode == Keyword {
		r.each(r.visit)
		return
	}
	for d, score := range r.scores[:len(r.s.docs)] {
		switch {
		case score >= r.best.least:
			r.visit(uint32(d))
		case score >= r.high:
			r.total++
		case score >= r.low:
			r.edge = append(r.edge, uint32(d))
		}
	}
}

// visit is one step of sweep.
func (r *search) visit(doc uint32) {
	score := r.scores[doc]
	if score < r.low && score < r.best.least || score == 0 && r.mode == Keyword {
		return
	}
	if score >= r.high {
		r.total++
	} else if score >= r.low {
		r.edge = append(r.edge, doc)
	}
	if score >= r.best.least {
		r.best.offer(doc, score)
	}
}

// refine makes the score of a document exact, by the exact-name rule too.
func (r *search) refine(doc uint32) {
	cosine := float64(r.cosines[doc])
	if r.within > 0 || r.partial {
		cosine = float64(r.space.scan.Score(r.vec, doc))
	}
	score := r.fused(doc, cosine)
	if slices.Contains(r.named.docs, doc) {
		score = raised(score)
	}
	r.scores[doc] = score
}

// bestSeen returns the k best rows among the documents that can take part in
// the answer and that ok accepts.
func (r *search) bestSeen(k int, ok func(doc uint32) bool) []scored {
	r.second.reset(k, r.within, 1)
	offer := func(d uint32) {
		if ok(d) {
			r.second.offer(d, r.scores[d])
		}
	}
	if r.partial {
		for _, d := range r.candidates {
			offer(d)
		}
	} else {
		for _, c := range r.best.seen {
			offer(c.doc)
		}
	}
	docs := r.second.candidates()
	r.second.top.reset(k)
	for _, d := range docs {
		if r.within > 0 {
			r.refine(d)
		}
		r.second.top.push(d, r.scores[d])
	}
	return r.second.top.sorted()
}

// A shortlist finds the best k of scores that may be wrong by some error. Once
// k are known, no document that is two errors or more below the last of them
// can be among the k.
type shortlist struct {
	top   ranking
	error float64
	reach float64 // share of the k-th score down to which documents are kept
	least float64 // what a score must reach to be offered
	seen  []scored
	docs  []uint32
}

// reset starts anew. A reach below 1 keeps documents in seen that score as
// much less than the k-th.
func (l *shortlist) reset(k int, error, reach float64) {
	l.top.reset(k)
	l.error, l.reach, l.least, l.seen, l.docs = error, reach, math.Inf(-1), l.seen[:0], l.docs[:0]
}

func (l *shortlist) offer(doc uint32, score float64) {
	l.seen = append(l.seen, scored{doc, score})
	l.top.push(doc, score)
	if len(l.top.heap) == l.top.k && l.top.k > 0 {
		l.least = l.reach*l.top.heap[0].score - 2*l.error
	}
}

// see keeps a document that was not offered.
func (l *shortlist) see(doc uint32, score float64) {
	if !slices.ContainsFunc(l.seen, func(c scored) bool { return c.doc == doc }) {
		l.seen = append(l.seen, scored{doc, score})
	}
}

// candidates are the documents that can be among the k.
func (l *shortlist) candidates() []uint32 {
	least := math.Inf(-1)
	if len(l.top.heap) == l.top.k && l.top.k > 0 {
		least = l.top.heap[0].score - 2*l.error
	}
	for _, c := range l.seen {
		if c.score >= least {
			l.docs = append(l.docs, c.doc)
		}
	}
	return l.docs
}

const (
	minCandidates = 200 // of each arm
	priorServers  = 5   // servers whose tools are candidates
	priorTools    = 400 // most candidates of one of them
)

// scoreCandidates scores, exactly, the best of each arm, tools of the servers
// that the query is most about, and the tools it names.
func (r *search) scoreCandidates() {
	k := max(minCandidates, 10*r.limit)
	if r.mode == Hybrid {
		r.collectLexical(k)
		r.collectServers()
	}
	for _, h := range r.space.near.Search(r.vec, r.allowed, k) {
		r.candidates = append(r.candidates, h.Doc)
	}
	r.candidates = append(r.candidates, r.named.docs...)
	r.candidates = slices.DeleteFunc(r.candidates, func(d uint32) bool { return !r.allows(d) })
	slices.Sort(r.candidates)
	r.candidates = slices.Compact(r.candidates)
	for _, d := range r.candidates {
		if r.refine(d); r.scores[d] >= r.floor() {
			r.total++
		}
	}
}

func (r *search) collectLexical(k int) {
	r.best.top.reset(k)
	for d, score := range r.bm25f {
		if score > 0 && r.allows(uint32(d)) {
			r.best.top.push(uint32(d), score)
		}
	}
	for _, c := range r.best.top.heap {
		r.candidates = append(r.candidates, c.doc)
	}
}

// collectServers takes the tools of the servers with the highest priors, of
// those that have allowed tools.
func (r *search) collectServers() {
	found := 0
	for _, h := range r.space.servers.Search(r.vec, nil, 10*priorServers) {
		docs := r.s.tools[h.Doc]
		if !slices.ContainsFunc(docs, r.allows) {
			continue
		}
		r.candidates = append(r.candidates, docs[:min(len(docs), priorTools)]...)
		if found++; found == priorServers {
			return
		}
	}
}
