package hnsw

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
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

// Build makes a graph over the rows that are not absent; keys are the documents'
// identities, one a row, ascending. The same keys and rows give the same
// graph, whatever the number of workers. It finds the beam that its searches need and measures their
// recall; it fails only for keys out of order or with ctx's error.
func Build(ctx context.Context, keys []uint64, rows *vector.Codes, o BuildOptions) (*Graph, error) {
	if len(keys) != rows.Rows() {
		return nil, fmt.Errorf("build graph: %d keys for %d rows", len(keys), rows.Rows())
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] >= keys[i] {
			return nil, fmt.Errorf("build graph: key %x follows %x: keys must ascend", keys[i], keys[i-1])
		}
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	b := newBuilder(keys, rows, o)
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
	if err := b.g.tune(ctx, keys, rows); err != nil {
		return nil, fmt.Errorf("build graph: %w", err)
	}
	return b.g, nil
}

// A builder grows one graph. Nodes are numbered in order of insertion.
type builder struct {
	g       *Graph
	workers int
	scratch []buildScratch // by worker

	lists [batchNodes][]candidates // by node of the batch and layer: chosen neighbours
	pairs []backlink
}

// candidates are nodes with their scores against one node, best first.
type candidates []rank.Hit

type backlink struct {
	layer    int
	from, to uint32 // to's list gets from
}

type buildScratch struct {
	walker
	node       vector.Query // that neighbours are looked for
	other      vector.Query // a neighbour
	found      candidates
	kept, rest candidates // of neighbours
}

func newBuilder(keys []uint64, rows *vector.Codes, o BuildOptions) *builder {
	b := &builder{workers: o.Workers, scratch: make([]buildScratch, o.Workers)}
	b.g = &Graph{ef: defaultEF, entry: none}
	row := b.fold(keys, rows)
	g := b.g
	g.codes = vector.NewCodes(len(row), rows.Dims())
	for node, i := range row {
		g.codes.Set(node, rows.Row(i))
	}
	g.base = slices.Repeat([]uint32{none}, len(row)*linksBase)
	upper := 0
	for _, level := range g.level {
		g.at = append(g.at, uint32(upper))
		upper += int(level)
	}
	g.above = slices.Repeat([]uint32{none}, upper*linksUpper)
	return b
}

// fold gives each distinct vector a node, and returns a row that has it: many
// copies of one vector would link only to each other and cut themselves off.
func (b *builder) fold(keys []uint64, rows *vector.Codes) (row []int) {
	nodes := make(map[string]uint32, len(keys)) // by the bytes of a code
	var code []byte
	for i, key := range keys {
		if !rows.Has(i) {
			continue
		}
		code = rows.Row(i).Append(code[:0])
		node, ok := nodes[string(code)]
		if !ok {
			node = uint32(len(row))
			nodes[string(code)] = node
			row = append(row, i)
			b.g.level = append(b.g.level, levelOf(key))
		}
		b.g.keys = append(b.g.keys, key)
		b.g.node = append(b.g.node, node)
	}
	return row
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
	s.node.Set(g.codes.Row(int(node)))
	s.start(g, &s.node)
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
		s.add(rank.Hit{Doc: id, Score: float64(s.scores[i])})
	}
}

// neighbours is Algorithm 4 of the paper: of s.found, best first, it keeps
// those nearer to the node than to any neighbour kept before, at most limit,
// so that links lead in different directions; if these are fewer than
// linksUpper, the best of the others fill up to that, or tight clusters would
// hang together by single links. The result is valid until the next call.
func (b *builder) neighbours(s *buildScratch, limit int) candidates {
	s.kept, s.rest, s.ids = s.kept[:0], s.rest[:0], s.ids[:0]
	for _, h := range s.found {
		if len(s.kept) == limit {
			break
		}
		if b.nearer(s, h) {
			s.rest = append(s.rest, h)
		} else {
			s.kept = append(s.kept, h)
			s.ids = append(s.ids, h.Doc)
		}
	}
	if n := min(linksUpper-len(s.kept), len(s.rest)); n > 0 {
		s.kept = append(s.kept, s.rest[:n]...)
	}
	return s.kept
}

// nearer says whether a node is nearer to one of s.ids than h.Score says.
func (b *builder) nearer(s *buildScratch, h rank.Hit) bool {
	s.other.Set(b.g.codes.Row(int(h.Doc)))
	s.scores = slices.Grow(s.scores[:0], len(s.ids))[:len(s.ids)]
	b.g.codes.Dots(s.scores, s.ids, &s.other)
	return slices.ContainsFunc(s.scores, func(score float32) bool { return float64(score) > h.Score })
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
	s.node.Set(b.g.codes.Row(int(group[0].to)))
	s.query = &s.node
	s.score(b.g)
	s.found = s.found[:0]
	for i, id := range s.ids {
		s.found = append(s.found, rank.Hit{Doc: id, Score: float64(s.scores[i])})
	}
	slices.SortFunc(s.found, func(x, y rank.Hit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Doc, y.Doc))
	})
	kept := b.neighbours(s, len(links))
	for i := range links {
		links[i] = none
		if i < len(kept) {
			links[i] = kept[i].Doc
		}
	}
}
