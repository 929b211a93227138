package vector

// A beam is the list of the best nodes a walk has met, best first, ties by
// lower number. A node is open until its links have been followed.
type beam struct {
	width int
	nodes []beamNode
	next  int // no open node before it
}

type beamNode struct {
	Hit
	closed bool
}

func (b *beam) reset(width int) { b.width, b.nodes, b.next = width, b.nodes[:0], 0 }

// add inserts h unless width better ones are there.
func (b *beam) add(h Hit) {
	n := len(b.nodes)
	if n == b.width && !better(h, b.nodes[n-1].Hit) {
		return
	}
	lo, hi := 0, n
	for lo < hi {
		if mid := (lo + hi) / 2; better(b.nodes[mid].Hit, h) {
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

// A walker is the scratch of one walk. The scores of a walk are those of the
// codes; whoever needs exact ones computes them for what was found.
type walker struct {
	beam
	coded codedQuery
	seen  []uint32 // by node: the walk that met it
	walk  uint32
	best  topK // documents, when a search fills it

	ids    []uint32
	scores []float32
}

// start prepares for walks with q over g.
func (w *walker) start(g *Graph, q []float32) {
	if len(w.seen) < g.Nodes() {
		w.seen, w.walk = make([]uint32, g.Nodes()), 0
	}
	w.coded.set(q, g.codes.stride)
}

// newWalk forgets which nodes were met.
func (w *walker) newWalk() {
	if w.walk++; w.walk == 0 { // wrapped: old marks would look fresh
		clear(w.seen)
		w.walk = 1
	}
}

// score fills w.scores for w.ids.
func (w *walker) score(g *Graph) {
	if n := len(w.ids); cap(w.scores) < n {
		w.scores = make([]float32, n)
	}
	w.scores = w.scores[:len(w.ids)]
	g.codes.dots(w.scores, w.ids, &w.coded, 0)
}

// descend goes greedily from the entry down to the layer above floor and
// leaves the best node it found as the whole beam.
func (w *walker) descend(g *Graph, floor int) {
	w.ids = append(w.ids[:0], g.entry)
	w.score(g)
	w.reset(1)
	w.add(Hit{g.entry, w.scores[0]})
	for layer := int(g.level[g.entry]); layer > floor; layer-- {
		w.search(g, layer, 1, nil)
	}
}

// search widens the beam to width and follows all links on the layer that
// lead to anything better. It calls met, if any, with each lot of nodes it
// meets and their scores in w.ids and w.scores, the beam's first.
func (w *walker) search(g *Graph, layer, width int, met func()) {
	w.newWalk()
	w.ids = w.ids[:0]
	for i := range w.nodes {
		w.nodes[i].closed = false
		w.seen[w.nodes[i].Doc] = w.walk
		w.ids = append(w.ids, w.nodes[i].Doc)
	}
	w.width, w.next = width, 0
	if met != nil {
		w.score(g)
		met()
	}
	for node, ok := w.open(); ok; node, ok = w.open() {
		w.ids = w.ids[:0]
		for _, other := range g.links(node, layer) {
			if other == none {
				break
			}
			if w.seen[other] != w.walk {
				w.seen[other] = w.walk
				w.ids = append(w.ids, other)
			}
		}
		if len(w.ids) == 0 {
			continue
		}
		w.score(g)
		for i, id := range w.ids {
			w.add(Hit{id, w.scores[i]})
		}
		if met != nil {
			met()
		}
	}
}
