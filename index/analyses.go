package index

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/store"
)

// The file analyses-CONFIGURATION is a flat file of the whole catalog's
// analyses with their terms numbered, so that opening a large one neither
// looks up nor sorts a million terms. It repeats what the store's terms bucket
// says: a tool that it lacks, or a file that is damaged, costs time and nothing
// else. Its version is analysesVersion, its arrays are
//
//	numbers   u32  of documents D, terms T, their bytes, of postings P, counts C, bytes of texts
//	sums      u8   [16] by document
//	ends      u32  by term: where it ends in the next
//	terms     u8
//	ends      u32  by document: where its category and where its inputs end in the next
//	texts     u8
//	twins     u64  by document
//	sizes     u32  by document: how many of the postings are its
//	lengths   u32  [bm25.MaxFields] by document
//	postings  u32  the terms' numbers, ascending in each document
//	masks     u8   by posting
//	counts    u16  by posting, one for each bit of its mask
const analysesMagic = "TDXTERMS"

// analysesVersion is the format's version and that of the analysis.
const analysesVersion = 2<<24 | analysisVersion

// When files that can be made again are written.
const (
	savedFrom  = 1000 // documents from which they are worth having
	savedShare = 20   // one document in so many is not in them
	closeShare = 100  // the same when the index closes, which cannot happen often
)

// analyses are the documents of the file. The zero value has none.
type analyses struct {
	from  *flatReader
	sizes [6]int64 // the numbers at the file's beginning
	place map[[16]byte]int
	made  []analysed
}

// configuration names what this process loads of the folder: the same for
// all processes with the same servers at the same connections.
func (ix *Index) configuration() string {
	var mix [16]byte
	for key := range ix.ours() {
		for i, b := range key {
			mix[i] ^= b // any order gives the same
		}
	}
	return hex.EncodeToString(mix[:])
}

func (ix *Index) analysesPath() string {
	return filepath.Join(ix.dir, "analyses-"+ix.configuration()[:16])
}

// openAnalyses reads of the file which tools it has, and leaves the rest to
// read. Without a file, or with one that is outdated or damaged, there are no
// analyses.
func (ix *Index) openAnalyses() analyses {
	a, err := openAnalyses(ix.analysesPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ix.withoutAnalyses(err)
	}
	return a
}

func (ix *Index) withoutAnalyses(err error) {
	ix.log.Info("stored analyses are taken one by one", "file", ix.analysesPath(), "error", err)
}

func openAnalyses(path string) (a analyses, err error) {
	r, err := openFlat(path, analysesMagic, analysesVersion)
	if err != nil {
		return a, err
	}
	for i := range a.sizes {
		a.sizes[i] = int64(r.number())
	}
	a.from = r
	sums := array[byte](r, 16*a.sizes[0])
	a.place = make(map[[16]byte]int, len(sums)/16)
	for i := range len(sums) / 16 {
		a.place[[16]byte(sums[16*i:])] = i
	}
	return a, nil
}

// has says whether the file names the tool with this sum.
func (a *analyses) has(sum [16]byte) bool {
	_, ok := a.place[sum]
	return ok
}

// read takes in what openAnalyses left, with the lexicon that the terms are
// numbered by. After an error what has says is of no use.
func (a *analyses) read() (lex bm25.Lexicon, err error) {
	if a.from == nil {
		return lex, nil
	}
	r := a.from
	documents, terms := a.sizes[0], a.sizes[1]
	termEnds, termText := array[uint32](r, terms), array[byte](r, a.sizes[2])
	ends, text := array[uint32](r, 2*documents), string(array[byte](r, a.sizes[5]))
	twins := array[uint64](r, documents)
	block := bm25.Block{
		Sizes: array[uint32](r, documents), Lengths: array[uint32](r, bm25.MaxFields*documents),
		Terms: array[uint32](r, a.sizes[3]), Masks: array[byte](r, a.sizes[3]), Counts: array[uint16](r, a.sizes[4]),
	}
	err = r.close()
	if err == nil {
		lex, err = bm25.NewLexicon(termText, termEnds)
	}
	if err == nil {
		a.made, err = assembled(&block, uint32(terms), twins)
	}
	if err == nil {
		err = addTexts(a.made, ends, text)
	}
	if err != nil {
		return bm25.Lexicon{}, err
	}
	return lex, nil
}

func assembled(b *bm25.Block, limit uint32, twins []uint64) ([]analysed, error) {
	docs, err := b.Docs(limit)
	if err != nil {
		return nil, err
	}
	made := make([]analysed, len(docs))
	for i := range docs {
		made[i] = analysed{terms: docs[i], twin: twins[i]}
	}
	return made, nil
}

// addTexts cuts categories and inputs out of text.
func addTexts(made []analysed, ends []uint32, text string) error {
	start := uint32(0)
	cut := func(end uint32) string {
		if end < start || int(end) > len(text) {
			start = math.MaxUint32
			return ""
		}
		s := text[start:end]
		start = end
		return s
	}
	for i := range made {
		made[i].category, made[i].inputs = cut(ends[2*i]), cut(ends[2*i+1])
	}
	if int(start) != len(text) {
		return fmt.Errorf("%w: its texts", errFlat)
	}
	return nil
}

// verifyAnalyses reads a file of analyses to the end. One of another version
// is sound.
func verifyAnalyses(path string) error {
	a, err := openAnalyses(path)
	if err == nil {
		_, err = a.read()
	}
	if errors.Is(err, errOutdated) {
		return nil
	}
	return err
}

// find returns the analysis of the tool with this sum.
func (a *analyses) find(sum [16]byte) (*analysed, bool) {
	i, ok := a.place[sum]
	if !ok {
		return nil, false
	}
	return &a.made[i], true
}

// entries makes the entries of those stored tools that the file has, by
// server and place, on all processors: they need no lexicon.
func (a *analyses) entries(servers []store.Loaded) [][]*entry {
	made := make([][]*entry, len(servers))
	if len(a.made) == 0 {
		return made
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(servers); i = next.Add(1) - 1 {
				made[i] = a.entriesOf(servers[i].Tools)
			}
		})
	}
	wg.Wait()
	return made
}

// entriesOf makes all entries of a server in two pieces.
func (a *analyses) entriesOf(tools []store.Entry) []*entry {
	made := make([]*entry, len(tools))
	docs, entries := make([]document, len(tools)), make([]entry, len(tools))
	for i := range tools {
		se := &tools[i]
		found, ok := a.find(se.Sum)
		if !ok || len(se.Texts) != textForms {
			continue
		}
		if t, err := storedTool(se); err == nil {
			docs[i] = storedDocument(t, se, *found)
			entries[i] = entry{doc: &docs[i], sum: se.Sum}
			made[i] = &entries[i]
		}
	}
	return made
}

// saveAnalyses writes the file if one document in share is not in it.
func (ix *Index) saveAnalyses(share int) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	entries := 0
	for _, sv := range ix.servers {
		entries += len(sv.entries)
	}
	if ix.readOnly() || entries < savedFrom || ix.unsaved == 0 || ix.unsaved*share < entries {
		return nil
	}
	err := atomicfile.Write(ix.analysesPath(), ix.writeAnalyses)
	if err != nil {
		return fmt.Errorf("write analyses: %w", err)
	}
	ix.unsaved = 0
	return nil
}

// writeAnalyses leaves terms out that no tool has any more. The caller holds
// mu.
func (ix *Index) writeAnalyses(to io.Writer) error {
	number, _ := ix.usedTerms()
	terms, ends := ix.lexicon.View().Flat(func(id uint32) bool { return number[id] > 0 })
	next := uint32(0)
	for id, n := range number {
		if n > 0 {
			number[id] = next
			next++
		}
	}
	var sums, text []byte
	var textEnds []uint32
	var twins []uint64
	var block bm25.Block
	for _, sv := range ix.servers {
		for _, e := range sv.entries {
			sums = append(sums, e.sum[:]...)
			for _, s := range []string{e.doc.category, e.doc.inputs} {
				text = append(text, s...)
				textEnds = append(textEnds, uint32(len(text)))
			}
			twins = append(twins, e.doc.twin)
			block.Append(&e.doc.terms, func(id uint32) uint32 { return number[id] })
		}
	}
	return writeFlat(to, analysesMagic, analysesVersion, func(w *flatWriter) error {
		return errors.Join(
			w.numbers(uint32(len(twins)), uint32(len(ends)), uint32(len(terms))),
			w.numbers(uint32(len(block.Terms)), uint32(len(block.Counts)), uint32(len(text))),
			putArray(w, sums), putArray(w, ends), putArray(w, terms), putArray(w, textEnds), putArray(w, text), putArray(w, twins),
			putArray(w, block.Sizes), putArray(w, block.Lengths), putArray(w, block.Terms), putArray(w, block.Masks), putArray(w, block.Counts))
	})
}
