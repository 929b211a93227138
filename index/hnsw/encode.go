package hnsw

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// The frame of a graph file; doc.go describes it.
const (
	fileMagic   = "TDXHNSW\n"
	fileVersion = 2
	frameStart  = 16 // magic, version, zero
	entrySize   = 32
	frameEnd    = 16 // offset, entries, checksum
	headSize    = 48 // without the identity
)

var sectionNames = [...]string{"head", "keys", "node", "level", "scale", "codes", "base", "above"}

// A Header says what a graph file was made from.
type Header struct {
	Identity   string // of the vector space
	Generation uint64 // of the catalog
}

// FileName returns the name of the file for h: the identity, which may hold
// any characters, is shortened to a hash.
func (h Header) FileName() string {
	return fmt.Sprintf("%s%d", FilePrefix(h.Identity), h.Generation)
}

// FilePrefix is what the names of all files of one identity begin with.
func FilePrefix(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return "hnsw-" + hex.EncodeToString(sum[:8]) + "-"
}

// WriteFile replaces path by the graph, atomically.
func (g *Graph) WriteFile(path string, h Header) error {
	err := atomicfile.Write(path, func(w io.Writer) error { return g.Encode(w, h) })
	if err != nil {
		return fmt.Errorf("write graph %s: %w", path, err)
	}
	return nil
}

// Encode writes the graph as doc.go describes.
func (g *Graph) Encode(w io.Writer, h Header) error {
	frame := append([]byte(fileMagic), make([]byte, 8)...)
	binary.LittleEndian.PutUint32(frame[8:], fileVersion)
	if _, err := w.Write(frame); err != nil {
		return err
	}
	offset := len(frame)
	var section []byte
	for i, name := range sectionNames {
		section = g.appendSection(section[:0], i, h)
		var entry [entrySize]byte
		copy(entry[:8], name)
		binary.LittleEndian.PutUint64(entry[8:], uint64(offset))
		binary.LittleEndian.PutUint64(entry[16:], uint64(len(section)))
		binary.LittleEndian.PutUint32(entry[24:], crc32.Checksum(section, castagnoli))
		frame = append(frame, entry[:]...)
		section = append(section, make([]byte, padding(len(section)))...)
		if _, err := w.Write(section); err != nil {
			return err
		}
		offset += len(section)
	}
	frame = binary.LittleEndian.AppendUint64(frame, uint64(offset))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(sectionNames)))
	frame = binary.LittleEndian.AppendUint32(frame, crc32.Checksum(frame, castagnoli))
	_, err := w.Write(frame[frameStart:])
	return err
}

// padding returns how many bytes follow n up to the next multiple of 8.
func padding(n int) int { return -n & 7 }

func (g *Graph) appendSection(b []byte, section int, h Header) []byte {
	switch sectionNames[section] {
	case "head":
		return g.appendHead(b, h)
	case "keys":
		for _, key := range g.keys {
			b = binary.LittleEndian.AppendUint64(b, key)
		}
		return b
	case "node":
		return appendUint32s(b, g.node)
	case "level":
		return append(b, g.level...)
	case "scale":
		for n := range g.Nodes() {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(g.codes.Row(n).Scale))
		}
		return b
	case "codes":
		for n := range g.Nodes() {
			for _, c := range g.codes.Row(n).Numbers {
				b = append(b, byte(c))
			}
		}
		return b
	case "base":
		return appendUint32s(b, g.base)
	default:
		return appendUint32s(b, g.above)
	}
}

func (g *Graph) appendHead(b []byte, h Header) []byte {
	b = binary.LittleEndian.AppendUint64(b, h.Generation)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(g.recall))
	b = appendUint32s(b, []uint32{
		uint32(g.Dims()), uint32(g.Docs()), uint32(g.Nodes()), uint32(len(g.above) / linksUpper),
		linksBase, linksUpper, g.entry, uint32(g.ef),
	})
	return append(b, h.Identity...)
}

func appendUint32s(b []byte, values []uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}
