package index

import "slices"

// A scored is one document with its score.
type scored struct {
	doc   uint32
	score float64
}

// better says whether a ranks before b: by score, ties by number.
func (a scored) better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.doc < b.doc
}

// A ranking keeps the best k of what is pushed: a bounded heap with the worst
// on top.
type ranking struct {
	k    int
	heap []scored
}

func (r *ranking) reset(k int) { r.k, r.heap = k, r.heap[:0] }

func (r *ranking) push(doc uint32, score float64) {
	c := scored{doc, score}
	if len(r.heap) < r.k {
		r.heap = append(r.heap, c)
		r.up(len(r.heap) - 1)
		return
	}
	if r.k > 0 && c.better(r.heap[0]) {
		r.heap[0] = c
		r.down(0)
	}
}

func (r *ranking) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.heap[parent].better(r.heap[i]) {
			return
		}
		r.heap[parent], r.heap[i] = r.heap[i], r.heap[parent]
		i = parent
	}
}

func (r *ranking) down(i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(r.heap); c++ {
			if r.heap[worst].better(r.heap[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		r.heap[worst], r.heap[i] = r.heap[i], r.heap[worst]
		i = worst
	}
}

// sorted returns what is kept, best first, and ends the heap. It is valid
// until the next reset.
func (r *ranking) sorted() []scored {
	slices.SortFunc(r.heap, func(a, b scored) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	return r.heap
}
