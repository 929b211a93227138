// Package derived is the file of what is derived from a catalog's store, so
// that opening a folder is reading one file.
//
// It is a flat file of the catalog as one configuration sees it. It says
// nothing that the store does not say or that cannot be made again: a server
// of which the store has another generation, or a file that is damaged, costs
// time and nothing else. Its arrays are
//
//	u64 the store's id
//	texts, u8, u64         by server: name, key [16], generation
//	u32, u8, u8, u8, u64   by tool, in the order of the ids: server, id [6], sum [16], embedded [2][32], first seen
//	texts                  by tool: head
//	u8, u32                the terms: all bytes, where each ends
//	texts                  by tool: category, names of the inputs, signature, effect, group
//	u64                    by tool: twin
//	u64, u32               by tool: sum of what its phrases were chosen from, how many there are
//	u32                    the phrases by tool: number of the text
//	u8                     the phrases' texts: hash [32]
//	u32, u32, u32, u8, u16 bm25.Block
//	u8                     by model: the key of its space [16]
//	u32, u32, f32, i8      of each model: dimensions and form, the tools that have a vector and, numbered behind the
//	                       tools, the phrases, the scales and numbers of their codes
package derived

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/flat"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

const magic = "TDXDERIV"

// version is the format's version and that of the analysis. Since 4 it has the
// phrases' hashes and vectors, and the terms are those with phrases.
const version = 4<<24 | snapshot.AnalysisVersion

// A State is what such a file says. The zero value says nothing.
type State struct {
	File    uint64 // the store's id
	Lexicon bm25.Lexicon
	Servers []Server
	Vectors map[store.Space]Vectors
}

// A Server is one server's tools as one generation of the store has them.
type Server struct {
	Name       string
	Key        store.Key
	Generation uint64
	Docs       map[string]*snapshot.Document // by id
}

// Vectors are codes by the hash of the text that they are of.
type Vectors map[[32]byte]vector.Code

// A Draft is what is to be written.
type Draft struct {
	File    uint64 // the store's id
	Servers []Server
	Lexicon bm25.View // numbers the documents' terms
	Models  []Model
}

// A Model is what is to be written of one space.
type Model struct {
	Space store.Space
	Form  int // of the texts: tool.AsFields or tool.AsText
	Known Vectors
	Dims  int
}

// Write makes the file path of what is to be written.
func Write(path string, d Draft) error {
	c := derive(d)
	return atomicfile.Write(path, func(to io.Writer) error { return flat.Write(to, magic, version, c.write) })
}

// Verify reads a file to the end. One of another version is sound.
func Verify(path string) error {
	_, err := Read(path)
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
	labels      []string // category, inputs, signature, effect, group
	twins       []uint64
	phraseSums  []uint64
	phraseSizes []uint32
	phrases     []uint32 // of one tool after the other
	said        []byte   // by phrase, as distinct texts
	terms       bm25.Block
	models      []byte // by model, as the next four
	shapes      [][]uint32
	having      [][]uint32
	scales      [][]float32
	numbers     [][]int8
}

// Read returns what a file says.
func Read(path string) (State, error) {
	r, err := flat.Open(path, magic, version)
	if err != nil {
		return State{}, err
	}
	return decode(r)
}

func decode(r *flat.Reader) (State, error) {
	var c columns
	c.read(r)
	if err := r.Close(); err != nil {
		return State{}, err
	}
	return c.state()
}

func (c *columns) read(r *flat.Reader) {
	c.file = flat.Get[uint64](r)
	c.names, c.keys, c.generations = r.Texts(), flat.Get[byte](r), flat.Get[uint64](r)
	c.server, c.ids, c.sums, c.embedded, c.seen = flat.Get[uint32](r), flat.Get[byte](r), flat.Get[byte](r), flat.Get[byte](r), flat.Get[uint64](r)
	c.heads = r.Texts()
	c.termText, c.termEnds = flat.Get[byte](r), flat.Get[uint32](r)
	c.labels = r.Texts()
	c.twins = flat.Get[uint64](r)
	c.phraseSums, c.phraseSizes = flat.Get[uint64](r), flat.Get[uint32](r)
	c.phrases, c.said = flat.Get[uint32](r), flat.Get[byte](r)
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
	flat.Put(w, c.phraseSums)
	flat.Put(w, c.phraseSizes)
	flat.Put(w, c.phrases)
	flat.Put(w, c.said)
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

// labels is how many texts of a tool are in columns.labels.
const labels = 5

// idBytes is the length of an id in the file.
const idBytes = len(store.ID{})

// fits says whether the columns are as long as they must be.
func (c *columns) fits() bool {
	tools, servers := len(c.server), len(c.names)
	return len(c.file) == 1 && len(c.keys) == 16*servers && len(c.generations) == servers &&
		len(c.ids) == idBytes*tools && len(c.sums) == 16*tools && len(c.embedded) == tool.Forms*32*tools &&
		len(c.seen) == tools && len(c.heads) == tools && len(c.labels) == labels*tools && len(c.twins) == tools &&
		len(c.terms.Sizes) == tools && len(c.models)%16 == 0 &&
		(tools == 0 || int(slices.Max(c.server)) < servers) && c.phrasesFit(tools)
}

func (c *columns) phrasesFit(tools int) bool {
	n := 0
	for _, size := range c.phraseSizes {
		n += int(size)
	}
	return len(c.phraseSums) == tools && len(c.phraseSizes) == tools && len(c.phrases) == n && len(c.said)%32 == 0 &&
		(n == 0 || int(slices.Max(c.phrases)) < len(c.said)/32)
}

// state makes of the columns what they say, on all processors.
func (c *columns) state() (d State, err error) {
	if !c.fits() {
		return d, fmt.Errorf("%w: its arrays do not fit each other", flat.ErrDamaged)
	}
	d.File = c.file[0]
	if d.Lexicon, err = bm25.NewLexicon(c.termText, c.termEnds); err != nil {
		return State{}, err
	}
	terms, err := c.terms.Docs(uint32(len(c.termEnds)))
	if err != nil {
		return State{}, err
	}
	said := c.hashes()
	docs := make([]snapshot.Document, len(c.server))
	var wg sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for p := range errs {
		wg.Go(func() {
			for i := p * len(docs) / len(errs); i < (p+1)*len(docs)/len(errs) && errs[p] == nil; i++ {
				docs[i], errs[p] = c.document(i, terms[i])
				docs[i].PhraseSum, docs[i].PhraseHashes = c.phraseSums[i], said[i]
			}
		})
	}
	wg.Wait()
	for i, name := range c.names {
		d.Servers = append(d.Servers, Server{name, store.Key(c.keys[16*i:]), c.generations[i], map[string]*snapshot.Document{}})
	}
	for i := range docs {
		d.Servers[c.server[i]].Docs[docs[i].ID] = &docs[i]
	}
	if err := errors.Join(errs...); err != nil {
		return State{}, err
	}
	d.Vectors, err = c.vectorsByText()
	return d, err
}

func (c *columns) document(i int, terms bm25.Doc) (snapshot.Document, error) {
	t, err := tool.DecodeHead(c.heads[i])
	t.FirstSeen = store.Unstamp(int64(c.seen[i])).UTC()
	names := store.ID(c.ids[idBytes*i:]).String() + t.QualifiedName() // one piece of memory
	t.Effect, t.Group = c.labels[labels*i+3], c.labels[labels*i+4]
	d := snapshot.Document{
		Tool: t, ID: names[:2*idBytes], Sum: [16]byte(c.sums[16*i:]), Qualified: names[2*idBytes:],
		Terms: terms, Twin: c.twins[i], Category: c.labels[labels*i], Inputs: c.labels[labels*i+1], Signature: c.labels[labels*i+2],
	}
	for form := range d.Embedded {
		d.Embedded[form] = c.text(i, form)
	}
	return d, err
}

// hashes are those of the phrases, by tool.
func (c *columns) hashes() [][][32]byte {
	all := make([][32]byte, len(c.phrases))
	for i, n := range c.phrases {
		all[i] = [32]byte(c.said[32*n:])
	}
	byTool := make([][][32]byte, len(c.phraseSizes))
	for i, n := range c.phraseSizes {
		if n > 0 {
			byTool[i], all = all[:n:n], all[n:]
		}
	}
	return byTool
}

// text is the hash of what is embedded of the tool i, or of the phrase i
// behind the tools.
func (c *columns) text(i, form int) [32]byte {
	if said := i - len(c.server); said >= 0 {
		return [32]byte(c.said[32*said:])
	}
	return [32]byte(c.embedded[32*(tool.Forms*i+form):])
}

func (c *columns) vectorsByText() (map[store.Space]Vectors, error) {
	all := map[store.Space]Vectors{}
	for m, having := range c.having {
		shape, scales := c.shapes[m], c.scales[m]
		if len(shape) != 2 || shape[1] >= tool.Forms || len(scales) != len(having) || len(c.numbers[m]) != int(shape[0])*len(having) ||
			len(having) > 0 && int(slices.Max(having)) >= len(c.server)+len(c.said)/32 {
			return nil, fmt.Errorf("%w: its vectors", flat.ErrDamaged)
		}
		byText, dims := make(Vectors, len(having)), int(shape[0])
		for i, text := range having {
			if scales[i] > 0 && scales[i] <= math.MaxFloat32 {
				byText[c.text(int(text), int(shape[1]))] = vector.Code{Scale: scales[i], Numbers: c.numbers[m][i*dims:][:dims:dims]}
			}
		}
		all[store.Space(c.models[16*m:])] = byText
	}
	return all, nil
}

// derive makes the columns of a draft.
func derive(d Draft) *columns {
	c, lex := &columns{file: []uint64{d.File}}, d.Lexicon
	type place struct {
		*snapshot.Document
		server uint32
	}
	var all []place
	for i, sv := range d.Servers {
		for _, e := range sv.Docs {
			all = append(all, place{e, uint32(i)})
		}
		c.names, c.keys, c.generations = append(c.names, sv.Name), append(c.keys, sv.Key[:]...), append(c.generations, sv.Generation)
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.ID, b.ID) })
	number := make([]uint32, lex.Len())
	for _, e := range all {
		for _, id := range e.Terms.Terms {
			number[id] = 1
		}
	}
	c.termText, c.termEnds = lex.Flat(func(id uint32) bool { return number[id] > 0 })
	next := uint32(0)
	for id, used := range number {
		number[id] = next // the terms that no tool has are not asked for
		next += used
	}
	said := map[[32]byte]uint32{}
	for _, e := range all {
		c.add(e.Document, e.server, number)
		c.addPhrases(e.Document, said)
	}
	for _, m := range d.Models {
		c.addModel(&m)
	}
	return c
}

// addModel adds the vectors of the texts that are there already.
func (c *columns) addModel(m *Model) {
	texts := len(c.server) + len(c.said)/32
	having, scales, numbers := []uint32{}, []float32{}, make([]int8, 0, texts*m.Dims)
	for i := range texts {
		code, ok := m.Known[c.text(i, m.Form)]
		if !ok {
			continue
		}
		having, scales, numbers = append(having, uint32(i)), append(scales, code.Scale), append(numbers, code.Numbers...)
	}
	c.models = append(c.models, m.Space[:]...)
	c.shapes = append(c.shapes, []uint32{uint32(m.Dims), uint32(m.Form)})
	c.having, c.scales, c.numbers = append(c.having, having), append(c.scales, scales), append(c.numbers, numbers)
}

// addPhrases adds those of a document; said numbers their texts.
func (c *columns) addPhrases(d *snapshot.Document, said map[[32]byte]uint32) {
	c.phraseSums, c.phraseSizes = append(c.phraseSums, d.PhraseSum), append(c.phraseSizes, uint32(len(d.PhraseHashes)))
	for _, h := range d.PhraseHashes {
		n, ok := said[h]
		if !ok {
			n = uint32(len(said))
			said[h] = n
			c.said = append(c.said, h[:]...)
		}
		c.phrases = append(c.phrases, n)
	}
}

func (c *columns) add(e *snapshot.Document, server uint32, number []uint32) {
	d := e
	id := store.ParseID(d.ID)
	c.server, c.ids, c.sums = append(c.server, server), append(c.ids, id[:]...), append(c.sums, e.Sum[:]...)
	for _, text := range d.Embedded {
		c.embedded = append(c.embedded, text[:]...)
	}
	c.seen = append(c.seen, uint64(store.Stamp(d.Tool.FirstSeen)))
	c.heads = append(c.heads, tool.EncodeHead(&d.Tool))
	c.labels = append(c.labels, d.Category, d.Inputs, d.Signature, d.Tool.Effect, d.Tool.Group)
	c.twins = append(c.twins, d.Twin)
	c.terms.Append(&d.Terms, func(id uint32) uint32 { return number[id] })
}
