package index

import (
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
		r.space.servers.Scores(r.priors, &r.query, nil)
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

// fuse scores all documents.
func (r *search) fuse() {
	for d, cosine := range r.cosines {
		r.scores[d] = r.fused(uint32(d), cosine)
	}
	if r.allowed == nil {
		return
	}
	for d := range r.scores {
		if !r.allowed.Test(uint(d)) {
			r.scores[d] = rank.NoResult
		}
	}
}

// fused is the score of a document, given its cosine. A tool without a server
// is its own.
func (r *search) fused(doc uint32, cosine float32) float64 {
	keyword := r.keywords[doc]
	switch {
	case r.space == nil && keyword == 0:
		return rank.NoResult
	case r.space == nil || !r.space.rows.Has(int(doc)):
		return r.weights.Words(float64(keyword))
	}
	prior := cosine
	if server := r.s.server[doc]; int(server) < len(r.priors) {
		prior = r.priors[server]
	}
	return r.weights.Score(float64(keyword), float64(cosine), float64(prior))
}

// bestOf returns the k best rows among the documents that ok accepts; nil
// accepts all.
func (r *search) bestOf(k int, ok func(doc uint32) bool) []rank.Hit {
	r.best.Reset(k)
	least := max(r.best.Least(), r.lowest())
	for d, score := range r.scores {
		if score >= least && score > rank.NoResult && (ok == nil || ok(uint32(d))) {
			r.best.Offer(rank.Hit{Doc: uint32(d), Score: score})
			least = max(least, r.best.Least())
		}
	}
	return slices.Clone(r.best.Hits)
}
