package catalog

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
func (cat *Catalog) firstSeen(ctx context.Context, tools map[string][]tool.Tool) firstSeen {
	seen := firstSeen{dates: map[string]time.Time{}, now: time.Now().UTC()}
	if cat.folder.Store == nil {
		return seen
	}
	for name, list := range tools {
		cat.mu.Lock()
		unknown := cat.unknown(name, list)
		cat.mu.Unlock()
		if len(unknown) == 0 {
			continue
		}
		dates, err := cat.folder.Store.FirstSeen(ctx, cat.folder.Key(name), unknown)
		if err != nil {
			cat.folder.Log.Warn("first-seen dates could not be read", "server", name, "error", err)
		}
		for id, t := range dates {
			seen.dates[id.String()] = t
		}
	}
	return seen
}

// unknown are the ids of tools that memory does not have.
func (in *contents) unknown(name string, tools []tool.Tool) (ids []store.ID) {
	sv := in.servers[name]
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
func (cat *Catalog) write(ctx context.Context, names []string, object func(id string) json.RawMessage) error {
	select {
	case cat.writing <- struct{}{}:
		defer func() { <-cat.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	cat.mu.Lock()
	drafts := cat.drafts(names, object)
	cat.mu.Unlock()
	if len(drafts) == 0 {
		return nil
	}
	changes := make([]store.Change, len(drafts))
	for i, d := range drafts {
		changes[i] = d.change
	}
	c, missing, err := cat.folder.Store.Replace(ctx, changes...)
	for i := range changes {
		drafts[i].change.Server = changes[i].Server
	}
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if err != nil {
		return cat.fail(err)
	}
	cat.folder.Works()
	cat.written(drafts, c, missing)
	return nil
}

// fail remembers why the store could not be used. The caller holds Catalog.mu.
func (cat *Catalog) fail(err error) error {
	forGood, err := cat.folder.Fail(err)
	if forGood {
		for _, sv := range cat.servers {
			sv.generation = 0 // the next list is all that remains of it
		}
	}
	return err
}

// Blame remembers why the store could not be used, for who else uses it.
func (cat *Catalog) Blame(err error) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	_ = cat.fail(err) // it is remembered and logged there
}

// Version counts the states of the catalog.
func (cat *Catalog) Version() uint64 {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	return cat.generation
}

// drafts makes the changes of those named servers that are not as stored.
func (in *contents) drafts(names []string, object func(id string) json.RawMessage) (drafts []draft) {
	if in.folder.ReadOnly() {
		return nil
	}
	for _, name := range names {
		if sv := in.servers[name]; sv != nil && (sv.pending() || sv.suspect && object != nil) {
			drafts = append(drafts, in.draft(name, sv, object))
		}
	}
	return drafts
}

func (in *contents) draft(name string, sv *server, object func(id string) json.RawMessage) draft {
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
		raw := in.raws.peek(id)
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
			raw := in.raws.peek(id)
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
			d.held[id] = in.raws.peek(id)
		}
	}
	return d
}

// written takes note of what was stored. The caller holds Catalog.mu.
func (in *contents) written(drafts []draft, c store.Counters, missing []store.Ref) {
	lacks := map[store.Key]bool{}
	for _, ref := range missing {
		lacks[ref.Server] = true
	}
	for _, d := range drafts {
		for id, raw := range d.held {
			in.raws.release(id, raw)
		}
		sv := in.servers[d.name]
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
	in.generation = max(in.generation, c.Generation)
	if in.counters.File == c.File && in.counters.Generation+1 == c.Generation {
		in.counters = c // nobody else changed anything in between
	}
}

// pending are the names of servers whose change waits to be written. The
// caller holds mu.
func (in *contents) pending() (names []string) {
	if in.folder.ReadOnly() {
		return nil
	}
	for name, sv := range in.servers {
		if sv.pending() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Prune forgets the stored servers that the folder's sources do not name, and
// returns their names. Those named in keep stay, whatever their connection.
func (cat *Catalog) Prune(ctx context.Context, keep []string) ([]string, error) {
	if cat.folder.Sources() == nil {
		return nil, nil
	}
	var gone []string
	cat.change(func() bool {
		for name := range cat.servers {
			if _, ok := cat.folder.Sources()[name]; !ok && !slices.Contains(keep, name) {
				gone = append(gone, name)
				cat.drop(name)
			}
		}
		return len(gone) > 0
	})
	stored, err := cat.folder.DropOthers(ctx, keep)
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	gone = append(gone, stored...)
	slices.Sort(gone)
	return slices.Compact(gone), nil
}

// drop forgets a server. The caller holds Catalog.mu.
func (in *contents) drop(name string) {
	for id := range in.servers[name].entries {
		in.raws.forget(id)
	}
	delete(in.servers, name)
}
