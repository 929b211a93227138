package hnsw

import (
	"slices"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// A beam is the list of the best nodes a walk has met, best first, ties by
// lower number. A node is open until its links have been followed.
type beam struct {
	width int
	nodes []beamNode
	next  int // no open node before it
}

type beamNode struct {
	rank.Hit
	closed bool
}

func (b *beam) reset(width int) { b.width, b.nodes, b.next = width, b.nodes[:0], 0 }

// add inserts h unless width better ones are there.
func (b *beam) add(h rank.Hit) {
	n := len(b.nodes)
	if n == b.width && !h.Before(b.nodes[n-1].Hit) {
		return
	}
	lo, hi := 0, n
	for lo < hi {
		if mid := (lo + hi) / 2; b.nodes[mid].Before(h) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if n < b.width {
		b.nodes = append(b.nodes, beamNode{})
	}
	copy(b.nodes[lo+1:], b.nodes[lo:])
	b.nodes[lo] = beamNode{Hit: h}
	b.next = min(b.next, lo)
}

// open closes and returns the best open node.
func (b *beam) open() (node uint32, ok bool) {
	for ; b.next < len(b.nodes); b.next++ {
		if n := &b.nodes[b.next]; !n.closed {
			n.closed = true
			return n.Doc, true
		}
	}
	return 0, false
}

// A walker is the scratch of one walk.
type walker struct {
	beam
	query *vector.Query
	seen  []uint64 // bitmap of the nodes met
	steps int      // nodes whose links are followed at once
	best  rank.Top // documents, when a search fills it

	ids    []uint32
	scores []float32
}

// stepsAtOnce is how many nodes' links a search follows before it looks again
// which are the best: the more rows are asked for at once, the less each has
// to be waited for.
const stepsAtOnce = 4

// start prepares for walks with q over g.
func (w *walker) start(g *Graph, q *vector.Query) {
	words := (g.Nodes() + 63) / 64
	w.seen = slices.Grow(w.seen[:0], words)[:words]
	w.steps = 1
	w.query = q
}

// meet says whether a node is met for the first time in this walk.
func (w *walker) meet(node uint32) bool {
	bit := uint64(1) << (node % 64)
	first := w.seen[node/64]&bit == 0
	w.seen[node/64] |= bit
	return first
}

// score fills w.scores for w.ids.
func (w *walker) score(g *Graph) {
	w.scores = slices.Grow(w.scores[:0], len(w.ids))[:len(w.ids)]
	g.codes.Dots(w.scores, w.ids, w.query)
}

// descend goes greedily from the entry down to the layer above floor and
// leaves the best node it found as the whole beam.
func (w *walker) descend(g *Graph, floor int) {
	w.ids = append(w.ids[:0], g.entry)
	w.score(g)
	w.reset(1)
	w.add(rank.Hit{Doc: g.entry, Score: float64(w.scores[0])})
	for layer := int(g.level[g.entry]); layer > floor; layer-- {
		w.search(g, layer, 1, nil)
	}
}

// search widens the beam to width and follows all links on the layer that
// lead to anything better. It calls met, if any, each time with the nodes it
// meets and their scores in w.ids and w.scores, the beam's first.
func (w *walker) search(g *Graph, layer, width int, met func()) {
	clear(w.seen)
	w.ids = w.ids[:0]
	for i := range w.nodes {
		w.nodes[i].closed = false
		w.meet(w.nodes[i].Doc)
		w.ids = append(w.ids, w.nodes[i].Doc)
	}
	w.width, w.next = width, 0
	if met != nil {
		w.score(g)
		met()
	}
	for w.step(g, layer) {
		w.score(g)
		for i, id := range w.ids {
			w.add(rank.Hit{Doc: id, Score: float64(w.scores[i])})
		}
		if met != nil {
			met()
		}
	}
}

// step fills w.ids with the nodes that the best open ones lead to for the first
// time. Without open nodes the walk is over.
func (w *walker) step(g *Graph, layer int) bool {
	w.ids = w.ids[:0]
	for n := 0; n < w.steps || len(w.ids) == 0; n++ {
		node, ok := w.open()
		if !ok {
			break
		}
		for _, other := range g.links(node, layer) {
			if other == none {
				break
			}
			if w.meet(other) {
				w.ids = append(w.ids, other)
			}
		}
	}
	return len(w.ids) > 0
}
