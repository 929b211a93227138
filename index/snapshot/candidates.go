package snapshot

import (
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

const (
	minCandidates = 200 // of each arm
	priorServers  = 5   // servers whose tools are candidates
	priorTools    = 400 // most candidates of one of them
)

// collect takes as candidates the best of each arm, tools of the servers that
// the query is most about, and the tools it names.
func (r *search) collect() {
	clear(r.seen)
	k := max(minCandidates, 10*r.limit)
	for _, h := range r.space.near.Near(&r.query, r.allowed, k) {
		r.candidate(h.Doc)
	}
	if r.mode == Hybrid {
		r.collectWords(k)
		r.collectServers()
	}
	for _, d := range r.named.docs {
		r.candidate(d)
	}
}

// candidate takes an allowed document among the candidates, once.
func (r *search) candidate(d uint32) {
	if bit := uint64(1) << (d % 64); r.seen[d/64]&bit == 0 && r.allows(d) {
		r.seen[d/64] |= bit
		r.candidates = append(r.candidates, d)
	}
}

// collectWords takes the best k by their words.
func (r *search) collectWords(k int) {
	r.best.Reset(k)
	least := float32(0)
	for d, score := range r.keywords {
		if score <= least || !r.allows(uint32(d)) {
			continue
		}
		r.best.Offer(rank.Hit{Doc: uint32(d), Score: float64(score)})
		least = max(0, float32(r.best.Least()))
	}
	for _, h := range r.best.Hits {
		r.candidate(h.Doc)
	}
}

// collectServers takes the tools of the servers with the highest priors, of
// those that have allowed tools.
func (r *search) collectServers() {
	r.best.Reset(priorServers)
	for server, prior := range r.priors {
		score := float64(prior)
		if score > r.best.Least() && (r.allowed == nil || slices.ContainsFunc(r.s.tools[server], r.allows)) {
			r.best.Offer(rank.Hit{Doc: uint32(server), Score: score})
		}
	}
	for _, h := range r.best.Hits {
		docs := r.s.tools[h.Doc]
		for _, d := range docs[:min(len(docs), priorTools)] {
			r.candidate(d)
		}
	}
}
