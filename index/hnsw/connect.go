package hnsw

// connect gives nodes that no walk on layer 0 can reach, their links from
// others having been crowded out, a link from the nearest reachable node that
// has room.
func (b *builder) connect() {
	g := b.g
	if g.entry == none {
		return
	}
	reached := make([]bool, g.Nodes())
	reach(g, reached, g.entry)
	s := &b.scratch[0]
	for n := range reached {
		if reached[n] {
			continue
		}
		s.node.Set(g.codes.Row(n))
		s.start(g, &s.node)
		s.descend(g, 0)
		s.search(g, 0, efConstruction, nil)
		for _, h := range s.nodes {
			if links := g.links(h.Doc, 0); links[linksBase-1] == none {
				links[firstNone(links)] = uint32(n)
				reach(g, reached, uint32(n))
				break
			}
		}
	}
}

// reach marks the nodes that layer 0 leads to from a node.
func reach(g *Graph, reached []bool, from uint32) {
	reached[from] = true
	for stack := []uint32{from}; len(stack) > 0; {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, other := range g.links(node, 0) {
			if other == none {
				break
			}
			if !reached[other] {
				reached[other] = true
				stack = append(stack, other)
			}
		}
	}
}

// firstNone returns how many neighbours a list has.
func firstNone(links []uint32) int {
	for i, l := range links {
		if l == none {
			return i
		}
	}
	return len(links)
}
