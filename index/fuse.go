package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tooldex/tooldex/index/vector"
)

// A space is the vectors of one identity for a snapshot's documents, with the
// embedder that makes query vectors for them.
type space struct {
	spaceInput
	absent  []bool        // by document; nil when every document has a vector
	servers vector.Matrix // by server: the mean of its tools' vectors, not normalised
}

// A spaceInput is what a space is made of. Nothing of it may change
// afterwards.
type spaceInput struct {
	model    string          // identity of the vectors
	embedder Embedder        // for queries
	rows     vector.Matrix   // by document number, unit length; all zero where there is none
	scan     *vector.Scan    // over rows; nil makes one
	near     vector.Searcher // candidates among many documents; nil scans
}

// newSpace makes the space of vectors for the documents of s.
func newSpace(s *snapshot, in spaceInput) *space {
	if in.scan == nil {
		in.scan = vector.NewScan(in.rows)
	}
	if in.near == nil {
		in.near = in.scan
	}
	sp := &space{spaceInput: in, servers: serverMeans(s, in.rows)}
	sp.findAbsent(s)
	return sp
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
func serverMeans(s *snapshot, rows vector.Matrix) vector.Matrix {
	m := vector.Matrix{Dims: rows.Dims, Data: make([]float32, len(s.servers)*rows.Dims)}
	tools := make([]int, len(s.servers))
	for d, server := range s.server {
		if int(server) >= len(s.servers) || d >= rows.Rows() {
			continue
		}
		tools[server]++
		mean := m.Row(int(server))
		for i, x := range rows.Row(d) {
			mean[i] += x
		}
	}
	for server, n := range tools {
		mean := m.Row(server)
		for i := range mean {
			mean[i] /= float32(max(n, 1))
		}
	}
	return m
}

var errNoQueryVector = errors.New("the query gives no vector")

// query returns the unit vector of a query's text. One that the model knows
// no word of is zero, and an error: the lexical arm then decides alone.
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
	if !ok {
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

// parts are what a score is made of.
type parts struct {
	keyword, cosine, prior float64
	hasVector              bool
}

// fused is the score of a document in the search's mode.
func (r *search) fused(p parts) float64 {
	switch {
	case r.mode == Keyword || r.mode == Hybrid && !p.hasVector:
		return p.keyword
	case r.mode == Semantic:
		return min(1, max(0, p.cosine))
	}
	f := r.fusion
	s := f.Lambda*p.keyword + (1-f.Lambda)*max(0, p.cosine) + f.Gamma*max(0, p.prior)
	return min(1, s/(1+f.Gamma))
}

// partsOf gathers a document's parts, given its BM25F and cosine.
func (r *search) partsOf(doc uint32, bm25f, cosine float64) parts {
	p := parts{cosine: cosine}
	if r.lexical.Upper > 0 {
		p.keyword = bm25f / r.lexical.Upper
	}
	if r.space == nil {
		return p
	}
	p.hasVector = r.space.absent == nil || !r.space.absent[doc]
	p.prior = cosine // a tool without a server is its own
	if server := r.s.server[doc]; int(server) < len(r.priors) {
		p.prior = float64(r.priors[server])
	}
	return p
}

// keywordScores makes final scores of BM25F alone.
func (r *search) keywordScores() {
	if r.lexical.Upper == 0 {
		return
	}
	for d := range r.scores {
		r.scores[d] /= r.lexical.Upper
	}
}

// fuseAll makes final scores for all documents, allowed or not, of BM25F and
// cosines.
func (r *search) fuseAll() {
	for d, bm25f := range r.scores {
		r.scores[d] = r.fused(r.partsOf(uint32(d), bm25f, float64(r.cosines[d])))
	}
}

const (
	minCandidates = 200 // of each arm
	priorServers  = 5   // servers whose tools are candidates
	priorTools    = 400 // most candidates of one of them
)

// collect gathers candidates: the best of each arm, the tools of the servers
// the query is most about, and the tools it names.
func (r *search) collect() {
	k := max(minCandidates, 10*r.limit)
	if r.mode == Hybrid {
		r.top.reset(k)
		for d, score := range r.scores {
			if score > 0 && (r.allowed == nil || r.allowed.Test(uint(d))) {
				r.top.push(uint32(d), score)
			}
		}
		for _, c := range r.top.sorted() {
			r.candidates = append(r.candidates, c.doc)
		}
		r.collectServers()
	}
	for _, h := range r.space.near.Search(r.vec, r.allowed, k) {
		r.candidates = append(r.candidates, h.Doc)
	}
	r.candidates = append(r.candidates, r.named.docs...)
	r.candidates = slices.DeleteFunc(r.candidates, func(d uint32) bool {
		return r.allowed != nil && !r.allowed.Test(uint(d))
	})
	slices.Sort(r.candidates)
	r.candidates = slices.Compact(r.candidates)
}

// collectServers adds tools of the servers with the highest priors.
func (r *search) collectServers() {
	r.top.reset(priorServers)
	for server, p := range r.priors {
		if p > 0 {
			r.top.push(uint32(server), float64(p))
		}
	}
	for _, c := range r.top.sorted() {
		docs := r.s.tools[c.doc]
		r.candidates = append(r.candidates, docs[:min(len(docs), priorTools)]...)
	}
}

// candidateScores makes the final scores of the candidates.
func (r *search) candidateScores() {
	for _, d := range r.candidates {
		cosine := float64(r.space.scan.Score(r.vec, d))
		r.scores[d] = r.fused(r.partsOf(d, r.scores[d], cosine))
		r.cosines[d] = float32(cosine)
	}
}
