// Package pack knows phrases for tools of well-known servers, so that a tool
// is found by what people say the first time that it is listed.
//
// A pack is one checksummed file, read where it lies: a table of tools, sorted
// by a hash of the name, a sketch of each longer description, and the phrases
// in compressed blocks. A tool is known by its name and its description's
// words, whatever their case and spacing; and when the description has moved
// on, by its name and how close the descriptions are. Descriptions themselves
// are not in the file: the sketch is enough to compare them.
package pack

import (
	"bytes"
	"compress/flate"
	_ "embed" // the pack that comes with the binary
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/crc64"
	"io"
	"sort"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/index/phrase"
)

//go:embed pack.bin
var builtin []byte

// Builtin is the pack inside the binary, read once.
var Builtin = sync.OnceValue(func() *Pack {
	p, err := Open(builtin)
	if err != nil {
		panic(err) // a test opens it
	}
	return p
})

// The file: the header, what it was made from, the records, the sketches, the
// ends of the blocks, the blocks. All numbers are little-endian.
const (
	magic      = "tdxpack1"
	headerSize = len(magic) + 6*4
	recordSize = 4 + 8 + 2 + 2 + 2 // name, key, sketch, block, offset in it
	blockSize  = 48 << 10          // decompressed, at most 64 KiB
	noSketch   = 1<<16 - 1
	// blocksKept is how many decompressed blocks stay in memory: tools are
	// asked for server by server, and a server's tools lie together.
	blocksKept = 8
)

// A Pack is an opened file; for concurrent use.
type Pack struct {
	sum        uint64 // of the file
	provenance string
	records    []byte
	sketches   []byte
	ends       []byte // of each block in blocks
	blocks     []byte
	texts      *lru.Cache[int, []byte] // decompressed blocks by number
}

var errDamaged = errors.New("phrase pack: the file is damaged")

// Open reads a pack, which must not change afterwards.
func Open(file []byte) (*Pack, error) {
	if len(file) < headerSize || string(file[:len(magic)]) != magic {
		return nil, errors.New("phrase pack: not a pack file of this version")
	}
	u32 := func(i int) int { return int(binary.LittleEndian.Uint32(file[len(magic)+4*i:])) }
	if rest := file[headerSize:]; u32(0) != int(crc32.Checksum(rest, castagnoli)) {
		return nil, errDamaged
	}
	p := &Pack{sum: crc64.Checksum(file[:headerSize], crc64.MakeTable(crc64.ECMA))} // the header has the rest's checksum
	rest := file[headerSize:]
	for _, part := range []struct {
		to   func([]byte)
		size int
	}{
		{func(b []byte) { p.provenance = string(b) }, u32(1)},
		{func(b []byte) { p.records = b }, u32(2) * recordSize},
		{func(b []byte) { p.sketches = b }, u32(3) * sketchSize},
		{func(b []byte) { p.ends = b }, u32(4) * 4},
		{func(b []byte) { p.blocks = b }, u32(5)},
	} {
		if part.size > len(rest) {
			return nil, errDamaged
		}
		part.to(rest[:part.size:part.size])
		rest = rest[part.size:]
	}
	var err error
	p.texts, err = lru.New[int, []byte](blocksKept)
	return p, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Provenance says what the pack was made from.
func (p *Pack) Provenance() string { return p.provenance }

// Identity is equal for packs that know the same.
func (p *Pack) Identity() uint64 { return p.sum }

// Len is the number of tools that the pack knows.
func (p *Pack) Len() int { return len(p.records) / recordSize }

// Find returns the phrases of a tool, nil for one that the pack does not know.
func (p *Pack) Find(name, description string) []phrase.Phrase {
	at, ok := p.find(name, description)
	if !ok {
		return nil
	}
	r := p.record(at)
	return p.phrases(int(r.block), int(r.offset))
}

type record struct {
	name                  uint32
	key                   uint64
	sketch, block, offset uint16
}

func (p *Pack) record(i int) (r record) {
	b := p.records[i*recordSize:]
	le := binary.LittleEndian
	return record{le.Uint32(b), le.Uint64(b[4:]), le.Uint16(b[12:]), le.Uint16(b[14:]), le.Uint16(b[16:])}
}

// find is the record of a tool: the one of the same words, else the closest
// of those of the same name.
func (p *Pack) find(name, description string) (int, bool) {
	h := nameHash(name)
	first := sort.Search(p.Len(), func(i int) bool { return p.record(i).name >= h })
	if first == p.Len() || p.record(first).name != h {
		return 0, false // most tools: their description is not looked at
	}
	words := wordsOf(description)
	key := keyOf(name, words)
	last := first
	for ; last < p.Len() && p.record(last).name == h; last++ {
		if p.record(last).key == key && len(words) > 0 {
			return last, true
		}
	}
	if distinct(words) < leastWords {
		return 0, false
	}
	sketch := sketchOf(words)
	best, most := 0, 0
	for i := first; i < last; i++ {
		r := p.record(i)
		if r.sketch == noSketch {
			continue
		}
		if n := same(&sketch, p.sketches[int(r.sketch)*sketchSize:]); n > most {
			best, most = i, n
		}
	}
	return best, most >= closeEnough
}

// phrases reads those that begin at an offset of a block: their number, and of
// each its kind, its length and its text. A pack whose checksum is right holds
// what Write wrote.
func (p *Pack) phrases(block, offset int) []phrase.Phrase {
	text := p.block(block)
	if offset >= len(text) {
		return nil
	}
	b := text[offset+1:]
	all := make([]phrase.Phrase, 0, text[offset])
	for range cap(all) {
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return nil
		}
		f := phrase.Phrase{Text: string(b[2 : 2+b[1]]), Source: phrase.Pack}
		if k := int(b[0]); k < len(phrase.Kinds) {
			f.Kind = phrase.Kinds[k]
		}
		all = append(all, f)
		b = b[2+b[1]:]
	}
	return all
}

// block is a decompressed block.
func (p *Pack) block(i int) []byte {
	if text, ok := p.texts.Get(i); ok {
		return text
	}
	if i >= len(p.ends)/4 {
		return nil
	}
	from, to := 0, int(binary.LittleEndian.Uint32(p.ends[4*i:]))
	if i > 0 {
		from = int(binary.LittleEndian.Uint32(p.ends[4*(i-1):]))
	}
	if from > to || to > len(p.blocks) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(p.blocks[from:to])), 1<<16))
	if err != nil {
		return nil
	}
	p.texts.Add(i, text)
	return text
}

// Packs are asked in turn: the first that knows a tool answers.
type Packs []*Pack

// Find returns the phrases of a tool, nil for one that no pack knows.
func (ps Packs) Find(name, description string) []phrase.Phrase {
	for _, p := range ps {
		if found := p.Find(name, description); found != nil {
			return found
		}
	}
	return nil
}

// Identity is equal for the same packs in the same order.
func (ps Packs) Identity() (sum uint64) {
	for _, p := range ps {
		sum = sum*31 + p.Identity()
	}
	return sum
}

// Len is the number of tools that the packs know.
func (ps Packs) Len() (n int) {
	for _, p := range ps {
		n += p.Len()
	}
	return n
}
