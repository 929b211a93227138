package index

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
)

// A snapshot is one immutable state of the searchable catalog. Documents are
// numbered in the order of their ids.
type snapshot struct {
	generation uint64
	params     Params
	threshold  int // allowed documents above which the vector arm uses its graph

	docs    []*document
	servers []string   // by server number, sorted; a tool without one has a number of its own
	server  []uint32   // by document
	tools   [][]uint32 // documents by server number, of those that have a name
	lexicon bm25.View
	lexical *bm25.Index

	longestServer, longestName int // in bytes

	names  map[string][]uint32 // documents by bare name
	byName func() []uint32     // documents in order of name, then qualified name; sorted when first asked for
	facets map[facet][]uint32  // documents by label

	spaces  []*space // whose vectors may answer, the serving one first
	waiting string   // why the vectors that were asked for are not among them
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
		docs:       c.docs,
		lexicon:    c.lexicon,
	}
	slices.SortFunc(s.docs, func(a, b *document) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.qualified, b.qualified))
	})
	s.numberServers()
	var wg sync.WaitGroup
	wg.Go(s.indexTerms)
	wg.Go(s.indexFacets)
	s.indexNames()
	wg.Wait()
	return s
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

func (s *snapshot) numberServers() {
	number := map[string]uint32{}
	for _, d := range s.docs {
		if d.tool.Server != "" {
			number[d.tool.Server] = 0
		}
	}
	for name := range number {
		s.servers = append(s.servers, name)
	}
	slices.Sort(s.servers)
	for i, name := range s.servers {
		number[name] = uint32(i)
	}
	s.server = make([]uint32, len(s.docs))
	s.tools = make([][]uint32, len(s.servers))
	next := uint32(len(s.servers))
	for i, d := range s.docs {
		if d.tool.Server == "" {
			s.server[i] = next
			next++
			continue
		}
		n := number[d.tool.Server]
		s.server[i] = n
		s.tools[n] = append(s.tools[n], uint32(i))
	}
}

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

func (s *snapshot) indexNames() {
	s.names = make(map[string][]uint32, len(s.docs))
	for i, d := range s.docs {
		s.names[d.tool.Name] = append(s.names[d.tool.Name], uint32(i))
		s.longestServer = max(s.longestServer, len(d.tool.Server))
		s.longestName = max(s.longestName, len(d.tool.Name))
	}
	s.byName = sync.OnceValue(s.sortNames)
}

func (s *snapshot) sortNames() []uint32 {
	docs := make([]uint32, len(s.docs))
	for i := range docs {
		docs[i] = uint32(i)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		x, y := s.docs[a], s.docs[b]
		return cmp.Or(strings.Compare(x.tool.Name, y.tool.Name), strings.Compare(x.qualified, y.qualified), cmp.Compare(a, b))
	})
	return docs
}

// A facet is one label that filters match whole and without case.
type facet struct {
	kind  facetKind
	value string // folded
}

type facetKind uint8

const (
	byTag facetKind = iota
	byServer
	byCategory
	byVisibility
	byTeam
	byIntegration
)

func (s *snapshot) indexFacets() {
	s.facets = map[facet][]uint32{}
	folded := map[string]string{}
	add := func(doc int, kind facetKind, value string) {
		v, ok := folded[value]
		if !ok {
			v = analysis.Fold(strings.TrimSpace(value))
			folded[value] = v
		}
		s.facets[facet{kind, v}] = append(s.facets[facet{kind, v}], uint32(doc))
	}
	for i, d := range s.docs {
		t := &d.tool
		for _, tag := range t.Tags {
			add(i, byTag, tag)
		}
		for _, team := range t.Teams {
			add(i, byTeam, team)
		}
		add(i, byServer, t.Server)
		add(i, byCategory, d.category)
		add(i, byVisibility, cmp.Or(t.Visibility, "public"))
		add(i, byIntegration, cmp.Or(t.Integration, "MCP"))
	}
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
func (s *snapshot) visible(doc uint32, scope func(*Tool) bool) bool {
	return scope == nil || scope(&s.docs[doc].tool)
}

// all is the bitmap of every document.
func (s *snapshot) all() *bitset.BitSet {
	n := uint(len(s.docs))
	return bitset.New(n).FlipRange(0, n)
}
