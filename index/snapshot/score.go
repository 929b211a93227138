package snapshot

import (
	"math/bits"
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

// score scores every allowed document, or, where these are too many to look at
// each vector, the candidates.
func (r *search) score() {
	r.weights = rank.Weigh(r.mode, r.fusion, r.lexical.Upper)
	clear(r.keywords)
	if r.mode != Semantic {
		r.s.lexical.Scores(r.keywords, &r.lexical)
	}
	clear(r.priors)
	if r.space != nil && r.weights.Prior > 0 {
		means(r).Scores(r.priors, &r.query, nil)
	}
	r.partial = r.mode != Keyword && r.count > r.s.threshold
	switch {
	case r.partial:
		r.collect()
		r.space.rows.ScoresOf(r.cosines, &r.query, r.candidates)
		for d := range r.scores {
			r.scores[d] = rank.NoResult
		}
		for _, d := range r.candidates {
			r.scores[d] = r.fused(d, r.cosines[d])
		}
	case r.space != nil:
		r.space.rows.Scores(r.cosines, &r.query, r.allowed)
		r.fuse()
	default:
		r.fuse()
	}
	for _, d := range r.named.docs {
		if r.allows(d) {
			r.scores[d] = rank.Named(r.scores[d])
		}
	}
}

// fuse scores all documents. It says the same as fused, in a loop without
// calls: it is a third of a search's time.
func (r *search) fuse() {
	w, none, keywords := r.weights, rank.NoResult, r.keywords[:len(r.scores)]
	if r.space == nil {
		for d, keyword := range keywords {
			if r.scores[d] = none; keyword > 0 {
				r.scores[d] = w.Words(float64(keyword))
			}
		}
	} else {
		rows := r.space.rows
		for d, cosine := range r.cosines[:len(r.scores)] {
			if rows.Has(d) {
				r.scores[d] = w.Score(float64(keywords[d]), float64(cosine), float64(r.prior(uint32(d), cosine)))
			} else {
				r.scores[d] = w.Words(float64(keywords[d]))
			}
		}
	}
	if r.allowed == nil {
		return
	}
	for i, word := range r.allowed.Words() { // most scopes show almost all
		for rest := ^word; rest != 0; rest &= rest - 1 {
			if d := 64*i + bits.TrailingZeros64(rest); d < len(r.scores) {
				r.scores[d] = none
			}
		}
	}
}

// fused is the score of a document, given its cosine.
func (r *search) fused(doc uint32, cosine float32) float64 {
	keyword := float64(r.keywords[doc])
	switch {
	case r.space == nil && keyword == 0:
		return rank.NoResult
	case r.space == nil || !r.space.rows.Has(int(doc)):
		return r.weights.Words(keyword)
	}
	return r.weights.Score(keyword, float64(cosine), float64(r.prior(doc, cosine)))
}

// prior is the prior of a document's server. A tool without a server is its
// own.
func (r *search) prior(doc uint32, cosine float32) float32 {
	if server := r.s.server[doc]; int(server) < len(r.priors) {
		return r.priors[server]
	}
	return cosine
}

// bestOf returns the k best rows among the documents that ok accepts; nil
// accepts all.
func (r *search) bestOf(k int, ok func(doc uint32) bool) []rank.Hit {
	r.best.Reset(k)
	lowest := r.lowest()
	least := lowest
	for d, score := range r.scores {
		if score >= least && (ok == nil || ok(uint32(d))) {
			r.best.Offer(rank.Hit{Doc: uint32(d), Score: score})
			least = max(lowest, r.best.Least())
		}
	}
	return slices.Clone(r.best.Hits)
}
