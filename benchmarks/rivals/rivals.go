// Package rivals adapts other search libraries to one small interface, so that
// they can be measured on the same catalog in the same run.
//
// All builds the list. Each adapter uses its library as its own documentation
// does, with the defaults there unless a comment says otherwise. Not built on
// Windows, where github.com/coder/hnsw does not compile.
package rivals

import "context"

// A Doc is one tool as rivals see it: all its text in one, and its vector.
type Doc struct {
	ID     string
	Text   string
	Vector []float32
}

// A Query is one request in both forms; a rival uses what it understands.
type Query struct {
	Text   string
	Vector []float32
}

// A Rival is one library. Build is called once, with everything, and leaves
// what belongs on disk in the folder the rival was made with. Search returns
// the ids of the best k, best first.
type Rival interface {
	Build(ctx context.Context, docs []Doc) error
	Search(ctx context.Context, q Query, k int) ([]string, error)
	Close() error
}

// A Kind says what a rival searches by.
type Kind string

// The kinds of rivals.
const (
	Vectors Kind = "semantic"
	Words   Kind = "keyword"
)

// An Entry is a rival that All can make.
type Entry struct {
	Name string
	Kind Kind
	New  func(dir string) Rival // dir exists and is empty
	// Quick says that a run under a minute has time for 10,000 tools of it.
	Quick bool
}
