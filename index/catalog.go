package index

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/usage"
)

// An Index is one state folder's catalog, ready to be searched. All methods
// are safe for concurrent use.
type Index struct {
	folder     *folder.Folder
	options    Options
	started    time.Time
	raws       *raws
	meter      *usage.Meter
	embeddings *spaces.Spaces
	phrases    *Phrases
	stop       context.CancelFunc
	tending    sync.WaitGroup
	closed     atomic.Bool

	current atomic.Pointer[snapshot.Snapshot]

	// writing is held while changes go to disk, so that they go in order.
	writing chan struct{}
	look    chan struct{} // wakes the poller
	builder *builder

	mu         sync.Mutex // guards the fields below
	lexicon    bm25.Lexicon
	roomy      int // terms of the lexicon up to which it is not compacted
	servers    map[string]*server
	generation uint64
	counters   store.Counters // of the stored state that is loaded
	unsaved    int            // documents made since what is derived was saved
}

// A server is one upstream's part of the catalog.
type server struct {
	key       store.Key
	entries   map[string]*snapshot.Document // by id
	listed    time.Time
	warnings  []string
	confirmed bool // since this process started

	generation uint64          // of the stored state that is held here, 0 for none
	changed    map[string]bool // ids that differ from that state
	revision   int             // counts changes, to tell whether one came during a write
	suspect    bool            // what is stored is not what it should be
	lost       bool            // objects are neither stored nor in memory: it must be listed
	asked      time.Time       // when Relist was last told so
	unlisted   bool            // the time of the last listing is not stored
}

// pending says whether a server's change waits to be written. What is lost in
// part is not written: other processes would take the rest for all.
func (sv *server) pending() bool { return !sv.lost && (len(sv.changed) > 0 || sv.generation == 0) }

// Open opens the state folder dir, creating it if need be, and serves what it
// holds at once. An empty dir keeps everything in memory.
//
// A store of a newer format is left alone and one that cannot be written is
// only read: the catalog then lives in memory, and [Status] says why.
func Open(dir string, o Options) (*Index, error) {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	fd, err := folder.Open(dir, folder.Options{Sources: o.Sources, Offline: o.Offline, Log: log})
	if err != nil {
		return nil, err
	}
	ix := &Index{
		folder: fd, options: o,
		started: time.Now(), raws: newRaws(), meter: usage.NewMeter(), writing: make(chan struct{}, 1), look: make(chan struct{}, 1),
		servers: map[string]*server{},
	}
	params := DefaultParams()
	if o.Params != nil {
		params = *o.Params
	}
	ix.phrases = newPhrases(ix)
	ix.builder = newBuilder(params)
	ix.embeddings = spaces.New(spaces.Options{
		Folder: fd, Catalog: ix, Builder: ix.builder, Current: &ix.current,
		Embedder: o.Embedder, Fallback: o.Fallback, QueryTimeout: o.QueryTimeout,
	})
	go ix.builder.run(ix.embeddings)
	ctx, stop := context.WithCancel(context.Background())
	ix.stop = stop
	ix.load(ctx)
	ix.embeddings.Start(ctx)
	if !o.Offline && ix.folder.Store != nil {
		ix.tending.Go(func() { ix.tend(ctx) })
	}
	return ix, nil
}

// Close writes what is pending, stops all background work and waits for it.
func (ix *Index) Close() error {
	if ix.closed.Swap(true) {
		return nil
	}
	ix.stop()
	ix.tending.Wait()
	ix.embeddings.Join()
	err := ix.finish()
	ix.builder.end()
	return err
}

// SetEmbedder changes the embedder: its vectors are filled beside those that
// serve, which are replaced once complete. Nil goes back to words alone.
func (ix *Index) SetEmbedder(e spaces.Embedder) { ix.embeddings.SetEmbedder(e) }

// Wait returns when every searchable document has its vectors and graphs are
// built, or with ctx's error or the embedder's. Documents that the embedder
// refuses for good while it takes others are not waited for.
func (ix *Index) Wait(ctx context.Context) error { return ix.embeddings.Wait(ctx) }

func (ix *Index) snapshot() *snapshot.Snapshot { return ix.current.Load() }

// Replace stores tools as all the tools of server, atomically, and makes them
// searchable; vectors follow in the background. An error in writing is
// returned when the tools are searchable already; the write is tried again.
// While another process has the store locked the change waits, which is no
// error.
func (ix *Index) Replace(ctx context.Context, name string, tools []tool.Tool) (Diff, error) {
	diffs, err := ix.ReplaceAll(ctx, map[string][]tool.Tool{name: tools})
	return diffs[name], err
}

// ReplaceAll is Replace for several servers at once, as one change: the work
// that depends on the size of the catalog is done once.
func (ix *Index) ReplaceAll(ctx context.Context, tools map[string][]tool.Tool) (map[string]Diff, error) {
	names := slices.Sorted(maps.Keys(tools))
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("replace tools of servers %q: %w", names, err)
	}
	seen := ix.firstSeen(ctx, tools)
	ix.phrases.meet(ctx, names)
	diffs := ix.replaceInMemory(names, tools, seen)
	if err := ix.write(ctx, names, objectsOf(tools)); err != nil {
		return diffs, fmt.Errorf("replace tools of servers %q: they are searchable and not stored: %w", names, err)
	}
	return diffs, nil
}

// objectsOf finds the objects of the tools by id.
func objectsOf(tools map[string][]tool.Tool) func(id string) json.RawMessage {
	var byID map[string]json.RawMessage // made when it is needed, which is seldom
	return func(id string) json.RawMessage {
		if byID == nil {
			byID = map[string]json.RawMessage{}
			for name, list := range tools {
				for _, t := range list {
					t.Server = name
					if id := t.ID(); byID[id] == nil {
						byID[id] = t.Raw
					}
				}
			}
		}
		return byID[id]
	}
}

func (ix *Index) replaceInMemory(names []string, tools map[string][]tool.Tool, seen firstSeen) map[string]Diff {
	diffs := make(map[string]Diff, len(tools))
	ix.change(func() (changed bool) {
		for _, name := range names {
			d := ix.replaceLocked(name, tools[name], seen)
			changed = changed || d.any()
			diffs[name] = d
		}
		if changed {
			ix.generation++
		}
		return changed
	})
	return diffs
}

// change lets f change the catalog. If it says that it has, change returns
// when searches see it.
func (ix *Index) change(f func() (changed bool)) {
	ix.mu.Lock()
	var shown <-chan struct{}
	if f() {
		shown = ix.swap()
	}
	ix.mu.Unlock()
	if shown != nil {
		<-shown
	}
}

// any says whether there is a difference.
func (d *Diff) any() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) > 0 }

func (ix *Index) replaceLocked(name string, tools []tool.Tool, seen firstSeen) Diff {
	old := ix.servers[name]
	if old == nil {
		old = &server{}
	}
	next := &server{
		key: ix.folder.Key(name), entries: make(map[string]*snapshot.Document, len(tools)), listed: time.Now(), confirmed: true,
		generation: old.generation, changed: maps.Clone(old.changed), revision: old.revision + 1,
		suspect: old.suspect, unlisted: true,
	}
	if next.changed == nil {
		next.changed = map[string]bool{}
	}
	if next.key != old.key {
		next.generation = 0
	}
	var diff Diff
	for _, t := range tools {
		t.Server = name
		ix.merge(&t, old, next, &diff, seen)
	}
	for id, e := range old.entries {
		if next.entries[id] == nil {
			diff.Removed = append(diff.Removed, e.Qualified)
			next.changed[id] = true
			ix.raws.forget(id)
		}
	}
	next.warnings = diff.Warnings
	if diff.any() {
		ix.categorize(next)
	}
	ix.servers[name] = next
	ix.raws.place(name, next.key)
	slices.Sort(diff.Added)
	slices.Sort(diff.Changed)
	slices.Sort(diff.Removed)
	return diff
}

// merge takes one tool of a new list into next.
func (ix *Index) merge(t *tool.Tool, old, next *server, diff *Diff, seen firstSeen) {
	id := t.ID()
	if next.entries[id] != nil {
		diff.Warnings = append(diff.Warnings, fmt.Sprintf("tool %q is listed twice; the first is kept", t.Name))
		return
	}
	sum := tool.Hash(t)
	before := old.entries[id]
	switch {
	case before == nil:
		t.FirstSeen = seen.of(id)
		diff.Added = append(diff.Added, t.QualifiedName())
	case before.Sum == sum:
		diff.Unchanged++
		next.entries[id] = before
		if next.generation == 0 && ix.raws.peek(id) == nil { // it is stored nowhere
			ix.raws.hold(id, t.Raw)
		}
		return
	default:
		t.FirstSeen = before.Tool.FirstSeen
		diff.Changed = append(diff.Changed, t.QualifiedName())
	}
	ix.raws.hold(id, t.Raw)
	next.changed[id] = true
	ix.unsaved++
	next.entries[id] = snapshot.NewDocument(*t, sum, &ix.lexicon)
}

// swap sends the state of the catalog to who makes snapshots; shown is closed
// when searches see it. The caller holds mu, so that states are sent in order.
func (ix *Index) swap() (shown <-chan struct{}) {
	ix.phrases.dress()
	ix.compactLexicon()
	var docs []*snapshot.Document
	for _, s := range ix.servers {
		for _, e := range s.entries {
			if !e.Tool.Hidden {
				docs = append(docs, e)
			}
		}
	}
	return ix.builder.show(snapshot.Corpus{
		Docs:         docs,
		Lexicon:      ix.lexicon.View(),
		Generation:   ix.generation,
		Threshold:    ix.options.HNSWThreshold,
		QueryTimeout: ix.options.QueryTimeout,
		WordsOnly:    ix.options.WordsOnly,
	})
}

// SetParams changes the ranking's parameters for the searches that follow.
func (ix *Index) SetParams(p snapshot.Params) error {
	if err := p.Check(); err != nil {
		return err
	}
	<-ix.builder.setParams(p)
	return nil
}
