// Package rank makes one score of what is known of a document, and an order of
// scored documents. It holds no state: the search engine and whoever scores
// its candidates under other parameters share it.
package rank

import "math"

// A Mode is a way of ranking.
type Mode string

// The modes of a search.
const (
	Keyword  Mode = "keyword"  // BM25F over its upper bound
	Semantic Mode = "semantic" // cosine of the vectors, not below 0
	Hybrid   Mode = "hybrid"   // a convex combination of both and the server prior
)

// Fusion weighs the two arms and the server prior:
// (Lambda·keyword + (1−Lambda)·cosine + Gamma·prior) / (1 + Gamma).
type Fusion struct {
	Lambda float64 `json:"lambda"`
	Gamma  float64 `json:"gamma"`
}

// NoResult is the score of a document that is not allowed, or shares no term
// with a query of words alone: whatever the floor, it is no result.
var NoResult = math.Inf(-1)

// Weights make one score of a document's BM25F, cosine and server prior; each
// includes its share of the normalisation. They express all three modes.
type Weights struct {
	Keyword, Cosine, Prior float64
	Alone                  float64 // of BM25F where the document has no vector
}

// Weigh returns the weights of a mode, given the upper bound of BM25F.
func Weigh(mode Mode, f Fusion, upper float64) Weights {
	alone := 0.0
	if upper > 0 {
		alone = 1 / upper
	}
	switch mode {
	case Keyword:
		return Weights{Keyword: alone, Alone: alone}
	case Semantic:
		return Weights{Cosine: 1}
	default:
		n := 1 + f.Gamma
		return Weights{f.Lambda * alone / n, (1 - f.Lambda) / n, f.Gamma / n, alone}
	}
}

// Score is that of a document that has a vector. Products are rounded before
// the sum, so that every processor ranks alike.
func (w *Weights) Score(keyword, cosine, prior float64) float64 {
	return clip(float64(w.Keyword*keyword) + float64(w.Cosine*max(0, cosine)) + float64(w.Prior*max(0, prior)))
}

// Words is the score of a document that has none.
func (w *Weights) Words(keyword float64) float64 { return clip(w.Alone * keyword) }

// clip cuts what rounding adds to a score.
func clip(score float64) float64 {
	if score > 1 {
		return 1
	}
	return score
}

// Named is the score of a tool that the query names, given what it would be
// otherwise: above all others, in the same order.
func Named(score float64) float64 { return 1 - (1-max(0, score))/100 }
