// Package catalog is the tools of all servers: it compares each new list with
// what is there, analyses what has changed, stores it, takes over what other
// processes have stored, and knows what is lost and must be listed again.
package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/usage"
)

// A Catalog is the tools of all servers, in memory and in the state folder.
// All methods are safe for concurrent use.
type Catalog struct {
	folder  *folder.Folder
	options Options
	raws    *raws
	meter   *usage.Meter
	phrases *Phrases
	look    chan struct{} // wakes who polls

	// writing is held while changes go to disk, so that they go in order.
	writing chan struct{}

	mu sync.Mutex // guards the contents below
	*contents
}

// Options are what New makes a Catalog with.
type Options struct {
	Folder     *folder.Folder
	Meter      *usage.Meter
	Pack       Packer                                        // nil knows no phrases
	Confirmers int                                           // of a phrase of use, before it counts; 0 counts each
	Current    *atomic.Pointer[snapshot.Snapshot]            // the snapshot that is searched
	Show       func(snapshot.Corpus) (shown <-chan struct{}) // has a state searched; shown is closed when it is
	Relist     func(server string)                           // has a server listed whose tools are lost in part; may be nil
	Remade     func(ctx context.Context)                     // told that the store was made anew, without what other packages put there
}

// New returns a catalog without tools; Load gives it those that are stored.
func New(o Options) *Catalog {
	c := &Catalog{
		folder: o.Folder, options: o, raws: newRaws(), meter: o.Meter,
		look: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	c.contents = &contents{folder: o.Folder, raws: c.raws, servers: map[string]*server{}}
	c.phrases = newPhrases(c)
	return c
}

// Look is sent to when Poll and AskForLists are due at once.
func (cat *Catalog) Look() <-chan struct{} { return cat.look }

// Phrases are those of the catalog's tools.
func (cat *Catalog) Phrases() *Phrases { return cat.phrases }

// contents are the catalog as memory has it. Catalog.mu is held where they are
// used.
type contents struct {
	// Set once.
	folder *folder.Folder
	raws   *raws

	servers    map[string]*server
	lexicon    bm25.Lexicon
	roomy      int // terms of the lexicon up to which it is not compacted
	generation uint64
	counters   store.Counters // of the stored state that is loaded
	unsaved    int            // documents made or changed since what is derived was saved
}

// A server is one upstream's part of the catalog.
type server struct {
	key      store.Key
	entries  map[string]*snapshot.Document // by id
	listed   time.Time
	warnings []string

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

// Replace stores the tools of some servers, by name, as all that they have, as
// one change, and makes them searchable. An error in writing is returned when
// the tools are searchable already; the write is tried again. While another
// process has the store locked the change waits, which is no error.
func (cat *Catalog) Replace(ctx context.Context, tools map[string][]tool.Tool) (map[string]Diff, error) {
	names := slices.Sorted(maps.Keys(tools))
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("replace tools of servers %q: %w", names, err)
	}
	seen := cat.firstSeen(ctx, tools)
	cat.phrases.meet(ctx, names)
	cat.phrases.inherit(ctx, tools)
	diffs := make(map[string]Diff, len(tools))
	cat.change(func() (changed bool) {
		for _, name := range names {
			d := cat.replace(name, tools[name], seen)
			changed = changed || d.any()
			diffs[name] = d
		}
		return changed
	})
	if err := cat.write(ctx, names, objectsOf(tools)); err != nil {
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

// A Diff says what one Replace changed, by qualified name in name order.
type Diff struct {
	Added, Changed, Removed []string
	Unchanged               int
	Warnings                []string // duplicates and other oddities of the list
}

// change lets f change the contents. If it says that it has, that is another
// generation, and change returns when searches see it.
func (cat *Catalog) change(f func() (changed bool)) {
	cat.update(func() bool {
		changed := f()
		if changed {
			cat.generation++
		}
		return changed
	})
}

// update is change for what f counts itself.
func (cat *Catalog) update(f func() (changed bool)) {
	cat.mu.Lock()
	var shown <-chan struct{}
	if f() {
		cat.phrases.dress()
		cat.compactLexicon()
		shown = cat.options.Show(cat.corpus()) // while the lock is held, so that states come in order
	}
	cat.mu.Unlock()
	if shown != nil {
		<-shown
	}
}

// any says whether there is a difference.
func (d *Diff) any() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) > 0 }

func (in *contents) replace(name string, tools []tool.Tool, seen firstSeen) Diff {
	old := in.servers[name]
	if old == nil {
		old = &server{}
	}
	next := &server{
		key: in.folder.Key(name), entries: make(map[string]*snapshot.Document, len(tools)), listed: time.Now(),
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
		in.merge(&t, old, next, &diff, seen)
	}
	for id, e := range old.entries {
		if next.entries[id] == nil {
			diff.Removed = append(diff.Removed, e.Qualified)
			next.changed[id] = true
			in.raws.forget(id)
		}
	}
	next.warnings = diff.Warnings
	if diff.any() {
		in.categorize(next)
	}
	in.servers[name] = next
	in.raws.place(name, next.key)
	slices.Sort(diff.Added)
	slices.Sort(diff.Changed)
	slices.Sort(diff.Removed)
	return diff
}

// merge takes one tool of a new list into next.
func (in *contents) merge(t *tool.Tool, old, next *server, diff *Diff, seen firstSeen) {
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
		if next.generation == 0 && in.raws.peek(id) == nil { // it is stored nowhere
			in.raws.hold(id, t.Raw)
		}
		return
	default:
		t.FirstSeen = before.Tool.FirstSeen
		diff.Changed = append(diff.Changed, t.QualifiedName())
	}
	in.raws.hold(id, t.Raw)
	next.changed[id] = true
	next.entries[id] = snapshot.NewDocument(*t, sum, &in.lexicon)
}

// corpus is the state of the catalog as a snapshot is made of it.
func (in *contents) corpus() snapshot.Corpus {
	var docs []*snapshot.Document
	for _, sv := range in.servers {
		for _, d := range sv.entries {
			if !d.Tool.Hidden {
				docs = append(docs, d)
			}
		}
	}
	return snapshot.Corpus{Docs: docs, Lexicon: in.lexicon.View(), Generation: in.generation}
}
