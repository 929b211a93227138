package index

import (
	"math"
	"slices"
	"sync"
)

const (
	minCandidates = 200 // of each arm
	priorServers  = 5   // servers whose tools are candidates
	priorTools    = 400 // most candidates of one of them
)

// scoreCandidates scores the best of each arm, tools of the servers that the
// query is most about, and the tools it names. As in a sweep, scores are exact
// where they decide.
func (r *search) scoreCandidates() {
	k := max(minCandidates, 10*r.limit)
	var near []uint32
	var wg sync.WaitGroup
	wg.Go(func() { near = r.space.near.Near(r.vec, r.allowed, k) })
	if r.mode == Hybrid {
		r.collectLexical(k)
		r.collectServers()
	}
	wg.Wait()
	r.candidates = append(r.candidates, near...)
	r.candidates = append(r.candidates, r.named.docs...)
	r.candidates = slices.DeleteFunc(r.candidates, func(d uint32) bool { return !r.allows(d) })
	slices.Sort(r.candidates)
	r.candidates = slices.Compact(r.candidates)
	r.probe.ScoresOf(r.cosines, r.candidates)
	r.sharpen(r.candidates)
	for _, d := range r.named.docs {
		r.refine(d)
	}
	r.narrow(r.limit, r.candidates)
	for _, d := range r.candidates {
		if math.Abs(r.scores[d]-r.floor()) <= r.margins.closely(r.scores[d]) {
			r.refine(d)
		}
		if r.scores[d] >= r.floor() {
			r.total++
		}
	}
}

func (r *search) collectLexical(k int) {
	r.s.lexical.Approximate(r.keywords, &r.lexical, 0, len(r.s.docs))
	top := &r.best.top
	top.reset(k)
	least := float32(0)
	for d, score := range r.keywords[:len(r.s.docs)] {
		if score <= least || !r.allows(uint32(d)) {
			continue
		}
		if top.push(uint32(d), float64(score)); len(top.heap) == k {
			least = float32(top.heap[0].score)
		}
	}
	for _, c := range top.heap {
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
