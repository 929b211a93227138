package vector

import (
	"cmp"
	"slices"
)

// better reports whether a ranks before b: by score, ties by lower number.
func better(a, b Hit) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Doc < b.Doc
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
}

// topK keeps the k best hits it is offered, the worst of them at the root of
// a heap.
type topK struct {
	k    int
	hits []Hit
}

func (t *topK) reset(k int) { t.k, t.hits = k, t.hits[:0] }

func (t *topK) full() bool { return len(t.hits) >= t.k }

// worst is the lowest kept hit; the heap must not be empty.
func (t *topK) worst() Hit { return t.hits[0] }

func (t *topK) offer(h Hit) {
	if len(t.hits) < t.k {
		t.hits = append(t.hits, h)
		t.up(len(t.hits) - 1)
		return
	}
	if t.k > 0 && better(h, t.hits[0]) {
		t.hits[0] = h
		t.down()
	}
}

func (t *topK) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !better(t.hits[parent], t.hits[i]) {
			return
		}
		t.hits[parent], t.hits[i] = t.hits[i], t.hits[parent]
		i = parent
	}
}

func (t *topK) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(t.hits) {
			return
		}
		if r := child + 1; r < len(t.hits) && better(t.hits[child], t.hits[r]) {
			child = r
		}
		if !better(t.hits[i], t.hits[child]) {
			return
		}
		t.hits[i], t.hits[child] = t.hits[child], t.hits[i]
		i = child
	}
}

// sorted returns a copy of the kept hits, best first.
func (t *topK) sorted() []Hit {
	hits := slices.Clone(t.hits)
	slices.SortFunc(hits, compareHits)
	return hits
}
