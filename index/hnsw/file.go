package hnsw

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/flat"
	"github.com/tooldex/tooldex/index/vector"
)

// What begins a graph file; doc.go describes it.
const (
	fileMagic   = "TDXHNSW\n"
	fileVersion = 3
)

// ErrVersion reports a graph file of another version: not damage, and not for
// this program to remove.
var ErrVersion = flat.ErrVersion

const maxDims = 1 << 16

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
func (g *Graph) Encode(to io.Writer, h Header) error {
	scales, numbers := make([]float32, g.Nodes()), make([]int8, 0, g.Nodes()*g.Dims())
	for n := range scales {
		code := g.codes.Row(n)
		scales[n], numbers = code.Scale, append(numbers, code.Numbers...)
	}
	return flat.Write(to, fileMagic, fileVersion, func(w *flat.Writer) {
		w.Texts([]string{h.Identity})
		flat.Put(w, []uint64{h.Generation, math.Float64bits(g.recall)})
		flat.Put(w, []uint32{uint32(g.Dims()), g.entry, uint32(g.ef), linksBase, linksUpper})
		flat.Put(w, g.keys)
		flat.Put(w, g.node)
		flat.Put(w, g.level)
		flat.Put(w, scales)
		flat.Put(w, numbers)
		flat.Put(w, g.base)
		flat.Put(w, g.above)
	})
}

// ReadFile reads a graph and what it was made from. The file is read whole
// and closed; anything wrong with it is an error that says what.
func ReadFile(path string) (*Graph, Header, error) {
	r, err := flat.Open(path, fileMagic, fileVersion)
	if err != nil {
		return nil, Header{}, fmt.Errorf("read graph %s: %w", path, err)
	}
	g, h, err := decode(r)
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
	r, err := flat.NewReader(bytes.NewReader(data), int64(len(data)), fileMagic, fileVersion)
	if err != nil {
		return nil, Header{}, err
	}
	return decode(r)
}

// decode reads a graph to the end of its file.
func decode(r *flat.Reader) (*Graph, Header, error) {
	identity, counts, shape := r.Texts(), flat.Get[uint64](r), flat.Get[uint32](r)
	g := &Graph{keys: flat.Get[uint64](r), node: flat.Get[uint32](r), level: flat.Get[uint8](r)}
	scales, numbers := flat.Get[float32](r), flat.Get[int8](r)
	g.base, g.above = flat.Get[uint32](r), flat.Get[uint32](r)
	if err := r.Close(); err != nil {
		return nil, Header{}, err
	}
	if len(identity) != 1 || len(counts) != 2 || len(shape) != 5 {
		return nil, Header{}, errors.New("its head does not fit")
	}
	h := Header{Identity: identity[0], Generation: counts[0]}
	g.recall, g.entry, g.ef = math.Float64frombits(counts[1]), shape[1], int(shape[2])
	dims, nodes := int(shape[0]), len(g.level)
	if shape[3] != linksBase || shape[4] != linksUpper {
		return nil, h, fmt.Errorf("%d and %d neighbours, want %d and %d", shape[3], shape[4], linksBase, linksUpper)
	}
	if err := g.checkHead(dims); err != nil {
		return nil, h, err
	}
	if len(g.node) != len(g.keys) || len(scales) != nodes || len(numbers) != nodes*dims || len(g.base) != nodes*linksBase {
		return nil, h, errors.New("its arrays do not fit each other")
	}
	g.codes, g.at = vector.NewCodes(nodes, dims), make([]uint32, nodes)
	for n, scale := range scales {
		g.codes.Set(n, vector.Code{Scale: scale, Numbers: numbers[n*dims:][:dims]})
	}
	return g, h, g.check()
}

func (g *Graph) checkHead(dims int) error {
	nodes := len(g.level)
	switch {
	case dims > maxDims || dims == 0 && nodes > 0:
		return fmt.Errorf("%d dimensions", dims)
	case nodes > len(g.keys):
		return fmt.Errorf("%d nodes for %d documents", nodes, len(g.keys))
	case g.ef <= 0 || g.ef > maxDims || !(g.recall >= 0 && g.recall <= 1):
		return fmt.Errorf("beam %d with recall %g", g.ef, g.recall)
	case nodes == 0 && g.entry != none || nodes > 0 && int(g.entry) >= nodes:
		return fmt.Errorf("entry %d of %d nodes", g.entry, nodes)
	}
	return nil
}

// check fills in where each node's upper layers begin, and finds whatever
// would let a walk leave the graph.
func (g *Graph) check() error {
	for i := 1; i < len(g.keys); i++ {
		if g.keys[i-1] >= g.keys[i] {
			return fmt.Errorf("key %x follows %x", g.keys[i], g.keys[i-1])
		}
	}
	for i, node := range g.node {
		if int(node) >= g.Nodes() {
			return fmt.Errorf("document %d is on node %d of %d", i, node, g.Nodes())
		}
	}
	for n := range g.Nodes() {
		if s := g.codes.Row(n).Scale; !(s >= 0 && s <= math.MaxFloat32) {
			return fmt.Errorf("node %d has the scale %g", n, s)
		}
	}
	rows := uint32(0)
	for i, level := range g.level {
		if level > maxLevel || level > g.level[g.entry] {
			return fmt.Errorf("node %d has the level %d", i, level)
		}
		g.at[i] = rows
		rows += uint32(level)
	}
	if int(rows)*linksUpper != len(g.above) {
		return fmt.Errorf("%d rows above layer 0, the levels make %d", len(g.above)/linksUpper, rows)
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
