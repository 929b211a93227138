package index

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/store"
)

// The file analyses-CONFIGURATION holds the whole catalog's analyses with
// their terms numbered, so that opening a large one neither looks up nor
// sorts a million terms. It repeats what the store's terms bucket says: a
// tool that it lacks, or a file that is damaged, costs time and nothing else.
//
//	magic "TDXTERMS" | analysisVersion u32 | terms | documents | crc32c u32
//
// Integers with a width are little-endian, all others unsigned varints. Terms
// are their number, then each one's length and text. Documents are their
// number, then for each its length in bytes and
//
//	sum [16] | twin u64 | hashes of the embedded texts [2 × 32] | category | inputs | bm25.AppendNumbered
//
// with category and inputs after their lengths.
const analysesMagic = "TDXTERMS"

const (
	analysesFrom  = 1000 // documents from which the file is worth having
	analysesShare = 20   // it is written anew when one document in so many is not in it
)

var (
	analysesTable = crc32.MakeTable(crc32.Castagnoli)
	errAnalyses   = errors.New("not a sound file of analyses")
)

// analyses are the documents of the file, by sum, and the lexicon that their
// terms are numbered by.
type analyses struct {
	terms     uint32
	documents map[[16]byte]string
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

// readAnalyses fills the empty lexicon with the file's terms. Without a file,
// or with one that is outdated or damaged, there are no analyses.
func (ix *Index) readAnalyses() analyses {
	data, err := os.ReadFile(ix.analysesPath())
	if errors.Is(err, fs.ErrNotExist) {
		return analyses{}
	}
	var a analyses
	if err == nil {
		a, err = decodeAnalyses(data, &ix.lexicon)
	}
	if err != nil {
		ix.lexicon = bm25.Lexicon{}
		ix.log.Info("stored analyses are taken one by one", "file", ix.analysesPath(), "error", err)
		return analyses{}
	}
	return a
}

func decodeAnalyses(data []byte, lex *bm25.Lexicon) (a analyses, err error) {
	const frame = len(analysesMagic) + 4
	body := len(data) - 4
	if body < frame || string(data[:len(analysesMagic)]) != analysesMagic {
		return a, errAnalyses
	}
	if binary.LittleEndian.Uint32(data[len(analysesMagic):]) != analysisVersion {
		return a, errOutdated
	}
	if crc32.Checksum(data[:body], analysesTable) != binary.LittleEndian.Uint32(data[body:]) {
		return a, fmt.Errorf("%w: its checksum differs", errAnalyses)
	}
	r := reader{data: string(data[frame:body])}
	n := r.count()
	for range n {
		lex.Add(r.text())
	}
	a.terms = uint32(n)
	n = r.count()
	a.documents = make(map[[16]byte]string, n)
	for range n {
		if d := r.text(); len(d) >= 16 {
			a.documents[[16]byte([]byte(d[:16]))] = d[16:]
		}
	}
	if lex.Len() != int(a.terms) {
		return a, fmt.Errorf("%w: a term twice", errAnalyses)
	}
	return a, r.end()
}

// checkAnalyses reads a file of analyses to the end. One of another version
// is sound.
func checkAnalyses(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	a, err := decodeAnalyses(data, new(bm25.Lexicon))
	if err != nil && !errors.Is(err, errOutdated) {
		return err
	}
	for sum := range a.documents {
		if _, _, ok := a.find(sum); !ok {
			return fmt.Errorf("%w: document %x", errAnalyses, sum)
		}
	}
	return nil
}

// find returns the analysis of the tool with this sum.
func (a analyses) find(sum [16]byte) (out analysed, embedded [textForms][32]byte, ok bool) {
	d, ok := a.documents[sum]
	if !ok || len(d) < 8+textForms*32 {
		return out, embedded, false
	}
	out.twin = binary.LittleEndian.Uint64([]byte(d[:8]))
	for i := range embedded {
		copy(embedded[i][:], d[8+32*i:])
	}
	r := reader{data: d[8+textForms*32:]}
	out.category, out.inputs = clone(r.text()), clone(r.text())
	terms, rest, err := bm25.DecodeNumbered([]byte(r.data), a.terms)
	out.terms = terms
	return out, embedded, err == nil && len(rest) == 0 && !r.bad
}

// entries makes the entries of those stored tools that the file has, by
// server and place, on all processors: they need no lexicon.
func (a analyses) entries(servers []store.Loaded) [][]*entry {
	made := make([][]*entry, len(servers))
	if len(a.documents) == 0 {
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

func (a analyses) entriesOf(tools []store.Entry) []*entry {
	made := make([]*entry, len(tools))
	for i := range tools {
		found, embedded, ok := a.find(tools[i].Sum)
		if !ok {
			continue
		}
		if t, err := storedTool(&tools[i]); err == nil {
			made[i] = &entry{doc: finishDocument(t, found, embedded), sum: tools[i].Sum}
		}
	}
	return made
}

// clone copies a string out of the file, which would stay in memory.
func clone(s string) string { return string([]byte(s)) }

// saveAnalyses writes the file if much of the catalog is not in it.
func (ix *Index) saveAnalyses() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	entries := 0
	for _, sv := range ix.servers {
		entries += len(sv.entries)
	}
	if ix.readOnly() || entries < analysesFrom || ix.unsaved*analysesShare < entries {
		return nil
	}
	data := ix.encodeAnalyses(entries)
	err := atomicfile.Write(ix.analysesPath(), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write analyses: %w", err)
	}
	ix.unsaved = 0
	return nil
}

// encodeAnalyses leaves terms out that no tool has any more. The caller holds
// mu.
func (ix *Index) encodeAnalyses(entries int) []byte {
	lex := ix.lexicon.View()
	number, used := ix.usedTerms()
	w := writer{append(make([]byte, 0, 512*entries), analysesMagic...)}
	w.data = binary.LittleEndian.AppendUint32(w.data, analysisVersion)
	w.number(uint64(used))
	next := uint32(0)
	for id, n := range number {
		if n > 0 {
			w.text(lex.Term(uint32(id)))
			number[id] = next
			next++
		}
	}
	w.number(uint64(entries))
	for _, sv := range ix.servers {
		for _, e := range sv.entries {
			w.text(string(e.numbered(number)))
		}
	}
	return binary.LittleEndian.AppendUint32(w.data, crc32.Checksum(w.data, analysesTable))
}

// numbered is one document of the file.
func (e *entry) numbered(number []uint32) []byte {
	d := e.doc
	w := writer{append(make([]byte, 0, 512), e.sum[:]...)}
	w.data = binary.LittleEndian.AppendUint64(w.data, d.twin)
	for i := range d.embedded {
		w.data = append(w.data, d.embedded[i][:]...)
	}
	w.text(d.category)
	w.text(d.inputs)
	return bm25.AppendNumbered(w.data, &d.terms, func(id uint32) uint32 { return number[id] })
}
