package index

import (
	"math"
	"slices"
)

// A shortlist finds the best k of scores that may be wrong by some error. Once
// k are known, no document that is two errors or more below the last of them
// can be among the k.
type shortlist struct {
	top   ranking
	error float64
	reach float64 // share of the k-th score down to which documents are kept
	least float64 // what a score must reach to be offered
	seen  []scored
	docs  []uint32
}

// reset starts anew. A reach below 1 keeps documents in seen that score as
// much less than the k-th.
func (l *shortlist) reset(k int, error, reach float64) {
	l.top.reset(k)
	l.error, l.reach, l.least, l.seen, l.docs = error, reach, math.Inf(-1), l.seen[:0], l.docs[:0]
}

func (l *shortlist) offer(doc uint32, score float64) {
	l.seen = append(l.seen, scored{doc, score})
	l.top.push(doc, score)
	if len(l.top.heap) == l.top.k && l.top.k > 0 {
		l.least = l.reach*l.top.heap[0].score - 2*l.error
	}
}

// see keeps a document that was not offered.
func (l *shortlist) see(doc uint32, score float64) {
	if !slices.ContainsFunc(l.seen, func(c scored) bool { return c.doc == doc }) {
		l.seen = append(l.seen, scored{doc, score})
	}
}

// candidates are the documents that can be among the k.
func (l *shortlist) candidates() []uint32 {
	least := math.Inf(-1)
	if len(l.top.heap) == l.top.k && l.top.k > 0 {
		least = l.top.heap[0].score - 2*l.error
	}
	for _, c := range l.seen {
		if c.score >= least {
			l.docs = append(l.docs, c.doc)
		}
	}
	return l.docs
}
