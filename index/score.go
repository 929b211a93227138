package index

import "slices"

// score computes the scores that ranking needs, and the total.
func (r *search) score() {
	r.setWeights()
	r.bound()
	if r.partial = r.mode != Keyword && r.count > r.s.threshold; r.partial {
		r.scoreCandidates()
		return
	}
	r.sweep()
}

// margins bound how far approximate scores can be from the exact ones.
type margins struct {
	fixed, slope float64   // of the sweep's: fixed + slope times the document's size + relative times the score
	sizes        []float32 // by document
	sharpened    float64   // of sharpened ones: sharpened + relative times the score
	relative     float64
}

func (r *search) bound() {
	const rounding = 2e-6 // of sums of a few 32-bit numbers up to 1
	fixed, relative := r.s.lexical.Within(&r.lexical)
	fixed = fixed*r.weights.lexical(r.space) + rounding
	r.margins = margins{fixed: fixed, sharpened: fixed, relative: relative}
	if r.space == nil {
		return
	}
	r.probe.Set(r.space.scan, r.vec)
	r.servers.Set(r.space.servers, r.vec)
	e, priors := r.probe.Errors(), float64(r.servers.Errors().Sharpened)*r.weights.prior
	weight := r.weights.cosine
	if r.s.unnamed { // whose cosine is their prior, too
		weight += r.weights.prior
	}
	r.margins.fixed += float64(e.Fixed)*weight + priors
	r.margins.slope = float64(e.Slope) * weight
	r.margins.sizes = e.Sizes
	r.margins.sharpened += float64(e.Sharpened)*weight + priors
}

// within is how far the sweep's score of a document can be from the exact one.
func (m *margins) within(doc uint32, score float64) float64 {
	within := m.fixed + m.relative*score
	if m.slope > 0 {
		within += m.slope * float64(m.sizes[doc])
	}
	return within
}

// closely is how far a sharpened score can be from the exact one.
func (m *margins) closely(score float64) float64 { return m.sharpened + m.relative*score }

// sweep scores every allowed document approximately, in a pass that also
// finds the candidates for the first rows. Every score that can decide which
// rows are best or whether a document reaches the floor is then sharpened, and
// made exact where that does not decide: rows and totals are those of exact
// scores.
func (r *search) sweep() {
	r.total, r.candidates = 0, r.candidates[:0]
	clear(r.sharp)
	r.best.reset(r.limit, r.reach())
	parts := r.runParts()
	for i := range parts {
		r.best.least = max(r.best.least, parts[i].best.least)
	}
	for i := range parts {
		p := &parts[i]
		r.total += p.total
		for _, b := range p.best.seen {
			if b.high >= r.best.least {
				r.best.offer(b)
			}
		}
	}
	r.addNamed()
	r.candidates = append(r.candidates, r.narrow(r.limit, r.best.candidates())...)
	slices.Sort(r.candidates)
	r.candidates = slices.Compact(r.candidates)
}

// addNamed makes candidates of the tools that the query names, and counts
// those that reach the floor only because they are named.
func (r *search) addNamed() {
	floor := r.floor()
	for _, d := range r.named.docs {
		if !r.allows(d) {
			continue
		}
		rough := float64(r.rough[d])
		uncounted := rough < floor-r.margins.within(d, rough)
		r.candidates = append(r.candidates, d)
		if r.refine(d); uncounted && r.scores[d] >= floor {
			r.total++
		}
		r.best.know(bounds{d, r.scores[d], r.scores[d]})
	}
}

// narrow returns those of docs that can be among the best k of them, with
// their exact scores.
func (r *search) narrow(k int, docs []uint32) []uint32 {
	r.sharpen(docs)
	r.second.reset(k, 1)
	for _, d := range docs {
		score := r.scores[d]
		within := r.margins.closely(score)
		r.second.offer(bounds{d, score - within, score + within})
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
	var blunt [64]uint32
	for len(docs) > 0 {
		n := min(len(docs), len(blunt))
		some := blunt[:0]
		for _, d := range docs[:n] {
			if bit := uint64(1) << (d % 64); r.sharp[d/64]&bit == 0 {
				r.sharp[d/64] |= bit
				some = append(some, d)
			}
		}
		r.probe.Sharpen(r.cosines, some)
		for _, d := range some {
			if !slices.Contains(r.named.docs, d) {
				r.scores[d] = r.blended(d)
			}
		}
		docs = docs[n:]
	}
}

// refine makes the score of a document exact, by the exact-name rule too.
func (r *search) refine(doc uint32) {
	cosine, prior := 0.0, 0.0
	if r.space != nil {
		cosine, prior = float64(r.space.scan.Score(r.vec, doc)), r.prior(doc)
	}
	score := r.fused(doc, r.bm25f(doc), cosine, prior)
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
	var docs []uint32
	if r.partial {
		docs = slices.DeleteFunc(slices.Clone(r.candidates), func(d uint32) bool { return !ok(d) })
	} else {
		r.second.reset(k, 1)
		for _, b := range r.best.seen {
			if ok(b.doc) {
				r.second.offer(b)
			}
		}
		docs = r.second.candidates()
	}
	docs = r.narrow(k, docs)
	r.second.top.reset(k)
	for _, d := range docs {
		r.second.top.push(d, r.scores[d])
	}
	return r.second.top.sorted()
}
