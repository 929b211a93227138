package hnsw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/robustio"

	"github.com/tooldex/tooldex/index/vector"
)

// ErrVersion reports a graph file of another version: not damage, and not for
// this program to remove.
var ErrVersion = errors.New("the file is of another version")

const maxDims = 1 << 16

// ReadFile reads a graph and what it was made from. The file is read whole
// and closed; anything wrong with it is an error that says what.
func ReadFile(path string) (*Graph, Header, error) {
	data, err := robustio.ReadFile(path)
	if err != nil {
		return nil, Header{}, fmt.Errorf("read graph: %w", err)
	}
	g, h, err := Decode(data)
	if err != nil {
		return nil, Header{}, fmt.Errorf("read graph %s: %w", path, err)
	}
	return g, h, nil
}

// Verify checks that path is a graph file without a fault.
func Verify(path string) error {
	_, _, err := ReadFile(path)
	return err
}

// Decode is the inverse of Encode. It accepts exactly what Encode writes and
// keeps nothing of data.
func Decode(data []byte) (*Graph, Header, error) {
	sections, err := decodeFrame(data)
	if err != nil {
		return nil, Header{}, err
	}
	h, err := decodeHead(sections[0])
	if err != nil {
		return nil, Header{}, fmt.Errorf("section head: %w", err)
	}
	for i, want := range h.sizes() {
		if got := uint64(len(sections[i])); got != want {
			return nil, Header{}, fmt.Errorf("section %s: %d bytes, want %d", sectionNames[i], got, want)
		}
	}
	g := h.graph(sections)
	if err := g.check(); err != nil {
		return nil, Header{}, err
	}
	return g, h.Header, nil
}

// decodeFrame checks everything around the sections, and their checksums.
func decodeFrame(data []byte) ([][]byte, error) {
	contents := entrySize * len(sectionNames)
	if len(data) < frameStart+contents+frameEnd {
		return nil, fmt.Errorf("%d bytes: too short for a graph", len(data))
	}
	if string(data[:8]) != fileMagic {
		return nil, errors.New("no graph file: wrong magic")
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != fileVersion {
		return nil, fmt.Errorf("version %d: %w than %d", v, ErrVersion, fileVersion)
	}
	frame := slices.Concat(data[:frameStart], data[len(data)-frameEnd-contents:])
	at, sum := len(frame)-4, len(data)-frameEnd-contents
	if crc32.Checksum(frame[:at], castagnoli) != binary.LittleEndian.Uint32(frame[at:]) {
		return nil, errors.New("table of contents: checksum mismatch")
	}
	if binary.LittleEndian.Uint32(frame[12:]) != 0 ||
		binary.LittleEndian.Uint64(frame[at-12:]) != uint64(sum) ||
		binary.LittleEndian.Uint32(frame[at-4:]) != uint32(len(sectionNames)) {
		return nil, errors.New("table of contents: does not fit the file")
	}
	return decodeEntries(data[:sum], frame[frameStart:])
}

// decodeEntries returns the sections, which must follow each other up to the
// end of data.
func decodeEntries(data, entries []byte) ([][]byte, error) {
	sections := make([][]byte, len(sectionNames))
	offset := uint64(frameStart)
	for i, name := range sectionNames {
		var want [entrySize]byte
		copy(want[:8], name)
		entry := entries[i*entrySize:][:entrySize]
		length := binary.LittleEndian.Uint64(entry[16:])
		left := uint64(len(data)) - offset
		if length > left || length+uint64(padding(int(length))) > left {
			return nil, fmt.Errorf("section %s: reaches past the end of the file", name)
		}
		sections[i] = data[offset:][:length]
		binary.LittleEndian.PutUint64(want[8:], offset)
		binary.LittleEndian.PutUint64(want[16:], length)
		binary.LittleEndian.PutUint32(want[24:], crc32.Checksum(sections[i], castagnoli))
		if !slices.Equal(entry[:24], want[:24]) || !slices.Equal(entry[28:], want[28:]) {
			return nil, fmt.Errorf("section %s: odd entry in the table of contents", name)
		}
		if !slices.Equal(entry, want[:]) {
			return nil, fmt.Errorf("section %s: checksum mismatch", name)
		}
		end := offset + length
		offset = end + uint64(padding(int(length)))
		if slices.ContainsFunc(data[end:offset], func(b byte) bool { return b != 0 }) {
			return nil, fmt.Errorf("section %s: bytes after its end", name)
		}
	}
	if offset != uint64(len(data)) {
		return nil, errors.New("bytes after the last section")
	}
	return sections, nil
}

// A head is the decoded section of that name.
type head struct {
	Header
	recall                             float64
	dims, docs, nodes, rows, entry, ef uint32
}

func decodeHead(b []byte) (h head, err error) {
	if len(b) < headSize || !utf8.Valid(b[headSize:]) {
		return h, errors.New("too short, or its identity no text")
	}
	h.Identity, h.Generation = string(b[headSize:]), binary.LittleEndian.Uint64(b)
	h.recall = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
	u := uint32s(b[16:headSize])
	h.dims, h.docs, h.nodes, h.rows, h.entry, h.ef = u[0], u[1], u[2], u[3], u[6], u[7]
	switch {
	case u[4] != linksBase || u[5] != linksUpper:
		return h, fmt.Errorf("%d and %d neighbours, want %d and %d", u[4], u[5], linksBase, linksUpper)
	case h.dims > maxDims || h.dims == 0 && h.nodes > 0:
		return h, fmt.Errorf("%d dimensions", h.dims)
	case h.nodes > h.docs:
		return h, fmt.Errorf("%d nodes for %d documents", h.nodes, h.docs)
	case h.ef == 0 || h.ef > maxDims || !(h.recall >= 0 && h.recall <= 1):
		return h, fmt.Errorf("beam %d with recall %g", h.ef, h.recall)
	case h.nodes == 0 && h.entry != none || h.nodes > 0 && h.entry >= h.nodes:
		return h, fmt.Errorf("entry %d of %d nodes", h.entry, h.nodes)
	}
	return h, nil
}

// sizes returns the lengths that the sections must have.
func (h head) sizes() [len(sectionNames)]uint64 {
	dims, docs, nodes, rows := uint64(h.dims), uint64(h.docs), uint64(h.nodes), uint64(h.rows)
	return [...]uint64{
		headSize + uint64(len(h.Identity)), docs * 8, docs * 4, nodes, nodes * 4,
		nodes * dims, nodes * linksBase * 4, rows * linksUpper * 4,
	}
}

// graph takes over the sections, whose sizes have been checked.
func (h head) graph(sections [][]byte) *Graph {
	g := &Graph{ef: int(h.ef), recall: h.recall, entry: h.entry}
	g.keys = make([]uint64, h.docs)
	for i := range g.keys {
		g.keys[i] = binary.LittleEndian.Uint64(sections[1][i*8:])
	}
	g.node = uint32s(sections[2])
	g.level = slices.Clone(sections[3])
	g.codes = vector.NewCodes(int(h.nodes), int(h.dims))
	code := vector.Code{Numbers: make([]int8, h.dims)}
	for n, bits := range uint32s(sections[4]) {
		code.Scale = math.Float32frombits(bits)
		for d, c := range sections[5][n*int(h.dims):][:h.dims] {
			code.Numbers[d] = int8(c)
		}
		g.codes.Set(n, code)
	}
	g.base, g.above = uint32s(sections[6]), uint32s(sections[7])
	g.at = make([]uint32, h.nodes)
	return g
}

func uint32s(b []byte) []uint32 {
	values := make([]uint32, len(b)/4)
	for i := range values {
		values[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return values
}

// check fills in where each node's upper layers begin, and finds whatever
// would let a walk leave the graph.
func (g *Graph) check() error {
	for i := 1; i < len(g.keys); i++ {
		if g.keys[i-1] >= g.keys[i] {
			return fmt.Errorf("section keys: key %x follows %x", g.keys[i], g.keys[i-1])
		}
	}
	for i, node := range g.node {
		if int(node) >= g.Nodes() {
			return fmt.Errorf("section node: document %d on node %d of %d", i, node, g.Nodes())
		}
	}
	for n := range g.Nodes() {
		if s := g.codes.Row(n).Scale; !(s >= 0 && s <= math.MaxFloat32) {
			return fmt.Errorf("section scale: %g for node %d", s, n)
		}
	}
	rows := uint32(0)
	for i, level := range g.level {
		if level > maxLevel || level > g.level[g.entry] {
			return fmt.Errorf("section level: %d for node %d", level, i)
		}
		g.at[i] = rows
		rows += uint32(level)
	}
	if int(rows)*linksUpper != len(g.above) {
		return fmt.Errorf("section above: %d rows, the levels make %d", len(g.above)/linksUpper, rows)
	}
	return g.checkLinks()
}

func (g *Graph) checkLinks() error {
	for n := range uint32(g.Nodes()) {
		for layer := range int(g.level[n]) + 1 {
			links := g.links(n, layer)
			used := firstNone(links)
			for i, other := range links {
				if i >= used {
					if other != none {
						return fmt.Errorf("node %d, layer %d: neighbours after the last", n, layer)
					}
				} else if int(other) >= g.Nodes() || int(g.level[other]) < layer {
					return fmt.Errorf("node %d, layer %d: neighbour %d is not there", n, layer, other)
				}
			}
		}
	}
	return nil
}
