package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tooldex/tooldex/index/tool"
)

// SetSources changes which servers are shown, and from which connections, as
// Options.Sources says. Those that were not named before are loaded as far as
// they are stored; those not named any more leave the catalog and stay stored.
func (cat *Catalog) SetSources(ctx context.Context, sources map[string]string) error {
	cat.folder.SetSources(sources)
	cat.change(func() (changed bool) {
		for name, sv := range cat.servers {
			if _, named := sources[name]; sources != nil && (!named || sv.key != cat.folder.Key(name)) {
				cat.drop(name)
				changed = true
			}
		}
		return changed
	})
	if cat.folder.Store == nil {
		return nil
	}
	cat.phrases.reload(ctx) // those of other connections
	if err := cat.reload(ctx, false); err != nil {
		return fmt.Errorf("load the servers of the new configuration: %w", err)
	}
	return nil
}

// Objects are the objects of all tools of a server as it sent them, those that
// are hidden too, in order of their ids.
func (cat *Catalog) Objects(ctx context.Context, server string) ([]json.RawMessage, error) {
	cat.mu.Lock()
	tools := map[string]tool.Tool{}
	var ids []string
	if sv := cat.servers[server]; sv != nil {
		for id, e := range sv.entries {
			tools[id] = e.Tool
			ids = append(ids, id)
		}
	}
	cat.mu.Unlock()
	slices.Sort(ids)
	objects := make([]json.RawMessage, 0, len(ids))
	for _, id := range ids {
		t := tools[id]
		raw, err := cat.Object(ctx, &t, id)
		if err != nil {
			return nil, err
		}
		objects = append(objects, raw)
	}
	return objects, nil
}

// Relabel is Replace for tools made anew from the objects that the server sent
// the last time, as other things are said of them now: when it was listed
// stays, and what the listing itself has told. A server that was never listed
// stays so.
func (cat *Catalog) Relabel(ctx context.Context, server string, tools []tool.Tool) (Diff, error) {
	seen := cat.firstSeen(ctx, map[string][]tool.Tool{server: tools})
	var diff Diff
	known := false
	cat.change(func() bool {
		old := cat.servers[server]
		if old == nil {
			return false
		}
		known = true
		for i := range tools {
			tools[i].Server = server
			if e := old.entries[tools[i].ID()]; e != nil {
				tools[i].Inexecutable = cmp.Or(tools[i].Inexecutable, e.Tool.Inexecutable)
			}
		}
		diff = cat.replace(server, tools, seen)
		next := cat.servers[server]
		next.listed, next.unlisted = old.listed, old.unlisted
		next.warnings = old.warnings
		return diff.any()
	})
	if !known {
		return diff, nil
	}
	if err := cat.write(ctx, []string{server}, objectsOf(map[string][]tool.Tool{server: tools})); err != nil {
		return diff, fmt.Errorf("relabel tools of server %q: they are searchable and not stored: %w", server, err)
	}
	return diff, nil
}
