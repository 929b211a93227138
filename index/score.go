package index

import "slices"

// score computes the scores that ranking needs, and the total.
func (r *search) score() {
	r.setWeights()
	r.bound()
	for i := range r.priors {
		r.priors[i] = -r.weights.prior // below zero: not needed yet
	}
	if r.partial = r.mode != Keyword && r.count > r.s.threshold; r.partial {
		r.scoreCandidates()
		return
	}
	r.sweep()
}

// bound finds how far approximate scores can be from the exact ones.
func (r *search) bound() {
	r.within = r.s.lexical.Within(&r.lexical) * r.weights.lexical(r.space)
	r.sharpened = r.within
	if r.space != nil {
		r.probe.Set(r.space.scan, r.vec)
		scores, sharpened := r.probe.Within()
		weight := r.weights.cosine + r.weights.prior
		r.within += float64(scores) * weight
		r.sharpened += float64(sharpened) * weight
	}
}

// sweep scores every allowed document approximately, in a pass that also
// finds the candidates for the first rows. Every score that can decide which
// rows are best or whether a document reaches the floor is then sharpened, and
// made exact where that does not decide: rows and totals are those of exact
// scores.
func (r *search) sweep() {
	floor := r.floor()
	r.low, r.high = floor-r.within, floor+r.within
	r.total, r.candidates = 0, r.candidates[:0]
	r.best.reset(r.limit, r.within, r.reach())
	for _, p := range r.runParts() {
		r.total += p.total
		for _, c := range p.best.seen {
			if c.score >= r.best.least {
				r.best.offer(c.doc, c.score)
			}
		}
	}
	r.candidates = append(r.candidates, r.narrow(r.limit, r.best.candidates())...)
	r.addNamed(floor)
}

// addNamed makes candidates of the tools that the query names, which reach
// any floor.
func (r *search) addNamed(floor float64) {
	for _, d := range r.named.docs {
		if !r.allows(d) {
			continue
		}
		if r.scores[d] < r.low && raised(r.scores[d]) >= floor {
			r.total++
		}
		if !slices.Contains(r.candidates, d) {
			r.candidates = append(r.candidates, d)
			r.best.see(d, r.scores[d])
			r.refine(d)
		}
	}
}

// narrow returns those of docs that can be among the best k of them, with
// their exact scores.
func (r *search) narrow(k int, docs []uint32) []uint32 {
	r.sharpen(docs)
	r.second.reset(k, r.sharpened, 1)
	for _, d := range docs {
		r.second.offer(d, r.scores[d])
	}
	docs = r.second.candidates()
	for _, d := range docs {
		r.refine(d)
	}
	return docs
}

// sharpen makes scores of the sweep nearly exact, but for those of tools that
// the query names, which are exact by another rule.
func (r *search) sharpen(docs []uint32) {
	if r.space == nil {
		return
	}
	r.probe.Sharpen(r.cosines, docs)
	for _, d := range docs {
		if !slices.Contains(r.named.docs, d) {
			r.scores[d] = r.fused(d, float64(r.keywords[d]), float64(r.cosines[d]))
		}
	}
}

// refine makes the score of a document exact, by the exact-name rule too.
func (r *search) refine(doc uint32) {
	cosine := 0.0
	if r.space != nil {
		cosine = float64(r.space.scan.Score(r.vec, doc))
	}
	score := r.fused(doc, r.bm25f(doc), cosine)
	if slices.Contains(r.named.docs, doc) {
		score = raised(score)
	}
	r.scores[doc] = score
}

// bm25f is the exact lexical score of a document.
func (r *search) bm25f(doc uint32) float64 {
	if r.mode == Semantic {
		return 0
	}
	return r.s.lexical.Score(doc, &r.lexical)
}

// bestSeen returns the k best rows among the documents that can take part in
// the answer and that ok accepts.
func (r *search) bestSeen(k int, ok func(doc uint32) bool) []scored {
	docs := r.candidates
	if !r.partial {
		r.second.reset(k, r.within, 1)
		for _, c := range r.best.seen {
			if ok(c.doc) {
				r.second.offer(c.doc, r.scores[c.doc])
			}
		}
		docs = r.narrow(k, r.second.candidates())
	}
	r.second.top.reset(k)
	for _, d := range docs {
		if ok(d) {
			r.second.top.push(d, r.scores[d])
		}
	}
	return r.second.top.sorted()
}
