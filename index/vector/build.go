package vector

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// batchNodes are linked at once: each finds its neighbours in the graph
// without the batch, and among the batch by looking at all of it. The order
// of work within a batch then changes nothing.
const batchNodes = 256

// BuildOptions tune Build. The zero value uses all cores.
type BuildOptions struct {
	Workers  int                   // goroutines; 0 means GOMAXPROCS
	Progress func(done, total int) // called after each batch, from one goroutine
}

// Build makes a graph over the present rows of m; keys are the documents'
// identities, one a row, ascending. The same keys and rows give the same
// graph, whatever the number of workers, on processors that compute the same
// dot products. It finds the beam that its searches need and measures their
// recall; it fails only for keys out of order or with ctx's error.
func Build(ctx context.Context, keys []uint64, m Matrix, o BuildOptions) (*Graph, error) {
	if len(keys) != m.Rows() {
		return nil, fmt.Errorf("build graph: %d keys for %d rows", len(keys), m.Rows())
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] >= keys[i] {
			return nil, fmt.Errorf("build graph: key %x follows %x: keys must ascend", keys[i], keys[i-1])
		}
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	b := newBuilder(keys, m, o)
	for start := 0; start < b.g.Nodes(); start += batchNodes {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("build graph: %w", err)
		}
		end := min(start+batchNodes, b.g.Nodes())
		b.insert(uint32(start), uint32(end))
		if o.Progress != nil {
			o.Progress(end, b.g.Nodes())
		}
	}
	b.connect()
	if err := b.g.tune(ctx, keys, m); err != nil {
		return nil, fmt.Errorf("build graph: %w", err)
	}
	return b.g, nil
}

// A builder grows one graph. Nodes are numbered in order of insertion.
type builder struct {
	g       *Graph
	m       Matrix
	row     []uint32 // by node: a row that has its vector
	workers int
	scratch []buildScratch // by worker

	lists [batchNodes][]candidates // by node of the batch and layer: chosen neighbours
	pairs []backlink
}

// candidates are nodes with exact scores against one node, best first.
type candidates []Hit

type backlink struct {
	layer    int
	from, to uint32 // to's list gets from
}

type buildScratch struct {
	walker
	found      candidates
	kept, rest candidates // of neighbours
	buf        []byte
}

func newBuilder(keys []uint64, m Matrix, o BuildOptions) *builder {
	b := &builder{m: m, workers: o.Workers, scratch: make([]buildScratch, o.Workers)}
	b.g = &Graph{dims: m.Dims, ef: defaultEF, entry: none}
	sums := make([]uint32, len(keys))
	b.parallel(len(keys), func(s *buildScratch, i int) { sums[i] = checksum(m.Row(i), s.buf) })
	b.fold(keys, sums)
	g := b.g
	nodes := len(b.row)
	g.codes = newCodes(m.Dims, nodes)
	g.base = slices.Repeat([]uint32{none}, nodes*linksBase)
	rows := 0
	for _, level := range g.level {
		g.at = append(g.at, uint32(rows))
		rows += int(level)
	}
	g.above = slices.Repeat([]uint32{none}, rows*linksUpper)
	b.parallel(nodes, func(_ *buildScratch, i int) { g.codes.set(i, m.Row(int(b.row[i]))) })
	return b
}

// fold gives each distinct vector a node: many copies of one vector would
// link only to each other and cut themselves off.
func (b *builder) fold(keys []uint64, sums []uint32) {
	bySum := make(map[uint32][]uint32, len(keys)) // nodes
	for i, key := range keys {
		if !b.m.present(i) {
			continue
		}
		at := slices.IndexFunc(bySum[sums[i]], func(n uint32) bool {
			return slices.Equal(b.m.Row(int(b.row[n])), b.m.Row(i))
		})
		node := uint32(len(b.row))
		if at >= 0 {
			node = bySum[sums[i]][at]
		} else {
			bySum[sums[i]] = append(bySum[sums[i]], node)
			b.row = append(b.row, uint32(i))
			b.g.sums = append(b.g.sums, sums[i])
			b.g.level = append(b.g.level, levelOf(key))
		}
		b.g.keys = append(b.g.keys, key)
		b.g.node = append(b.g.node, node)
	}
}

// parallel calls f for 0 to n-1 from all workers, each with its scratch.
func (b *builder) parallel(n int, f func(s *buildScratch, i int)) {
	const grain = 8 // items taken at once
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range b.workers {
		wg.Go(func() {
			for {
				end := int(next.Add(grain))
				for i := end - grain; i < min(end, n); i++ {
					f(&b.scratch[w], i)
				}
				if end >= n {
					return
				}
			}
		})
	}
	wg.Wait()
}

// insert links the nodes from start to end into the graph of those before.
func (b *builder) insert(start, end uint32) {
	g := b.g
	b.parallel(int(end-start), func(s *buildScratch, i int) {
		b.lists[i] = b.choose(s, start, end, start+uint32(i))
	})
	b.pairs = b.pairs[:0]
	for i := range end - start {
		for layer, list := range b.lists[i] {
			links := g.links(start+i, layer)
			for j, h := range list {
				links[j] = h.Doc
				b.pairs = append(b.pairs, backlink{layer, start + i, h.Doc})
			}
		}
	}
	b.linkBack()
	for n := start; n < end; n++ {
		if g.entry == none || g.level[n] > g.level[g.entry] {
			g.entry = n
		}
	}
}

// choose returns the neighbours of a node for each of its layers.
func (b *builder) choose(s *buildScratch, start, end, node uint32) []candidates {
	g := b.g
	x := b.m.Row(int(b.row[node]))
	s.start(g, x)
	lists := make([]candidates, g.level[node]+1)
	top := -1
	if g.entry != none {
		top = int(g.level[g.entry])
		s.descend(g, int(g.level[node]))
	}
	for layer := int(g.level[node]); layer >= 0; layer-- {
		if layer <= top {
			s.search(g, layer, efConstruction, nil)
		} else {
			s.reset(efConstruction)
			clear(s.seen)
		}
		b.addBatch(s, start, end, node, layer)
		s.found = s.found[:0]
		for _, n := range s.nodes {
			s.found = append(s.found, n.Hit)
		}
		b.rescore(s, x)
		lists[layer] = slices.Clone(b.neighbours(s, linksUpper))
	}
	return lists
}

// addBatch adds the nodes of the batch that reach the layer to the beam; those
// of a layer above are there.
func (b *builder) addBatch(s *buildScratch, start, end, node uint32, layer int) {
	s.ids = s.ids[:0]
	for n := start; n < end; n++ {
		if n != node && int(b.g.level[n]) >= layer && s.seen[n/64]&(1<<(n%64)) == 0 {
			s.ids = append(s.ids, n)
		}
	}
	s.score(b.g)
	for i, id := range s.ids {
		s.add(Hit{id, s.scores[i]})
	}
}

// rescore replaces the scores of s.found by the exact ones and sorts.
func (b *builder) rescore(s *buildScratch, x []float32) {
	for i := range s.found {
		s.found[i].Score = dot(x, b.m.Row(int(b.row[s.found[i].Doc])))
	}
	slices.SortFunc(s.found, compareHits)
}

// neighbours is Algorithm 4 of the paper: of s.found, best first, it keeps
// those nearer to the node than to any neighbour kept before, at most limit,
// so that links lead in different directions; if these are fewer than
// linksUpper, the best of the others fill up to that, or tight clusters would
// hang together by single links. The result is valid until the next call.
func (b *builder) neighbours(s *buildScratch, limit int) candidates {
	kept, rest := s.kept[:0], s.rest[:0]
	for _, h := range s.found {
		if len(kept) == limit {
			break
		}
		x := b.m.Row(int(b.row[h.Doc]))
		if slices.ContainsFunc(kept, func(k Hit) bool {
			return dot(x, b.m.Row(int(b.row[k.Doc]))) > h.Score
		}) {
			rest = append(rest, h)
		} else {
			kept = append(kept, h)
		}
	}
	if n := min(linksUpper-len(kept), len(rest)); n > 0 {
		kept = append(kept, rest[:n]...)
	}
	s.kept, s.rest = kept, rest
	return kept
}

// linkBack adds the reverse of all new links; each target's list is the work
// of one worker, in order of the sources.
func (b *builder) linkBack() {
	slices.SortFunc(b.pairs, func(x, y backlink) int {
		return cmp.Or(cmp.Compare(x.layer, y.layer), cmp.Compare(x.to, y.to), cmp.Compare(x.from, y.from))
	})
	var groups [][]backlink
	for rest := b.pairs; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].layer == rest[0].layer && rest[n].to == rest[0].to {
			n++
		}
		groups = append(groups, rest[:n])
		rest = rest[n:]
	}
	b.parallel(len(groups), func(s *buildScratch, i int) { b.extend(s, groups[i]) })
}

// extend adds the sources of a group to their target's list, choosing anew
// among all when they do not fit.
func (b *builder) extend(s *buildScratch, group []backlink) {
	links := b.g.links(group[0].to, group[0].layer)
	s.ids = append(s.ids[:0], links[:firstNone(links)]...)
	for _, p := range group {
		if !slices.Contains(s.ids, p.from) {
			s.ids = append(s.ids, p.from)
		}
	}
	if len(s.ids) <= len(links) {
		copy(links, s.ids)
		return
	}
	s.found = s.found[:0]
	for _, id := range s.ids {
		s.found = append(s.found, Hit{Doc: id})
	}
	b.rescore(s, b.m.Row(int(b.row[group[0].to])))
	kept := b.neighbours(s, len(links))
	for i := range links {
		links[i] = none
		if i < len(kept) {
			links[i] = kept[i].Doc
		}
	}
}
