package index

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// firstSeen are the dates of tools that are new to memory, by id.
type firstSeen struct {
	dates map[string]time.Time
	now   time.Time
}

func (f firstSeen) of(id string) time.Time {
	if t, ok := f.dates[id]; ok && !t.IsZero() {
		return t.UTC()
	}
	return f.now
}

// firstSeen asks the store about tools that memory does not have: one that
// comes back keeps its date. When the store cannot tell, the date is today's
// and gives way to the stored one when the tool is loaded again.
func (ix *Index) firstSeen(ctx context.Context, tools map[string][]tool.Tool) firstSeen {
	seen := firstSeen{dates: map[string]time.Time{}, now: time.Now().UTC()}
	if ix.folder.Store == nil {
		return seen
	}
	for name, list := range tools {
		unknown := ix.unknown(name, list)
		if len(unknown) == 0 {
			continue
		}
		dates, err := ix.folder.Store.FirstSeen(ctx, ix.folder.Key(name), unknown)
		if err != nil {
			ix.folder.Log.Warn("first-seen dates could not be read", "server", name, "error", err)
		}
		for id, t := range dates {
			seen.dates[id.String()] = t
		}
	}
	return seen
}

// unknown are the ids of tools that memory does not have.
func (ix *Index) unknown(name string, tools []tool.Tool) (ids []store.ID) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	sv := ix.servers[name]
	for _, t := range tools {
		t.Server = name
		if id := t.ID(); sv == nil || sv.entries[id] == nil {
			ids = append(ids, store.ParseID(id))
		}
	}
	return ids
}

// A draft is one server's change on its way to disk.
type draft struct {
	name     string
	revision int
	change   store.Change
	held     map[string]json.RawMessage // what may be released when it is stored
}

// write stores what is pending of the named servers. It waits until no other
// change is on its way, then for the store's lock.
func (ix *Index) write(ctx context.Context, names []string, object func(id string) json.RawMessage) error {
	select {
	case ix.writing <- struct{}{}:
		defer func() { <-ix.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	drafts := ix.drafts(names, object)
	if len(drafts) == 0 {
		return nil
	}
	changes := make([]store.Change, len(drafts))
	for i, d := range drafts {
		changes[i] = d.change
	}
	c, missing, err := ix.folder.Store.Replace(ctx, changes...)
	for i := range changes {
		drafts[i].change.Server = changes[i].Server
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err != nil {
		return ix.fail(err)
	}
	ix.folder.Works()
	ix.written(drafts, c, missing)
	return nil
}

// fail remembers why the store could not be used. The caller holds mu.
func (ix *Index) fail(err error) error {
	forGood, err := ix.folder.Fail(err)
	if forGood {
		for _, sv := range ix.servers {
			sv.generation = 0 // the next list is all that remains of it
		}
	}
	return err
}

// Blame is fail for the vectors' sake.
func (ix *Index) Blame(err error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	_ = ix.fail(err) // it is remembered and logged there
}

// Version counts the states of the catalog.
func (ix *Index) Version() uint64 {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.generation
}

// drafts makes the changes of those named servers that are not as stored.
func (ix *Index) drafts(names []string, object func(id string) json.RawMessage) (drafts []draft) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.folder.ReadOnly() {
		return nil
	}
	for _, name := range names {
		if sv := ix.servers[name]; sv != nil && (sv.pending() || sv.suspect && object != nil) {
			drafts = append(drafts, ix.draft(name, sv, object))
		}
	}
	return drafts
}

func (ix *Index) draft(name string, sv *server, object func(id string) json.RawMessage) draft {
	d := draft{name: name, revision: sv.revision, held: map[string]json.RawMessage{}}
	now := time.Now()
	d.change = store.Change{
		Server: store.Server{Key: sv.key, Name: name, Listed: sv.listed, Seen: now, Warnings: sv.warnings},
		Base:   sv.generation,
	}
	if sv.suspect {
		d.change.Base = 0
	}
	for id := range sv.changed {
		raw := ix.raws.peek(id)
		e := sv.entries[id]
		if e == nil {
			d.change.Gone = append(d.change.Gone, store.ParseID(id))
			continue
		}
		d.held[id] = raw
		d.change.Put = append(d.change.Put, storedEntry(e, raw))
	}
	entries := sv.entries // replaced, never changed
	d.change.All = func() []store.Entry {
		all := make([]store.Entry, 0, len(entries))
		for id, e := range entries {
			raw := ix.raws.peek(id)
			if raw == nil && object != nil {
				raw = object(id)
			}
			all = append(all, storedEntry(e, raw))
		}
		slices.SortFunc(all, func(a, b store.Entry) int { return slices.Compare(a.ID[:], b.ID[:]) })
		return all
	}
	if sv.generation == 0 {
		for id := range sv.entries {
			d.held[id] = ix.raws.peek(id)
		}
	}
	return d
}

// written takes note of what was stored. The caller holds mu.
func (ix *Index) written(drafts []draft, c store.Counters, missing []store.Ref) {
	lacks := map[store.Key]bool{}
	for _, ref := range missing {
		lacks[ref.Server] = true
	}
	for _, d := range drafts {
		for id, raw := range d.held {
			ix.raws.release(id, raw)
		}
		sv := ix.servers[d.name]
		if sv.key != d.change.Server.Key {
			continue
		}
		sv.generation = d.change.Server.Generation
		if sv.revision == d.revision {
			sv.changed = map[string]bool{}
			sv.suspect = lacks[sv.key]
			sv.lost = sv.suspect
			sv.unlisted = false
		}
	}
	ix.generation = max(ix.generation, c.Generation)
	if ix.counters.File == c.File && ix.counters.Generation+1 == c.Generation {
		ix.counters = c // nobody else changed anything in between
	}
}

// pending are the names of servers whose change waits to be written. The
// caller holds mu.
func (ix *Index) pending() (names []string) {
	if ix.folder.ReadOnly() {
		return nil
	}
	for name, sv := range ix.servers {
		if sv.pending() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Prune forgets the stored servers that Options.Sources, or SetSources after it, does not name, and
// returns their names. Those named in keep stay, whatever their connection.
func (ix *Index) Prune(ctx context.Context, keep ...string) ([]string, error) {
	if ix.folder.Sources() == nil {
		return nil, nil
	}
	gone := ix.pruneMemory(keep)
	stored, err := ix.pruneStore(ctx, keep)
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	gone = append(gone, stored...)
	slices.Sort(gone)
	return slices.Compact(gone), nil
}

func (ix *Index) pruneMemory(keep []string) (gone []string) {
	ix.change(func() bool {
		for name := range ix.servers {
			if _, ok := ix.folder.Sources()[name]; !ok && !slices.Contains(keep, name) {
				gone = append(gone, name)
				ix.drop(name)
			}
		}
		if len(gone) > 0 {
			ix.generation++
		}
		return len(gone) > 0
	})
	return gone
}

// drop forgets a server. The caller holds mu.
func (ix *Index) drop(name string) {
	for id := range ix.servers[name].entries {
		ix.raws.forget(id)
	}
	delete(ix.servers, name)
}

func (ix *Index) pruneStore(ctx context.Context, keep []string) (gone []string, err error) {
	if ix.folder.Store == nil {
		return nil, nil
	}
	all, _, err := ix.folder.Store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	ours := ix.folder.Ours()
	var drop []store.Key
	for _, sv := range all {
		if ours[sv.Key] == "" && !slices.Contains(keep, sv.Name) {
			drop = append(drop, sv.Key)
			gone = append(gone, sv.Name)
		}
	}
	if len(drop) == 0 {
		return nil, nil
	}
	return gone, ix.folder.Store.Drop(ctx, drop)
}
