package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/bm25"
)

// defaultThreshold is the number of allowed documents above which the vector
// arm uses its graph.
const defaultThreshold = 20000

// An Index is one state folder's catalog, ready to be searched. All methods
// are safe for concurrent use.
type Index struct {
	options Options // set once, by Open

	current atomic.Pointer[snapshot]

	mu         sync.Mutex // guards the fields below, and writing current
	lexicon    bm25.Lexicon
	servers    map[string]*server
	params     Params
	generation uint64

	metricsMu sync.Mutex // guards metrics
	metrics   map[string]Metrics
}

// A server is one upstream's part of the catalog.
type server struct {
	entries  map[string]*entry // by id
	listed   time.Time
	warnings []string
}

// An entry is one tool of the catalog.
type entry struct {
	doc  *document
	raw  json.RawMessage
	hash []byte // of everything that is searched or shown
}

// Open opens the state folder dir, creating it if need be, and serves what it
// holds at once. An empty dir keeps everything in memory.
func Open(dir string, o Options) (*Index, error) {
	if dir != "" {
		return nil, errors.New("open index: state folders are not built yet")
	}
	ix := &Index{options: o, servers: map[string]*server{}, metrics: map[string]Metrics{}, params: DefaultParams()}
	if o.Params != nil {
		ix.params = *o.Params
	}
	ix.swap()
	return ix, nil
}

// Close writes what is pending, stops all background work and waits for it.
func (ix *Index) Close() error { return nil }

func (ix *Index) snapshot() *snapshot { return ix.current.Load() }

func (ix *Index) queryTimeout() time.Duration {
	return cmp.Or(ix.options.QueryTimeout, defaultQueryTimeout)
}

// Replace stores tools as all the tools of server, atomically, and makes them
// searchable; vectors follow in the background.
func (ix *Index) Replace(ctx context.Context, name string, tools []Tool) (Diff, error) {
	diffs, err := ix.ReplaceAll(ctx, map[string][]Tool{name: tools})
	return diffs[name], err
}

// ReplaceAll is Replace for several servers at once, as one change: the work
// that depends on the size of the catalog is done once.
func (ix *Index) ReplaceAll(ctx context.Context, tools map[string][]Tool) (map[string]Diff, error) {
	names := slices.Sorted(maps.Keys(tools))
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("replace tools of servers %q: %w", names, err)
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	diffs := make(map[string]Diff, len(tools))
	changed := false
	for _, name := range names {
		d := ix.replaceLocked(name, tools[name])
		changed = changed || len(d.Added)+len(d.Changed)+len(d.Removed) > 0
		diffs[name] = d
	}
	if changed {
		ix.generation++
		ix.swap()
	}
	return diffs, nil
}

func (ix *Index) replaceLocked(name string, tools []Tool) Diff {
	old := ix.servers[name]
	if old == nil {
		old = &server{}
	}
	next := &server{entries: map[string]*entry{}, listed: time.Now()}
	var diff Diff
	for _, t := range tools {
		t.Server = name
		ix.merge(&t, old, next, &diff)
	}
	for id, e := range old.entries {
		if next.entries[id] == nil {
			diff.Removed = append(diff.Removed, e.doc.qualified)
		}
	}
	next.warnings = diff.Warnings
	ix.servers[name] = next
	slices.Sort(diff.Added)
	slices.Sort(diff.Changed)
	slices.Sort(diff.Removed)
	return diff
}

// merge takes one tool of a new list into next.
func (ix *Index) merge(t *Tool, old, next *server, diff *Diff) {
	id := t.ID()
	if next.entries[id] != nil {
		diff.Warnings = append(diff.Warnings, fmt.Sprintf("tool %q is listed twice; the first is kept", t.Name))
		return
	}
	hash := toolHash(t)
	before := old.entries[id]
	t.FirstSeen = time.Now().UTC()
	switch {
	case before == nil:
		diff.Added = append(diff.Added, t.QualifiedName())
	case bytes.Equal(before.hash, hash):
		diff.Unchanged++
		next.entries[id] = before
		return
	default:
		t.FirstSeen = before.doc.tool.FirstSeen
		diff.Changed = append(diff.Changed, t.QualifiedName())
	}
	next.entries[id] = &entry{doc: newDocument(*t, &ix.lexicon), raw: ownCopy(t.Raw), hash: hash}
}

// swap makes what the writer holds searchable.
func (ix *Index) swap() {
	var docs []*document
	for _, s := range ix.servers {
		for _, e := range s.entries {
			if !e.doc.tool.Hidden {
				docs = append(docs, e.doc)
			}
		}
	}
	ix.current.Store(newSnapshot(corpus{
		docs:       docs,
		lexicon:    ix.lexicon.View(),
		params:     ix.params,
		generation: ix.generation,
		threshold:  cmp.Or(ix.options.HNSWThreshold, defaultThreshold),
	}))
}

// Prune forgets the stored servers that Options.Sources does not name, and
// returns their names.
func (ix *Index) Prune(ctx context.Context) ([]string, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.options.Sources == nil {
		return nil, nil
	}
	var gone []string
	for name := range ix.servers {
		if _, ok := ix.options.Sources[name]; !ok {
			gone = append(gone, name)
			delete(ix.servers, name)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		ix.generation++
		ix.swap()
	}
	return gone, nil
}

// Get returns the tool with this id, without Raw; hidden tools are not found.
func (ix *Index) Get(id string) (Hit, bool) {
	s := ix.snapshot()
	doc, ok := s.find(id)
	if !ok {
		return Hit{}, false
	}
	return s.hit(doc), true
}

// Raw returns the tool's object as its upstream sent it.
func (ix *Index) Raw(id string) (json.RawMessage, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, s := range ix.servers {
		if e := s.entries[id]; e != nil && !e.doc.tool.Hidden {
			return e.raw, nil
		}
	}
	return nil, fmt.Errorf("read tool %s: not in the catalog", id)
}

// Record counts one execution of the tool id. It is written within 5 s and by
// Close.
func (ix *Index) Record(id string, ok bool, took time.Duration) {
	ix.metricsMu.Lock()
	defer ix.metricsMu.Unlock()
	m := ix.metrics[id]
	m.Total++
	if !ok {
		m.Failed++
	}
	m.Time += took
	m.Last = time.Now()
	ix.metrics[id] = m
}

// Metrics returns what was recorded for the tool id by all processes.
func (ix *Index) Metrics(id string) Metrics {
	ix.metricsMu.Lock()
	defer ix.metricsMu.Unlock()
	return ix.metrics[id]
}

// Status describes the index.
func (ix *Index) Status() Status {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	st := Status{Format: 1, Generation: ix.generation}
	for _, name := range slices.SortedFunc(maps.Keys(ix.servers), strings.Compare) {
		s := ix.servers[name]
		part := ServerStatus{Name: name, Listed: s.listed, Warnings: s.warnings}
		for _, e := range s.entries {
			if e.doc.tool.Hidden {
				part.Hidden++
			} else {
				part.Tools++
			}
		}
		st.Tools += part.Tools
		st.Hidden += part.Hidden
		st.Servers = append(st.Servers, part)
	}
	return st
}

// Wait returns when every allowed document has its vectors and graphs are
// built, or with ctx's error or the embedder's.
func (ix *Index) Wait(ctx context.Context) error { return ctx.Err() }

// SetParams changes the ranking's parameters for the searches that follow.
func (ix *Index) SetParams(p Params) error {
	if err := p.check(); err != nil {
		return err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.params = p
	ix.current.Store(ix.snapshot().withParams(p))
	return nil
}

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete.
func (ix *Index) SetEmbedder(e Embedder) {}

// A Problem is one damaged or doubtful thing that Check found.
type Problem struct {
	File   string `json:"file"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Check verifies every file of the state folder dir without changing it.
func Check(dir string) ([]Problem, error) { return nil, errors.New("check: not built yet") }
