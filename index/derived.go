package index

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/flat"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

// The file derived-CONFIGURATION is a flat file of the catalog as this
// configuration sees it, so that opening a folder is reading one file. It
// says nothing that the store does not say or that cannot be made again: a
// server of which the store has another generation, or a file that is
// damaged, costs time and nothing else. Its arrays are
//
//	u64 the store's id
//	texts, u8, u64         by server: name, key [16], generation
//	u32, u8, u8, u8, u64   by tool, in the order of the ids: server, id [6], sum [16], embedded [2][32], first seen
//	texts                  by tool: head
//	u8, u32                the terms: all bytes, where each ends
//	texts                  by tool: category, names of the inputs
//	u64                    by tool: twin
//	u32, u32, u32, u8, u16 bm25.Block
//	u8                     by model: the key of its space [16]
//	u32, u32, f32, i8      of each model: dimensions and form, the tools that have a vector, the scales and
//	                       numbers of their codes
const derivedMagic = "TDXDERIV"

// derivedVersion is the format's version and that of the analysis.
const derivedVersion = 2<<24 | snapshot.AnalysisVersion

// When the file is written: opening one costs the more the less it has.
const (
	savedShare = 20  // one tool in so many is not in it
	closeShare = 100 // the same when the index closes, which cannot happen often
)

// A derived is what such a file holds. The zero value holds nothing.
type derived struct {
	file    uint64 // the store's id
	lexicon bm25.Lexicon
	servers []derivedServer
	vectors map[store.Space]vectorsByText
}

type derivedServer struct {
	name       string
	key        store.Key
	generation uint64
	entries    map[string]*entry
}

type vectorsByText map[[32]byte]vector.Code

// verifyDerived reads a file to the end. One of another version is sound.
func verifyDerived(path string) error {
	_, err := readDerived(path)
	if errors.Is(err, flat.ErrVersion) {
		return nil
	}
	return err
}

// columns are the arrays of a file, by tool unless they say otherwise.
type columns struct {
	file        []uint64 // one
	names       []string // by server, as the next two
	keys        []byte
	generations []uint64
	server      []uint32
	ids         []byte
	sums        []byte
	embedded    []byte
	seen        []uint64
	heads       []string
	termText    []byte
	termEnds    []uint32
	labels      []string // category, inputs
	twins       []uint64
	terms       bm25.Block
	models      []byte // by model, as the next four
	shapes      [][]uint32
	having      [][]uint32
	scales      [][]float32
	numbers     [][]int8
}

func readDerived(path string) (derived, error) {
	r, err := flat.Open(path, derivedMagic, derivedVersion)
	if err != nil {
		return derived{}, err
	}
	return decodeDerived(r)
}

func decodeDerived(r *flat.Reader) (derived, error) {
	var c columns
	c.read(r)
	if err := r.Close(); err != nil {
		return derived{}, err
	}
	return c.derived()
}

func (c *columns) read(r *flat.Reader) {
	c.file = flat.Get[uint64](r)
	c.names, c.keys, c.generations = r.Texts(), flat.Get[byte](r), flat.Get[uint64](r)
	c.server, c.ids, c.sums, c.embedded, c.seen = flat.Get[uint32](r), flat.Get[byte](r), flat.Get[byte](r), flat.Get[byte](r), flat.Get[uint64](r)
	c.heads = r.Texts()
	c.termText, c.termEnds = flat.Get[byte](r), flat.Get[uint32](r)
	c.labels = r.Texts()
	c.twins = flat.Get[uint64](r)
	c.terms = bm25.Block{
		Sizes: flat.Get[uint32](r), Lengths: flat.Get[uint32](r), Terms: flat.Get[uint32](r),
		Masks: flat.Get[byte](r), Counts: flat.Get[uint16](r),
	}
	c.models = flat.Get[byte](r)
	for range len(c.models) / 16 {
		c.shapes = append(c.shapes, flat.Get[uint32](r))
		c.having = append(c.having, flat.Get[uint32](r))
		c.scales = append(c.scales, flat.Get[float32](r))
		c.numbers = append(c.numbers, flat.Get[int8](r))
	}
}

func (c *columns) write(w *flat.Writer) {
	flat.Put(w, c.file)
	w.Texts(c.names)
	flat.Put(w, c.keys)
	flat.Put(w, c.generations)
	flat.Put(w, c.server)
	flat.Put(w, c.ids)
	flat.Put(w, c.sums)
	flat.Put(w, c.embedded)
	flat.Put(w, c.seen)
	w.Texts(c.heads)
	flat.Put(w, c.termText)
	flat.Put(w, c.termEnds)
	w.Texts(c.labels)
	flat.Put(w, c.twins)
	flat.Put(w, c.terms.Sizes)
	flat.Put(w, c.terms.Lengths)
	flat.Put(w, c.terms.Terms)
	flat.Put(w, c.terms.Masks)
	flat.Put(w, c.terms.Counts)
	flat.Put(w, c.models)
	for i := range c.shapes {
		flat.Put(w, c.shapes[i])
		flat.Put(w, c.having[i])
		flat.Put(w, c.scales[i])
		flat.Put(w, c.numbers[i])
	}
}

// idBytes is the length of an id in the file.
const idBytes = len(store.ID{})

// fits says whether the columns are as long as they must be.
func (c *columns) fits() bool {
	tools, servers := len(c.server), len(c.names)
	return len(c.file) == 1 && len(c.keys) == 16*servers && len(c.generations) == servers &&
		len(c.ids) == idBytes*tools && len(c.sums) == 16*tools && len(c.embedded) == tool.Forms*32*tools &&
		len(c.seen) == tools && len(c.heads) == tools && len(c.labels) == 2*tools && len(c.twins) == tools &&
		len(c.terms.Sizes) == tools && len(c.models)%16 == 0 &&
		(tools == 0 || int(slices.Max(c.server)) < servers)
}

// derived makes of the columns what they say, on all processors.
func (c *columns) derived() (d derived, err error) {
	if !c.fits() {
		return d, fmt.Errorf("%w: its arrays do not fit each other", flat.ErrDamaged)
	}
	d.file = c.file[0]
	if d.lexicon, err = bm25.NewLexicon(c.termText, c.termEnds); err != nil {
		return derived{}, err
	}
	terms, err := c.terms.Docs(uint32(len(c.termEnds)))
	if err != nil {
		return derived{}, err
	}
	entries := make([]entry, len(c.server))
	docs := make([]snapshot.Document, len(c.server))
	var wg sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for p := range errs {
		wg.Go(func() {
			for i := p * len(docs) / len(errs); i < (p+1)*len(docs)/len(errs) && errs[p] == nil; i++ {
				docs[i], errs[p] = c.document(i, terms[i])
				entries[i] = entry{doc: &docs[i], sum: [16]byte(c.sums[16*i:])}
			}
		})
	}
	wg.Wait()
	for i, name := range c.names {
		d.servers = append(d.servers, derivedServer{name, store.Key(c.keys[16*i:]), c.generations[i], map[string]*entry{}})
	}
	for i := range entries {
		d.servers[c.server[i]].entries[docs[i].ID] = &entries[i]
	}
	if err := errors.Join(errs...); err != nil {
		return derived{}, err
	}
	d.vectors, err = c.vectorsByText()
	return d, err
}

func (c *columns) document(i int, terms bm25.Doc) (snapshot.Document, error) {
	se := store.Entry{ID: store.ID(c.ids[idBytes*i:]), Head: c.heads[i], FirstSeen: store.Unstamp(int64(c.seen[i]))}
	t, err := storedTool(&se)
	names := se.ID.String() + t.QualifiedName() // one piece of memory
	d := snapshot.Document{
		Tool: t, ID: names[:2*idBytes], Qualified: names[2*idBytes:],
		Terms: terms, Twin: c.twins[i], Category: c.labels[2*i], Inputs: c.labels[2*i+1],
	}
	for form := range d.Embedded {
		d.Embedded[form] = c.text(i, form)
	}
	return d, err
}

// text is the hash of what is embedded of the tool i.
func (c *columns) text(i, form int) [32]byte {
	return [32]byte(c.embedded[32*(tool.Forms*i+form):])
}

func (c *columns) vectorsByText() (map[store.Space]vectorsByText, error) {
	all := map[store.Space]vectorsByText{}
	for m, having := range c.having {
		shape, scales := c.shapes[m], c.scales[m]
		if len(shape) != 2 || shape[1] >= tool.Forms || len(scales) != len(having) || len(c.numbers[m]) != int(shape[0])*len(having) ||
			len(having) > 0 && int(slices.Max(having)) >= len(c.server) {
			return nil, fmt.Errorf("%w: its vectors", flat.ErrDamaged)
		}
		byText, dims := make(vectorsByText, len(having)), int(shape[0])
		for i, tool := range having {
			if scales[i] > 0 && scales[i] <= math.MaxFloat32 {
				byText[c.text(int(tool), int(shape[1]))] = vector.Code{Scale: scales[i], Numbers: c.numbers[m][i*dims:][:dims:dims]}
			}
		}
		all[store.Space(c.models[16*m:])] = byText
	}
	return all, nil
}

// A draftedModel is what is to be saved of a model.
type draftedModel struct {
	space store.Space
	form  int
	known vectorsByText
	dims  int
}

// derive makes the columns of the servers that are stored as memory has them.
func derive(file uint64, servers map[string]*server, lex bm25.View, models []draftedModel) *columns {
	c := &columns{file: []uint64{file}}
	type place struct {
		*entry
		server uint32
	}
	var all []place
	for name, sv := range servers {
		for _, e := range sv.entries {
			all = append(all, place{e, uint32(len(c.names))})
		}
		c.names, c.keys, c.generations = append(c.names, name), append(c.keys, sv.key[:]...), append(c.generations, sv.generation)
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.doc.ID, b.doc.ID) })
	number := make([]uint32, lex.Len())
	for _, e := range all {
		for _, id := range e.doc.Terms.Terms {
			number[id] = 1
		}
	}
	c.termText, c.termEnds = lex.Flat(func(id uint32) bool { return number[id] > 0 })
	next := uint32(0)
	for id, used := range number {
		number[id] = next // the terms that no tool has are not asked for
		next += used
	}
	for _, e := range all {
		c.add(e.entry, e.server, number)
	}
	for _, m := range models {
		having, scales, numbers := []uint32{}, []float32{}, make([]int8, 0, len(all)*m.dims)
		for i, e := range all {
			code, ok := m.known[e.doc.Embedded[m.form]]
			if !ok {
				continue
			}
			having, scales, numbers = append(having, uint32(i)), append(scales, code.Scale), append(numbers, code.Numbers...)
		}
		c.models = append(c.models, m.space[:]...)
		c.shapes = append(c.shapes, []uint32{uint32(m.dims), uint32(m.form)})
		c.having, c.scales, c.numbers = append(c.having, having), append(c.scales, scales), append(c.numbers, numbers)
	}
	return c
}

func (c *columns) add(e *entry, server uint32, number []uint32) {
	d := e.doc
	id := store.ParseID(d.ID)
	c.server, c.ids, c.sums = append(c.server, server), append(c.ids, id[:]...), append(c.sums, e.sum[:]...)
	for _, text := range d.Embedded {
		c.embedded = append(c.embedded, text[:]...)
	}
	c.seen = append(c.seen, uint64(store.Stamp(d.Tool.FirstSeen)))
	c.heads = append(c.heads, encodeHead(&d.Tool))
	c.labels = append(c.labels, d.Category, d.Inputs)
	c.twins = append(c.twins, d.Twin)
	c.terms.Append(&d.Terms, func(id uint32) uint32 { return number[id] })
}
