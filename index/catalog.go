package index

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// An Index is one state folder's catalog, ready to be searched. All methods
// are safe for concurrent use.
type Index struct{}

var errUnwritten = errors.New("index: not built yet")

// Open opens the state folder dir, creating it if need be, and serves what it
// holds at once. An empty dir keeps everything in memory.
func Open(dir string, o Options) (*Index, error) { return nil, errUnwritten }

// Close writes what is pending, stops all background work and waits for it.
func (ix *Index) Close() error { return nil }

// Replace stores tools as all the tools of server, atomically, and makes them
// searchable; vectors follow in the background.
func (ix *Index) Replace(ctx context.Context, server string, tools []Tool) (Diff, error) {
	return Diff{}, errUnwritten
}

// Prune forgets the stored servers that Options.Sources does not name, and
// returns their names.
func (ix *Index) Prune(ctx context.Context) ([]string, error) { return nil, errUnwritten }

// Search ranks the allowed tools against a query.
func (ix *Index) Search(ctx context.Context, q Query) (*Results, error) { return nil, errUnwritten }

// Explain accounts for the score of the tool id under q, also when q's filter
// or limit drops it, and says why it is dropped.
func (ix *Index) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	return Explanation{}, errUnwritten
}

// Similar returns the tools most like the tool id, best first, without it.
func (ix *Index) Similar(ctx context.Context, id string, f Filter, limit int) ([]Neighbor, error) {
	return nil, errUnwritten
}

// List returns one page of the allowed tools and how many there are in all.
func (ix *Index) List(l Listing) ([]Hit, int) { return nil, 0 }

// Get returns the tool with this id, without Raw; hidden tools are not found.
func (ix *Index) Get(id string) (Hit, bool) { return Hit{}, false }

// Raw returns the tool's object as its upstream sent it.
func (ix *Index) Raw(id string) (json.RawMessage, error) { return nil, errUnwritten }

// Resolve returns the tools that name can mean among those that scope allows:
// the matches of the first level that has any of exact qualified name, id,
// another spelling (server__name, server.name, server:name), bare name.
func (ix *Index) Resolve(name string, scope func(*Tool) bool) []Hit { return nil }

// Suggest returns up to n tools whose names are nearest to name among those
// that scope allows.
func (ix *Index) Suggest(name string, scope func(*Tool) bool, n int) []Hit { return nil }

// Categories counts the allowed tools by category ("Other" last), tag and
// server; the most frequent first, ties by name.
func (ix *Index) Categories(f Filter) (categories, tags, servers []CategoryCount, total int) {
	return nil, nil, nil, 0
}

// Record counts one execution of the tool id. It is written within 5 s and by
// Close.
func (ix *Index) Record(id string, ok bool, took time.Duration) {}

// Metrics returns what was recorded for the tool id by all processes.
func (ix *Index) Metrics(id string) Metrics { return Metrics{} }

// Status describes the index.
func (ix *Index) Status() Status { return Status{} }

// Wait returns when every allowed document has its vectors and graphs are
// built, or with ctx's error or the embedder's.
func (ix *Index) Wait(ctx context.Context) error { return nil }

// SetParams changes the ranking's parameters for the searches that follow.
func (ix *Index) SetParams(p Params) error { return nil }

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete.
func (ix *Index) SetEmbedder(e Embedder) {}

// Dump writes what the lexical arm holds as JSON: each tool's terms by field
// and lengths, document frequencies, average lengths and parameters, enough
// to recompute any score.
func (ix *Index) Dump(w io.Writer) error { return errUnwritten }

// Decode reads a tool object as tools/list carries it. It fails only when raw
// is no JSON object or has no name; anything else wrong becomes a warning, or
// the reason why the tool must not be called.
func Decode(server string, raw json.RawMessage) (Tool, error) { return Tool{}, errUnwritten }

// A Problem is one damaged or doubtful thing that Check found.
type Problem struct {
	File   string `json:"file"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Check verifies every file of the state folder dir without changing it.
func Check(dir string) ([]Problem, error) { return nil, errUnwritten }
