package index

import (
	"math"
	"slices"

	"github.com/tooldex/tooldex/index/vector"
)

// noResult is the score of a document that is not allowed, or shares no term
// with a query of words alone: whatever the floor, it is no result.
var noResult = math.Inf(-1)

// weights make one score of a document's BM25F, cosine and server prior; each
// includes its share of the normalisation. They express all three modes.
type weights struct {
	keyword, cosine, prior float64
	alone                  float64 // of BM25F where the document has no vector
}

func (r *search) setWeights() {
	keyword := 0.0
	if r.lexical.Upper > 0 {
		keyword = 1 / r.lexical.Upper
	}
	switch r.mode {
	case Keyword:
		r.weights = weights{keyword: keyword, alone: keyword}
	case Semantic:
		r.weights = weights{cosine: 1}
	case Hybrid:
		f := r.fusion
		n := 1 + f.Gamma
		r.weights = weights{f.Lambda * keyword / n, (1 - f.Lambda) / n, f.Gamma / n, keyword}
	}
}

// score scores every allowed document, or, where these are too many to look at
// each vector, the candidates.
func (r *search) score() {
	r.setWeights()
	clear(r.keywords)
	if r.mode != Semantic {
		r.s.lexical.Scores(r.keywords, &r.lexical)
	}
	clear(r.priors)
	if r.space != nil && r.weights.prior > 0 {
		r.space.servers.Scores(r.priors, &r.query, nil)
	}
	r.partial = r.mode != Keyword && r.count > r.s.threshold
	switch {
	case r.partial:
		r.collect()
		r.space.rows.ScoresOf(r.cosines, &r.query, r.candidates)
		for d := range r.scores {
			r.scores[d] = noResult
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
			r.scores[d] = raised(max(0, r.scores[d]))
		}
	}
}

// fuse scores all documents.
func (r *search) fuse() {
	if r.space == nil {
		for d, keyword := range r.keywords {
			r.scores[d] = r.weights.words(keyword)
		}
	} else {
		w, rows, keywords := r.weights, r.space.rows, r.keywords[:len(r.scores)]
		for d, cosine := range r.cosines[:len(r.scores)] {
			if !rows.Has(d) {
				r.scores[d] = clip(w.alone * float64(keywords[d]))
				continue
			}
			r.scores[d] = w.fuse(keywords[d], cosine, r.prior(uint32(d), cosine))
		}
	}
	if r.allowed == nil {
		return
	}
	for d := range r.scores {
		if !r.allowed.Test(uint(d)) {
			r.scores[d] = noResult
		}
	}
}

// fused is the score of a document, given its cosine.
func (r *search) fused(doc uint32, cosine float32) float64 {
	switch keyword := r.keywords[doc]; {
	case r.space == nil:
		return r.weights.words(keyword)
	case !r.space.rows.Has(int(doc)):
		return clip(r.weights.alone * float64(keyword))
	default:
		return r.weights.fuse(keyword, cosine, r.prior(doc, cosine))
	}
}

// prior is the prior of a document's server. A tool without a server is its
// own.
func (r *search) prior(doc uint32, cosine float32) float32 {
	if server := r.s.server[doc]; int(server) < len(r.priors) {
		return r.priors[server]
	}
	return cosine
}

// fuse is the score of a document that has a vector.
func (w *weights) fuse(keyword, cosine, prior float32) float64 {
	return clip(w.keyword*float64(keyword) + w.cosine*float64(max(0, cosine)) + w.prior*float64(max(0, prior)))
}

// words is the score of a document by words alone.
func (w *weights) words(keyword float32) float64 {
	if keyword == 0 {
		return noResult
	}
	return clip(w.alone * float64(keyword))
}

// clip cuts what rounding adds to a score.
func clip(score float64) float64 {
	if score > 1 {
		return 1
	}
	return score
}

// raised is the score of a tool that the query names, given what it would be
// otherwise: above all others, in the same order.
func raised(s float64) float64 { return 1 - (1-s)/100 }

// bestOf returns the k best rows among the documents that ok accepts; nil
// accepts all.
func (r *search) bestOf(k int, ok func(doc uint32) bool) []vector.Hit {
	r.best.Reset(k)
	least := max(r.best.Least(), r.lowest())
	for d, score := range r.scores {
		if score >= least && score > noResult && (ok == nil || ok(uint32(d))) {
			r.best.Offer(vector.Hit{Doc: uint32(d), Score: score})
			least = max(least, r.best.Least())
		}
	}
	return slices.Clone(r.best.Hits)
}
