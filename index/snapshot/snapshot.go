// Package snapshot is one immutable state of the searchable catalog: tools as
// analysed documents, their postings, names, labels and vectors. It answers
// queries, and nothing in it ever changes after it is made, so that any number
// of searches read it without a lock while the next one is built.
package snapshot

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
)

// A Snapshot is one immutable state of the searchable catalog. Documents are
// numbered in the order of their ids.
type Snapshot struct {
	generation uint64
	params     Params
	threshold  int // allowed documents above which the vector arm uses its graph

	docs    []*Document
	servers []string   // by server number, sorted; a tool without one has a number of its own
	unnamed bool       // some tools are of no server
	server  []uint32   // by document
	tools   [][]uint32 // documents by server number, of those that have a name
	lexicon bm25.View
	lexical *bm25.Index

	names *nameTable
	onDemand

	queryTimeout time.Duration // of one query's embedding
	spaces       []*Space      // whose vectors may answer, the serving one first
	waiting      string        // why the vectors that were asked for are not among them
	wordsOnly    string        // why there are none to ask for
}

// onDemand is what is made of the documents when it is first asked for.
type onDemand struct {
	byName       func() []uint32       // documents in order of name, then qualified name
	descriptions func() []string       // folded
	inputs       func() map[string]int // how many documents have an input, by its name
	facets       [facets]func() *grouping
	scopes       *scopes
}

// newOnDemand is a function of docs, not a method of the snapshot, so that
// the snapshots with other parameters or vectors that share what it makes do
// not keep the first one.
func newOnDemand(docs []*Document) (o onDemand) {
	o.scopes = newKept[*bitset.BitSet](keptScopes)
	o.byName = sync.OnceValue(func() []uint32 { return sortNames(docs) })
	o.descriptions = sync.OnceValue(func() []string { return foldDescriptions(docs) })
	o.inputs = sync.OnceValue(func() map[string]int { return countInputs(docs) })
	for f := range o.facets {
		o.facets[f] = sync.OnceValue(func() *grouping { return groupBy(docs, facet(f)) })
	}
	return o
}

// A Corpus is what a snapshot is made of.
type Corpus struct {
	Docs         []*Document // searchable ones, in any order; the snapshot takes the slice
	Lexicon      bm25.View   // which numbers their terms
	Params       Params
	Generation   uint64
	Threshold    int           // allowed documents above which the vector arm uses its graph; 0 is the default, below 0 it always does
	QueryTimeout time.Duration // of one query's embedding; 0 means 2 s
	WordsOnly    string        // why no vectors are asked for, for who asks for a search by meaning
}

const (
	defaultThreshold    = 20000
	defaultQueryTimeout = 2 * time.Second
)

// New makes the lexical part of a snapshot; WithSpaces adds vectors.
func New(c Corpus) *Snapshot {
	s := &Snapshot{
		generation:   c.Generation,
		params:       c.Params,
		threshold:    cmp.Or(c.Threshold, defaultThreshold),
		queryTimeout: cmp.Or(c.QueryTimeout, defaultQueryTimeout),
		wordsOnly:    c.WordsOnly,
		docs:         sortDocuments(c.Docs),
		lexicon:      c.Lexicon,
		onDemand:     newOnDemand(c.Docs),
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
func sortDocuments(docs []*Document) []*Document {
	type keyed struct {
		digits uint64
		*Document
	}
	all := make([]keyed, len(docs))
	for i, d := range docs {
		all[i] = keyed{binary.BigEndian.Uint64([]byte(d.ID)), d}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.digits != b.digits {
			return cmp.Compare(a.digits, b.digits)
		}
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Qualified, b.Qualified))
	})
	for i, k := range all {
		docs[i] = k.Document
	}
	return docs
}

// WithParams is the snapshot with other parameters.
func (s *Snapshot) WithParams(p Params) *Snapshot {
	t := *s
	t.params = p
	t.indexTerms()
	return &t
}

// WithSpaces is the snapshot with other vectors, the serving ones first.
// Waiting is why those that were asked for are not among them.
func (s *Snapshot) WithSpaces(waiting string, spaces ...*Space) *Snapshot {
	t := *s
	t.spaces, t.waiting = spaces, waiting
	return &t
}

// indexTerms indexes the documents' terms.
func (s *Snapshot) indexTerms() {
	in := bm25.Input{Groups: s.server, Terms: s.lexicon.Len(), Params: lexicalParams(s.params)}
	in.Docs = make([]*bm25.Doc, len(s.docs))
	for i, d := range s.docs {
		in.Docs[i] = &d.Terms
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
func foldDescriptions(docs []*Document) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = analysis.Fold(d.Tool.Description)
	}
	return out
}

func sortNames(all []*Document) []uint32 {
	docs := make([]uint32, len(all))
	for i := range docs {
		docs[i] = uint32(i)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		x, y := all[a], all[b]
		return cmp.Or(strings.Compare(x.Tool.Name, y.Tool.Name), strings.Compare(x.Qualified, y.Qualified), cmp.Compare(a, b))
	})
	return docs
}

// find returns the number of the first document with this id.
func (s *Snapshot) find(id string) (uint32, bool) {
	i, ok := slices.BinarySearchFunc(s.docs, id, func(d *Document, id string) int {
		return strings.Compare(d.ID, id)
	})
	return uint32(i), ok
}

// hit is the unscored row of a document.
func (s *Snapshot) hit(doc uint32) Hit {
	d := s.docs[doc]
	return Hit{Tool: d.Tool, ID: d.ID, Category: d.Category, Signature: d.Signature}
}

// Get returns the tool with this id, without Raw; hidden tools are not found.
func (s *Snapshot) Get(id string) (Hit, bool) {
	doc, ok := s.find(id)
	if !ok {
		return Hit{}, false
	}
	return s.hit(doc), true
}

// ServerOf is the name of the server of the tool id.
func (s *Snapshot) ServerOf(id string) (name string, known bool) {
	doc, known := s.find(id)
	if known {
		name = s.docs[doc].Tool.Server
	}
	return name, known
}

// Serving is the space whose vectors answer first, nil without one.
func (s *Snapshot) Serving() *Space {
	if len(s.spaces) == 0 {
		return nil
	}
	return s.spaces[0]
}

// Docs are the searchable documents in the order of their ids.
func (s *Snapshot) Docs() []*Document { return s.docs }

// PhraseVectors is the weight of phrases in the vectors of tools.
func (s *Snapshot) PhraseVectors() float64 { return s.params.PhraseVectors }

// Generation counts the states of the catalog up to this one.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Threshold is the number of allowed documents above which the vector arm
// uses its graph; it is never negative.
func (s *Snapshot) Threshold() int { return max(0, s.threshold) }
