package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
)

// Load takes over the stored servers that the configuration names: what was
// derived of them the last time, and then, as any other time, what is stored
// otherwise.
func (cat *Catalog) Load(ctx context.Context, d derived.State) {
	if cat.folder.Store == nil {
		cat.update(func() bool { return true })
		return
	}
	cat.mu.Lock()
	cat.take(d)
	cat.mu.Unlock()
	if err := cat.reload(ctx, true); err != nil {
		cat.update(func() bool {
			_ = cat.fail(err) // it is remembered and logged there
			return true
		})
	}
	cat.reloadMetrics(ctx)
}

// reload takes over the servers whose stored state is not the one in memory.
func (cat *Catalog) reload(ctx context.Context, opening bool) error {
	all, c, err := cat.folder.Store.Servers(ctx)
	if err != nil {
		return err
	}
	chosen := cat.folder.Chosen(all)
	if opening {
		cat.phrases.open(ctx, chosen)
	}
	cat.mu.Lock()
	if opening {
		cat.settle(chosen, c)
	}
	have := make(map[store.Key]uint64, len(cat.servers))
	known := map[[16]byte]bool{}
	for _, sv := range cat.servers {
		have[sv.key] = sv.generation
		for _, e := range sv.entries {
			known[e.Sum] = true
		}
	}
	cat.mu.Unlock()
	loaded, _, err := cat.folder.Store.Load(ctx,
		func(sv store.Server) bool {
			_, ours := chosen[sv.Key]
			generation, here := have[sv.Key]
			return ours && (!here || generation != sv.Generation) && (opening || !sv.Partial)
		},
		func(sum [16]byte) bool { return !known[sum] })
	if err != nil {
		return err
	}
	cat.update(func() bool {
		changed := opening
		for _, sv := range loaded {
			sv.Name = chosen[sv.Key].Name
			if old := cat.servers[sv.Name]; !opening && old != nil && (len(old.changed) > 0 || old.generation > sv.Generation) {
				continue // what is in memory is newer
			}
			cat.adopt(sv)
			changed = true
		}
		switch {
		case opening:
			cat.counters, cat.generation = c, c.Generation
		case changed:
			cat.generation++
		}
		return changed
	})
	return nil
}

// adopt takes over one server as it is stored. Tools that are known already
// are kept. The caller holds Catalog.mu.
func (in *contents) adopt(sv store.Loaded) {
	old := in.servers[sv.Name]
	next := &server{
		key: sv.Key, entries: make(map[string]*snapshot.Document, len(sv.Tools)), listed: sv.Listed, warnings: sv.Warnings,
		generation: sv.Generation, changed: map[string]bool{},
		lost: sv.Damaged || sv.Partial || len(sv.Lost) > 0,
	}
	if old != nil {
		next.revision = old.revision + 1
	}
	for i := range sv.Tools {
		se := &sv.Tools[i]
		if se.FirstSeen.IsZero() { // the date is lost
			se.FirstSeen, next.suspect = time.Now(), true
		}
		e := in.known(old, se)
		if e == nil {
			var err error
			if e, err = in.entryOf(se); err != nil {
				next.lost = true
				in.folder.Log.Warn("a stored tool is left out until its server is listed", "server", sv.Name, "error", err)
				continue
			}
		}
		next.entries[e.ID] = e
	}
	next.suspect = next.suspect || next.lost
	in.categorize(next)
	in.servers[sv.Name] = next
	in.raws.place(sv.Name, sv.Key)
}

// known is the entry that memory has of a stored tool.
func (in *contents) known(old *server, se *store.Entry) *snapshot.Document {
	if old == nil {
		return nil
	}
	id := se.ID.String()
	if e := old.entries[id]; e != nil && e.Sum == se.Sum {
		return e
	}
	in.raws.forget(id)
	return nil
}

// entryOf makes an entry of a stored tool. The caller holds Catalog.mu.
func (in *contents) entryOf(se *store.Entry) (*snapshot.Document, error) {
	t, err := storedTool(se)
	switch {
	case err != nil:
		return nil, err
	case se.Raw == nil:
		return nil, fmt.Errorf("tool %x: its object is missing", se.ID)
	}
	t.Raw = se.Raw
	return snapshot.NewDocument(t, se.Sum, &in.lexicon), nil
}
