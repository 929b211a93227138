package hnsw

import (
	"fmt"
	"slices"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// MinRecall is the recall@10 under which a graph is not used.
const MinRecall = .98

// Delta and dead documents past which a graph should be built anew.
const (
	staleShare = .2
	staleDocs  = 5000
)

// An Index searches a catalog by a graph that may be older than it: documents
// that the graph lacks are scanned, those it has too many are passed through
// and never found.
type Index struct {
	rows  *vector.Codes
	graph *Graph
	o     IndexOptions

	docs  []uint32 // live documents of the graph, by node
	first []uint32 // by node and one past: its first element of docs
	delta []uint32 // present documents that the graph lacks, ascending
}

// IndexOptions choose between graph and scan. The zero value does as the
// graph's audit says.
type IndexOptions struct {
	// Threshold is the number of allowed documents up to which a search
	// scans; below what a walk would cost it scans in any case.
	Threshold int
	// EF is the least beam of a walk; 0 means the graph's own.
	EF int
}

// Bind joins the graph to a catalog's vectors; keys are its documents'
// identities, one a row, ascending. A document whose vector is not
// the one in the graph counts as new.
func (g *Graph) Bind(keys []uint64, rows *vector.Codes, o IndexOptions) (*Index, error) {
	if len(keys) != rows.Rows() {
		return nil, fmt.Errorf("bind graph: %d keys for %d rows", len(keys), rows.Rows())
	}
	if rows.Dims() != g.Dims() && len(keys) > 0 {
		return nil, fmt.Errorf("bind graph: %d dimensions in the graph, %d in the catalog", g.Dims(), rows.Dims())
	}
	if o.EF <= 0 {
		o.EF = g.ef
	}
	x := &Index{rows: rows, graph: g, o: o, first: make([]uint32, g.Nodes()+1)}
	live := x.match(keys)
	for _, node := range live {
		if node != none {
			x.first[node+1]++
		}
	}
	for n := range g.Nodes() {
		x.first[n+1] += x.first[n]
	}
	x.docs = make([]uint32, x.first[g.Nodes()])
	at := append([]uint32(nil), x.first...)
	for doc, node := range live {
		if node != none {
			x.docs[at[node]] = uint32(doc)
			at[node]++
		}
	}
	return x, nil
}

// match returns the node of each document, none if it is in delta or absent,
// and fills delta. Both lists of keys ascend, so it merges them.
func (x *Index) match(keys []uint64) []uint32 {
	g := x.graph
	live := make([]uint32, len(keys))
	p := 0
	for doc, key := range keys {
		live[doc] = none
		if !x.rows.Has(doc) {
			continue
		}
		for p < len(g.keys) && g.keys[p] < key {
			p++
		}
		if p < len(g.keys) && g.keys[p] == key {
			if node := g.node[p]; same(g.codes.Row(int(node)), x.rows.Row(doc)) {
				live[doc] = node
				continue
			}
		}
		x.delta = append(x.delta, uint32(doc))
	}
	return live
}

// Live returns how many documents the graph serves, Dead how many of its
// documents are gone or changed, Delta how many are scanned beside it.
func (x *Index) Live() int  { return len(x.docs) }
func (x *Index) Dead() int  { return x.graph.Docs() - len(x.docs) }
func (x *Index) Delta() int { return len(x.delta) }

// Stale reports whether dead documents and delta have grown so much that the
// graph should be built anew.
func (x *Index) Stale() bool {
	n := x.Dead() + x.Delta()
	return n > staleDocs || float64(n) > staleShare*float64(x.Live()+x.Delta())
}

// Graph returns the graph that x searches.
func (x *Index) Graph() *Graph { return x.graph }

func same(a, b vector.Code) bool { return a.Scale == b.Scale && slices.Equal(a.Numbers, b.Numbers) }

func (x *Index) allowedOf(allowed *bitset.BitSet) int {
	if allowed == nil {
		return x.Live() + x.Delta()
	}
	return int(allowed.Count())
}

// Walks reports whether a search among n allowed documents walks the graph.
// A beam must widen as the share of allowed documents shrinks while a scan
// shortens, so below a number that grows with the root of the catalog the
// scan is faster whatever the threshold says.
func (x *Index) Walks(n int) bool {
	const rowsPerStep = 20 // rows scanned while one beam node is followed
	all := len(x.docs) + len(x.delta)
	return n > x.o.Threshold && x.graph.recall >= MinRecall &&
		float64(n)*float64(n) > rowsPerStep*float64(x.o.EF)*float64(all)
}

// Near returns the best k of the allowed documents, best first: by a walk most
// of them, and by a scan where one is quicker.
func (x *Index) Near(q *vector.Query, allowed *bitset.BitSet, k int) []rank.Hit {
	if !x.Walks(x.allowedOf(allowed)) {
		return x.rows.Near(q, allowed, k)
	}
	return x.walk(q, allowed, k)
}

// walk searches graph and delta.
func (x *Index) walk(q *vector.Query, allowed *bitset.BitSet, k int) []rank.Hit {
	n := x.allowedOf(allowed)
	if k <= 0 || n == 0 {
		return nil
	}
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	beam := max(x.o.EF, k+k/4)
	w.best.Reset(beam)
	w.start(x.graph, q)
	if x.graph.entry != none {
		width := beam * max(1, x.graph.Nodes()/n)
		w.descend(x.graph, 0)
		w.steps = stepsAtOnce
		w.search(x.graph, 0, width, func() { x.offer(w, allowed) })
		if w.starved(beam / 2) {
			return x.rows.Near(q, allowed, k)
		}
	}
	x.offerDelta(w, q, allowed)
	return slices.Clone(w.best.Hits[:min(k, len(w.best.Hits))])
}

// starved reports whether fewer than n documents were found in the region
// that the walk has searched through: the allowed ones are elsewhere, and the
// best of those it met on its way may not be the best there are.
func (w *walker) starved(n int) bool {
	if len(w.nodes) < w.width {
		return false // it has seen all it can reach
	}
	edge := w.nodes[len(w.nodes)-1].Score
	for _, h := range w.best.Hits {
		if h.Score >= edge {
			n--
		}
	}
	return n > 0
}

// offer offers the allowed documents of the nodes that the walk has met.
func (x *Index) offer(w *walker, allowed *bitset.BitSet) {
	least := w.best.Least()
	for i, node := range w.ids {
		score := float64(w.scores[i])
		if score < least {
			continue
		}
		for _, doc := range x.docs[x.first[node]:x.first[node+1]] {
			if allowed == nil || allowed.Test(uint(doc)) {
				w.best.Offer(rank.Hit{Doc: doc, Score: score})
			}
		}
		least = w.best.Least()
	}
}

// offerDelta offers the allowed documents that the graph lacks.
func (x *Index) offerDelta(w *walker, q *vector.Query, allowed *bitset.BitSet) {
	for _, doc := range x.delta {
		if allowed == nil || allowed.Test(uint(doc)) {
			w.best.Offer(rank.Hit{Doc: doc, Score: float64(x.rows.Score(doc, q))})
		}
	}
}

var walkers = sync.Pool{New: func() any { return new(walker) }}
