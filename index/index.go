// Package index is a search engine for tools: given a catalog of tools by
// server it answers, in under a millisecond and from disk, which tools serve
// a need.
//
// An [Index] owns one state folder and holds one immutable snapshot of the
// catalog; [Index.Replace] stores one server's tools and has a new snapshot
// built, [Index.Search] reads whichever is current and never waits for a
// writer. A score fuses BM25F and vector similarity; either arm may be
// missing. The package knows nothing of MCP sessions, flags or HTTP: a tool
// keeps its upstream's JSON as bytes, and vectors come from any [Embedder].
//
// Questions ([Query], [Filter], [Listing]), answers ([Results], [Hit]) and
// [Params] are described field by field in package snapshot, [Tool] in package
// tool.
package index

import (
	"log/slog"
	"time"
)

// Options configure Open. The zero value serves a lexical index of every
// stored server.
type Options struct {
	// Embedder gives the vectors that searches use; nil means lexical only.
	Embedder Embedder
	// WordsOnly is why there is no Embedder, for who asks for a search by
	// meaning.
	WordsOnly string
	// Fallback answers while Embedder's vectors are filled or its queries
	// fail, and its vectors are kept complete; nil means lexical meanwhile.
	// It must be local and fast.
	Fallback Embedder
	// Sources names the servers to load, with a text that identifies each
	// one's connection (command, URL, credentials…; only a keyed hash of it
	// is stored). Servers stored under another connection are neither shown
	// nor overwritten. Nil loads every stored server, and Replace then
	// stores under an empty connection.
	Sources map[string]string
	// Params are the ranking's parameters; nil means DefaultParams.
	Params *Params
	// HNSWThreshold is the number of allowed documents above which the
	// vector arm uses the graph; 0 means the default, negative always the
	// graph.
	HNSWThreshold int
	// QueryTimeout bounds one query's embedding; 0 means 2 s. Past it the
	// answer is lexical and says so.
	QueryTimeout time.Duration
	// Relist is told of a server whose stored tools are lost in part, because
	// the folder was deleted or damaged: only another Replace brings them
	// back. It must not block; nil waits for the next Replace.
	Relist func(server string)
	// Offline opens for reading what is stored: no polling, no background
	// work, no embedding of documents.
	Offline bool
	// Pack gives phrases for tools that it knows; nil knows none.
	Pack Packer
	// Confirmers is how many must have confirmed a phrase of use before it
	// counts; 0 counts each.
	Confirmers int
	Logger     *slog.Logger // nil discards
}

// Status describes an Index for people and machines.
type Status struct {
	Dir        string         `json:"dir"`
	Format     int            `json:"format"`
	Generation uint64         `json:"generation"`
	Bytes      int64          `json:"bytes"`               // of the state folder's files
	Problem    string         `json:"problem,omitempty"`   // why nothing is written, or what was lost
	Unwritten  bool           `json:"unwritten,omitempty"` // changes stay in memory, for the reason that Problem gives
	Pending    []string       `json:"pending,omitempty"`   // servers whose change waits for the store's lock
	Tools      int            `json:"tools"`               // searchable
	Hidden     int            `json:"hidden"`
	Servers    []ServerStatus `json:"servers"`
	Models     []ModelStatus  `json:"models"`
}
