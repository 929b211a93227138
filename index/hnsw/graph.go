package hnsw

import (
	"math"

	"github.com/tooldex/tooldex/index/vector"
)

// The parameters of Malkov and Yashunin (2018). They are part of what makes a
// graph: changing one changes every graph built afterwards.
const (
	linksUpper     = 16             // M: links of a node on the upper layers
	linksBase      = 2 * linksUpper // and on layer 0
	efConstruction = 128            // beam that finds the candidates for a node's links
	maxLevel       = 15             // a layer this high has one node in 10^18
	none           = math.MaxUint32 // no node, no document
	defaultEF      = 64             // least beam of a search
)

// A Graph is a hierarchical navigable small world over the distinct vectors of
// a set of documents. It has a copy of these, so that documents which are gone
// can still be passed through; [Graph.Bind] joins it to the catalog as it is
// now. Build it with [Build] or read it with [ReadFile].
type Graph struct {
	ef     int     // beam that met the audit when the graph was built
	recall float64 // recall@10 at that beam

	keys []uint64 // of the documents, ascending
	node []uint32 // of each document; documents with one vector share a node

	level []uint8       // by node: its highest layer
	codes *vector.Codes // by node
	base  []uint32      // by node: linksBase neighbours on layer 0, none where there are fewer
	above []uint32      // by node with a level, by layer from 1: linksUpper neighbours
	at    []uint32      // by node: its first row in above

	entry uint32 // a node of the highest level; none in an empty graph
}

// Dims returns the dimensions of the vectors.
func (g *Graph) Dims() int { return g.codes.Dims() }

// Docs returns how many documents the graph was built over.
func (g *Graph) Docs() int { return len(g.keys) }

// Nodes returns how many distinct vectors these have.
func (g *Graph) Nodes() int { return len(g.level) }

// Recall returns the recall@10 measured when the graph was built.
func (g *Graph) Recall() float64 { return g.recall }

// EF returns the beam of a search, chosen when the graph was built.
func (g *Graph) EF() int { return g.ef }

// links returns the neighbours of a node on a layer, padded with none.
func (g *Graph) links(node uint32, layer int) []uint32 {
	if layer == 0 {
		return g.base[int(node)*linksBase:][:linksBase]
	}
	return g.above[(int(g.at[node])+layer-1)*linksUpper:][:linksUpper]
}

// levelOf draws a level from the key: geometric, each layer has 1/M of the
// nodes of the one below. The mixing is that of SplitMix64.
func levelOf(key uint64) uint8 {
	key += 0x9e3779b97f4a7c15
	key = (key ^ key>>30) * 0xbf58476d1ce4e5b9
	key = (key ^ key>>27) * 0x94d049bb133111eb
	key ^= key >> 31
	u := (float64(key>>11) + 1) / (1 << 53) // in (0, 1]
	return uint8(min(maxLevel, -math.Log(u)/math.Log(linksUpper)))
}
