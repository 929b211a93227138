package index

import (
	"context"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
)

// load takes over the stored servers that the configuration names: what was
// derived of them the last time, and then, as any other time, what is stored
// otherwise.
func (ix *Index) load(ctx context.Context) {
	if ix.folder.Store == nil {
		ix.change(func() bool { return true })
		return
	}
	d := ix.readDerived()
	ix.mu.Lock()
	ix.takeDerived(d)
	ix.mu.Unlock()
	if err := ix.reload(ctx, true); err != nil {
		ix.change(func() bool {
			_ = ix.fail(err) // it is remembered and logged there
			return true
		})
	}
	ix.reloadMetrics(ctx)
}

// reload takes over the servers whose stored state is not the one in memory.
func (ix *Index) reload(ctx context.Context, opening bool) error {
	all, c, err := ix.folder.Store.Servers(ctx)
	if err != nil {
		return err
	}
	chosen := ix.folder.Chosen(all)
	if opening {
		ix.phrases.open(ctx, chosen)
	}
	ix.mu.Lock()
	if opening {
		ix.settleDerived(chosen, c)
	}
	have := make(map[store.Key]uint64, len(ix.servers))
	known := map[[16]byte]bool{}
	for _, sv := range ix.servers {
		have[sv.key] = sv.generation
		for _, e := range sv.entries {
			known[e.Sum] = true
		}
	}
	ix.mu.Unlock()
	loaded, _, err := ix.folder.Store.Load(ctx,
		func(sv store.Server) bool {
			_, ours := chosen[sv.Key]
			generation, here := have[sv.Key]
			return ours && (!here || generation != sv.Generation) && (opening || !sv.Partial)
		},
		func(sum [16]byte) bool { return !known[sum] })
	if err != nil {
		return err
	}
	ix.change(func() bool {
		changed := opening
		for _, sv := range loaded {
			sv.Name = chosen[sv.Key].Name
			if old := ix.servers[sv.Name]; !opening && old != nil && (len(old.changed) > 0 || old.generation > sv.Generation) {
				continue // what is in memory is newer
			}
			ix.adopt(sv)
			changed = true
		}
		switch {
		case opening:
			ix.counters, ix.generation = c, c.Generation
		case changed:
			ix.generation++
		}
		return changed
	})
	return nil
}

// adopt takes over one server as it is stored. Tools that are known already
// are kept. The caller holds mu.
func (ix *Index) adopt(sv store.Loaded) {
	old := ix.servers[sv.Name]
	next := &server{
		key: sv.Key, entries: make(map[string]*snapshot.Document, len(sv.Tools)), listed: sv.Listed, warnings: sv.Warnings,
		confirmed: sv.Listed.After(ix.started), generation: sv.Generation, changed: map[string]bool{},
		lost: sv.Damaged || sv.Partial || len(sv.Lost) > 0,
	}
	if old != nil {
		next.confirmed = next.confirmed || old.confirmed
		next.revision = old.revision + 1
	}
	for i := range sv.Tools {
		se := &sv.Tools[i]
		if se.FirstSeen.IsZero() { // the date is lost
			se.FirstSeen, next.suspect = time.Now(), true
		}
		e := ix.known(old, se)
		if e == nil {
			var err error
			if e, err = ix.entryOf(se); err != nil {
				next.lost = true
				ix.folder.Log.Warn("a stored tool is left out until its server is listed", "server", sv.Name, "error", err)
				continue
			}
		}
		next.entries[e.ID] = e
	}
	next.suspect = next.suspect || next.lost
	ix.categorize(next)
	ix.servers[sv.Name] = next
	ix.raws.place(sv.Name, sv.Key)
}

// known is the entry that memory has of a stored tool.
func (ix *Index) known(old *server, se *store.Entry) *snapshot.Document {
	if old == nil {
		return nil
	}
	id := se.ID.String()
	if e := old.entries[id]; e != nil && e.Sum == se.Sum {
		return e
	}
	ix.raws.forget(id)
	return nil
}

// entryOf makes an entry of a stored tool. The caller holds mu.
func (ix *Index) entryOf(se *store.Entry) (*snapshot.Document, error) {
	t, err := storedTool(se)
	switch {
	case err != nil:
		return nil, err
	case se.Raw == nil:
		return nil, fmt.Errorf("tool %x: its object is missing", se.ID)
	}
	t.Raw = se.Raw
	ix.unsaved++
	return snapshot.NewDocument(t, se.Sum, &ix.lexicon), nil
}
