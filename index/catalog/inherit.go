package catalog

import (
	"context"
	"slices"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// inherit gives the tools of servers that are new to the store the phrases
// that it has of the same tools at another connection or under another name:
// a token was changed, or an entry of the configuration renamed. Phrases that
// were written for another text stay behind.
func (p *Phrases) inherit(ctx context.Context, tools map[string][]tool.Tool) {
	names := p.strangers(tools)
	if len(names) == 0 || p.catalog.folder.ReadOnly() {
		return
	}
	stored, _, err := p.catalog.folder.Store.Servers(ctx)
	for _, name := range names {
		key := p.catalog.folder.Key(name)
		if slices.ContainsFunc(stored, func(sv store.Server) bool { return sv.Key == key }) {
			continue
		}
		if from, ok := p.predecessor(name, stored); ok && err == nil {
			err = p.takeOver(ctx, from, name, tools[name])
		}
	}
	if err != nil && ctx.Err() == nil {
		p.catalog.folder.Log.Warn("phrases of servers that are reached otherwise now could not be taken over", "error", err)
	}
}

// strangers are the servers that memory does not have.
func (p *Phrases) strangers(tools map[string][]tool.Tool) (names []string) {
	cat := p.catalog
	cat.mu.Lock()
	defer cat.mu.Unlock()
	for name := range tools {
		if sv := cat.servers[name]; sv == nil || sv.key != cat.folder.Key(name) {
			names = append(names, name)
		}
	}
	return names
}

// predecessor is the stored server that has the name, or the connection, of
// one that is not stored: of several the one listed last.
func (p *Phrases) predecessor(name string, stored []store.Server) (from store.Server, ok bool) {
	source := p.catalog.folder.Sources()[name]
	for _, sv := range stored {
		same := sv.Name == name || p.catalog.folder.Store.Key(sv.Name, source) == sv.Key
		if same && !sv.Damaged && (!ok || sv.Listed.After(from.Listed)) {
			from, ok = sv, true
		}
	}
	return from, ok
}

// takeOver copies the phrases of a server to the tools of another that are the
// same, where these have none.
func (p *Phrases) takeOver(ctx context.Context, from store.Server, name string, tools []tool.Tool) error {
	bodies := map[store.ID][]byte{}
	err := p.catalog.folder.Store.Phrases(ctx, []store.Key{from.Key}, func(ref store.Ref, body []byte) { bodies[ref.ID] = slices.Clone(body) })
	if err != nil || len(bodies) == 0 {
		return err
	}
	key, next := p.catalog.folder.Key(name), map[store.Ref]store.Phrased{}
	var refs []store.Ref
	for _, t := range tools {
		t.Server = from.Name
		list, was := decodePhrases(bodies[store.ParseID(t.ID())]), snapshot.TextHash(&t)
		list = slices.DeleteFunc(list, func(f phrase.Phrase) bool { return f.Of != was })
		if len(list) == 0 {
			continue
		}
		t.Server = name
		for i := range list {
			list[i].Of = snapshot.TextHash(&t)
		}
		ref := store.Ref{Server: key, ID: store.ParseID(t.ID())}
		refs, next[ref] = append(refs, ref), encodePhrases(list)
	}
	taken := map[string]body{}
	_, err = p.catalog.folder.Store.EditPhrases(ctx, refs, func(ref store.Ref, old []byte) store.Phrased {
		if old != nil {
			return encodePhrases(decodePhrases(old))
		}
		taken[ref.ID.String()] = bodyOf(key, next[ref].Body)
		return next[ref]
	})
	if err == nil {
		p.take(taken)
		p.catalog.folder.Log.Info("phrases taken over", "server", name, "from", from.Name, "tools", len(taken))
	}
	return err
}
