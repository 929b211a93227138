package index

import "math"

// A shortlist finds the best k of scores that are only known to lie between
// two bounds. Once k are known, no document whose upper bound is below the k-th
// of the lower bounds can be among the k.
type shortlist struct {
	top   ranking // of the lower bounds
	reach float64 // share of the k-th score down to which documents are kept
	least float64 // what an upper bound must reach to be offered
	seen  []bounds
	docs  []uint32
}

// bounds are what is known of a document's score.
type bounds struct {
	doc       uint32
	low, high float64
}

// reset starts anew. A reach below 1 keeps documents in seen that score as
// much less than the k-th.
func (l *shortlist) reset(k int, reach float64) {
	l.top.reset(k)
	l.reach, l.least, l.seen, l.docs = reach, math.Inf(-1), l.seen[:0], l.docs[:0]
}

func (l *shortlist) offer(b bounds) {
	l.seen = append(l.seen, b)
	l.top.push(b.doc, b.low)
	l.least = max(l.least, l.reach*l.last())
}

// last is the k-th of the lower bounds.
func (l *shortlist) last() float64 {
	if len(l.top.heap) < l.top.k || l.top.k == 0 {
		return math.Inf(-1)
	}
	return l.top.heap[0].score
}

// know replaces what is known of a document.
func (l *shortlist) know(b bounds) {
	for i := range l.seen {
		if l.seen[i].doc == b.doc {
			l.seen[i] = b
			return
		}
	}
	l.seen = append(l.seen, b)
}

// candidates are the documents that can be among the k.
func (l *shortlist) candidates() []uint32 {
	least := l.last()
	for _, b := range l.seen {
		if b.high >= least {
			l.docs = append(l.docs, b.doc)
		}
	}
	return l.docs
}
