package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/tool"
)

// A snapshot is one immutable state of the searchable catalog. Documents are
// numbered in the order of their ids.
type snapshot struct {
	generation uint64
	params     Params
	threshold  int // allowed documents above which the vector arm uses its graph

	docs    []*document
	servers []string   // by server number, sorted; a tool without one has a number of its own
	unnamed bool       // some tools are of no server
	server  []uint32   // by document
	tools   [][]uint32 // documents by server number, of those that have a name
	lexicon bm25.View
	lexical *bm25.Index

	names *nameTable
	onDemand

	spaces  []*space // whose vectors may answer, the serving one first
	waiting string   // why the vectors that were asked for are not among them
}

// onDemand is what is made of the documents when it is first asked for.
type onDemand struct {
	byName       func() []uint32       // documents in order of name, then qualified name
	descriptions func() []string       // folded
	inputs       func() map[string]int // how many documents have an input, by its name
	facets       [facets]func() *grouping
}

// newOnDemand is a function of docs, not a method of the snapshot, so that
// the snapshots with other parameters or vectors that share what it makes do
// not keep the first one.
func newOnDemand(docs []*document) (o onDemand) {
	o.byName = sync.OnceValue(func() []uint32 { return sortNames(docs) })
	o.descriptions = sync.OnceValue(func() []string { return foldDescriptions(docs) })
	o.inputs = sync.OnceValue(func() map[string]int { return countInputs(docs) })
	for f := range o.facets {
		o.facets[f] = sync.OnceValue(func() *grouping { return groupBy(docs, facet(f)) })
	}
	return o
}

// A corpus is what a snapshot is made of.
type corpus struct {
	docs       []*document // searchable ones, in any order
	lexicon    bm25.View
	params     Params
	generation uint64
	threshold  int
}

// newSnapshot makes the lexical part of a snapshot; withSpaces adds vectors.
func newSnapshot(c corpus) *snapshot {
	s := &snapshot{
		generation: c.generation,
		params:     c.params,
		threshold:  c.threshold,
		docs:       sortDocuments(c.docs),
		lexicon:    c.lexicon,
		onDemand:   newOnDemand(c.docs),
	}
	s.numberServers()
	var wg sync.WaitGroup
	wg.Go(s.indexTerms)
	s.names = newNameTable(s.docs)
	wg.Wait()
	return s
}

// sortDocuments sorts docs in place by id, most of them without looking at
// more of a document than the eight digits that are read once.
func sortDocuments(docs []*document) []*document {
	type keyed struct {
		digits uint64
		*document
	}
	all := make([]keyed, len(docs))
	for i, d := range docs {
		all[i] = keyed{binary.BigEndian.Uint64([]byte(d.id)), d}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.digits != b.digits {
			return cmp.Compare(a.digits, b.digits)
		}
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.qualified, b.qualified))
	})
	for i, k := range all {
		docs[i] = k.document
	}
	return docs
}

// withParams is the snapshot with other parameters.
func (s *snapshot) withParams(p Params) *snapshot {
	t := *s
	t.params = p
	t.indexTerms()
	return &t
}

// withSpaces is the snapshot with other vectors.
func (s *snapshot) withSpaces(spaces ...*space) *snapshot {
	t := *s
	t.spaces = spaces
	return &t
}

// indexTerms indexes the documents' terms.
func (s *snapshot) indexTerms() {
	in := bm25.Input{Groups: s.server, Terms: s.lexicon.Len(), Params: lexicalParams(s.params)}
	in.Docs = make([]*bm25.Doc, len(s.docs))
	for i, d := range s.docs {
		in.Docs[i] = &d.terms
	}
	s.lexical = bm25.Build(in)
}

func lexicalParams(p Params) bm25.Params {
	out := bm25.Params{K1: p.K1}
	for f, name := range fieldNames {
		out.Weight[f] = p.Fields[name].Weight
		out.B[f] = p.Fields[name].B
	}
	return out
}

// foldDescriptions are the descriptions as DescriptionContains compares them.
func foldDescriptions(docs []*document) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = analysis.Fold(d.tool.Description)
	}
	return out
}

func sortNames(all []*document) []uint32 {
	docs := make([]uint32, len(all))
	for i := range docs {
		docs[i] = uint32(i)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		x, y := all[a], all[b]
		return cmp.Or(strings.Compare(x.tool.Name, y.tool.Name), strings.Compare(x.qualified, y.qualified), cmp.Compare(a, b))
	})
	return docs
}

// find returns the number of the first document with this id.
func (s *snapshot) find(id string) (uint32, bool) {
	i, ok := slices.BinarySearchFunc(s.docs, id, func(d *document, id string) int {
		return strings.Compare(d.id, id)
	})
	return uint32(i), ok
}

// hit is the unscored row of a document.
func (s *snapshot) hit(doc uint32) Hit {
	d := s.docs[doc]
	return Hit{Tool: d.tool, ID: d.id, Category: d.category}
}

// visible says whether scope lets the caller see a document.
func (s *snapshot) visible(doc uint32, scope func(*tool.Tool) bool) bool {
	return scope == nil || scope(&s.docs[doc].tool)
}

// all is the bitmap of every document.
func (s *snapshot) all() *bitset.BitSet {
	n := uint(len(s.docs))
	return bitset.New(n).FlipRange(0, n)
}
