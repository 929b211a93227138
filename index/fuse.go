package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/vector"
)

// A space is the vectors of one identity for a snapshot's documents, with the
// embedder that makes query vectors for them.
type space struct {
	spaceInput
	of      *snapshot    // its documents
	absent  []bool       // by document; nil when every document has a vector
	servers *vector.Scan // by server: the mean of its tools' vectors, not normalised
	means   vector.Matrix
}

// A spaceInput is what a space is made of. Nothing of it may change
// afterwards.
type spaceInput struct {
	model    string        // identity of the vectors
	embedder Embedder      // for queries
	rows     vector.Matrix // by document number, unit length; all zero where there is none
	scan     *vector.Scan  // over rows; nil makes one
	near     nearer        // candidates among many documents; nil scans
	before   *space        // of which this one is made; nil for none
	from     []uint32      // by document: its number in before, vector.None where its vector is new
}

// A nearer finds the documents that are nearest to a query's vector: the best
// k, in order, or at least k, most of them among the best.
type nearer interface {
	vector.Searcher
	Near(q []float32, allowed *bitset.BitSet, k int) []uint32
}

// newSpace makes the space of vectors for the documents of s.
func newSpace(s *snapshot, in spaceInput) *space {
	if in.scan == nil {
		in.scan = vector.NewScan(in.rows)
	}
	if in.near == nil {
		in.near = in.scan
	}
	sp := &space{spaceInput: in, of: s, means: serverMeans(s, &in)}
	sp.servers = vector.NewScan(sp.means)
	sp.before, sp.from = nil, nil
	sp.findAbsent(s)
	return sp
}

// kept finds for each document of s its number in sp, vector.None where its
// vector in rows is another one. Documents of one id may come out as new.
func (sp *space) kept(s *snapshot, rows vector.Matrix) []uint32 {
	from := s.kept(sp.of)
	for i, old := range from {
		if old != vector.None && (rows.Dims == 0 || &rows.Row(i)[0] != &sp.rows.Row(int(old))[0]) {
			from[i] = vector.None
		}
	}
	return from
}

func (sp *space) findAbsent(s *snapshot) {
	for i := range s.docs {
		if i < sp.rows.Rows() && !isZero(sp.rows.Row(i)) {
			continue
		}
		if sp.absent == nil {
			sp.absent = make([]bool, len(s.docs))
		}
		sp.absent[i] = true
	}
}

func isZero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// serverMeans are the server priors: the unnormalised mean of the unit
// vectors of each server's tools, whose length says how much they belong
// together. Tools without a vector count as zero.
func serverMeans(s *snapshot, in *spaceInput) vector.Matrix {
	dims := in.rows.Dims
	m := vector.Matrix{Dims: dims, Data: make([]float32, len(s.servers)*dims)}
	var wg sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		wg.Go(func() {
			for server := part; server < len(s.servers); server += parts {
				in.mean(m.Row(server), s.servers[server], s.tools[server])
			}
		})
	}
	wg.Wait()
	return m
}

// mean sets a server's mean, which is all zero.
func (in *spaceInput) mean(mean []float32, server string, docs []uint32) {
	if old := in.sameServer(server, docs); old != nil {
		copy(mean, old)
		return
	}
	for _, d := range docs {
		for i, x := range in.rows.Row(int(d)) {
			mean[i] += x
		}
	}
	for i := range mean {
		mean[i] /= float32(max(len(docs), 1))
	}
}

// sameServer returns the mean that the space before has of a server, nil if
// its tools' vectors were others.
func (in *spaceInput) sameServer(name string, docs []uint32) []float32 {
	if in.before == nil {
		return nil
	}
	server, ok := slices.BinarySearch(in.before.of.servers, name)
	if !ok || len(in.before.of.tools[server]) != len(docs) {
		return nil
	}
	for i, old := range in.before.of.tools[server] {
		if in.from[docs[i]] != old {
			return nil
		}
	}
	return in.before.means.Row(server)
}

var errNoQueryVector = errors.New("the query gives no vector")

// query returns the unit vector of a query's text.
func (sp *space) query(ctx context.Context, timeout time.Duration, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := sp.embedder.EmbedQuery(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, err)
	}
	if len(v) != sp.rows.Dims {
		return nil, fmt.Errorf("embed query with %s: vector has %d dimensions, the catalog's have %d", sp.model, len(v), sp.rows.Dims)
	}
	if now := sp.embedder.Model(); now != sp.model {
		return nil, fmt.Errorf("embed query with %s: the embedder is %s by now", sp.model, now)
	}
	out, ok := unit(v)
	switch {
	case isZero(v): // whose cosine with everything is 0
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, ErrUnknownWords)
	case !ok:
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, errNoQueryVector)
	}
	return out, nil
}

// unit returns v at length 1, unless it is zero or not finite.
func unit(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	n := 1 / math.Sqrt(sum)
	if math.Abs(n-1) < 1e-6 {
		return v, true
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) * n)
	}
	return out, true
}

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

// lexical is the most that BM25F counts for in any document's score.
func (w weights) lexical(sp *space) float64 {
	if sp != nil && sp.absent == nil {
		return w.keyword
	}
	return w.alone
}

// fused is the score of a document, given its BM25F, its cosine and the
// weighted prior of its server. A tool without a server is its own.
func (r *search) fused(doc uint32, bm25f, cosine, prior float64) float64 {
	if r.space == nil || r.space.absent != nil && r.space.absent[doc] {
		return clip(r.weights.alone * bm25f)
	}
	cosine = max(0, cosine)
	if int(r.s.server[doc]) >= len(r.s.servers) {
		prior = cosine * r.weights.prior
	}
	return clip(r.weights.keyword*bm25f + r.weights.cosine*cosine + prior)
}

// blended is fused of what the arms said roughly.
func (r *search) blended(doc uint32) float64 {
	prior := 0.0
	if server := r.s.server[doc]; int(server) < len(r.priors) {
		prior = float64(r.priors[server])
	}
	return r.fused(doc, float64(r.keywords[doc]), float64(r.cosines[doc]), prior)
}

// clip cuts what rounding adds to a score.
func clip(score float64) float64 {
	if score > 1 {
		return 1
	}
	return score
}

// prior is the weighted prior of a document's server.
func (r *search) prior(doc uint32) float64 {
	server := r.s.server[doc]
	if r.weights.prior == 0 || int(server) >= len(r.s.servers) {
		return 0
	}
	return r.weights.prior * max(0, float64(r.space.servers.Score(r.vec, server)))
}
