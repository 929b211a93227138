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
	clear(r.sharp)
	k := max(minCandidates, 10*r.limit)
	if r.mode == Hybrid {
		r.collectBoth(k)
	} else {
		r.prime() // without weight
		for _, h := range r.space.near.Search(r.vec, r.allowed, k) {
			r.candidate(h.Doc)
		}
	}
	for _, d := range r.named.docs {
		r.candidate(d)
	}
	r.probe.ScoresOf(r.cosines, r.candidates)
	r.probe.Sharpen(r.cosines, r.candidates)
	for _, d := range r.candidates {
		r.scores[d] = r.blended(d)
	}
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

// candidate takes an allowed document among the candidates, once. All of them
// will be sharp.
func (r *search) candidate(d uint32) {
	if bit := uint64(1) << (d % 64); r.sharp[d/64]&bit == 0 && r.allows(d) {
		r.sharp[d/64] |= bit
		r.candidates = append(r.candidates, d)
	}
}

// collectBoth takes the best of both arms, and tools of the servers that the
// query is most about. The words, which take less time, are left to another
// goroutine, which may wake up late.
func (r *search) collectBoth(k int) {
	var words sync.WaitGroup
	words.Go(func() {
		r.bestOfWords(k)
		r.prime()
	})
	near := r.space.near.Near(r.vec, r.allowed, k)
	words.Wait()
	for _, d := range near {
		r.candidate(d)
	}
	for _, c := range r.best.top.heap {
		r.candidate(c.doc)
	}
	r.collectServers()
}

// bestOfWords fills the keywords of all documents and ranks the best k.
func (r *search) bestOfWords(k int) {
	clear(r.keywords)
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
}

// collectServers takes the tools of the servers with the highest priors, of
// those that have allowed tools.
func (r *search) collectServers() {
	var best ranking
	best.reset(priorServers)
	for server, prior := range r.priors {
		full := len(best.heap) == priorServers
		if full && float64(prior) <= best.heap[0].score || r.allowed != nil && !slices.ContainsFunc(r.s.tools[server], r.allows) {
			continue
		}
		best.push(uint32(server), float64(prior))
	}
	for _, c := range best.heap {
		docs := r.s.tools[c.doc]
		for _, d := range docs[:min(len(docs), priorTools)] {
			r.candidate(d)
		}
	}
}
