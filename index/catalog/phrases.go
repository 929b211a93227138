package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
)

// Phrases are what people say when they need the tools of an [Index]: what is
// written in the configuration ([Tool].Phrases), what Options.Pack knows, and
// what is added here, which is stored by server, connection and tool. A tool
// that goes and comes back finds its phrases again; one whose text changes
// keeps them, marked stale.
//
// Which of them count, and that no tool has more than others, is the business
// of package phrase.
type Phrases struct {
	catalog *Catalog

	mu     sync.Mutex         // guards the fields below; the catalog's lock, where both are needed, is taken first
	stored map[string]body    // by id of the tool
	read   map[store.Key]bool // the servers whose phrases have been read
}

// A body is what is stored of a tool's phrases: JSON, which is read when
// somebody asks.
type body struct {
	data   []byte    // never changed
	sum    uint64    // of data; 0 for nothing
	server store.Key // of the tool, which may be gone
}

// A Packer knows phrases for tools that it has never been told of.
type Packer interface {
	// Find returns the phrases of the tool of this name and description, as its
	// server says them, nil for one that it does not know. It is asked of every tool of the catalog,
	// and must answer the same each time.
	Find(name, description string) []phrase.Phrase
	// Identity is equal for packers that give the same answers.
	Identity() uint64
}

// ToolPhrases are the phrases of one tool.
type ToolPhrases struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"` // qualified name
	Counted int             `json:"counted"`
	Phrases []phrase.Phrase `json:"phrases"` // in the order in which they count, the first Counted of them
}

func newPhrases(c *Catalog) *Phrases {
	return &Phrases{catalog: c, stored: map[string]body{}, read: map[store.Key]bool{}}
}

// Of returns the phrases of the tool id, hidden or not; false for one that is
// not in the catalog.
func (p *Phrases) Of(id string) (ToolPhrases, bool) {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	for _, sv := range p.catalog.servers {
		if e := sv.entries[id]; e != nil {
			return p.describe(e), true
		}
	}
	return ToolPhrases{}, false
}

// List returns the phrases of all tools, hidden or not, in the order of their
// qualified names, also of those that have none.
func (p *Phrases) List() []ToolPhrases {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	var all []ToolPhrases
	for _, sv := range p.catalog.servers {
		for _, e := range sv.entries {
			all = append(all, p.describe(e))
		}
	}
	slices.SortFunc(all, func(a, b ToolPhrases) int { return strings.Compare(a.Tool+"\x00"+a.ID, b.Tool+"\x00"+b.ID) })
	return all
}

// describe lists first what counts, then what does not.
func (p *Phrases) describe(d *snapshot.Document) ToolPhrases {
	counted := d.Phrases()
	t := ToolPhrases{ID: d.ID, Tool: d.Qualified, Counted: len(counted), Phrases: slices.Clone(counted)}
	seen := map[string]bool{}
	for _, c := range counted {
		seen[phrase.Key(c.Text)] = true
	}
	rest := p.gather(d, p.of(d.ID))
	slices.SortStableFunc(rest, phrase.Compare)
	for _, r := range rest {
		if k := phrase.Key(r.Text); !seen[k] {
			seen[k] = true
			t.Phrases = append(t.Phrases, r)
		}
	}
	return t
}

// Add adds phrases to tools, by id, all or nothing, and returns how many are
// new (see [phrase.Merge]). They are searched when it returns; their vectors
// follow in the background. Other processes on the folder see them within
// seconds.
func (p *Phrases) Add(ctx context.Context, more map[string][]phrase.Phrase) (added int, err error) {
	return p.edit(ctx, more, phrase.Merge)
}

// Replace is Add that first forgets what these tools have of the source.
func (p *Phrases) Replace(ctx context.Context, source phrase.Source, more map[string][]phrase.Phrase) (added int, err error) {
	return p.edit(ctx, more, func(old, more []phrase.Phrase) ([]phrase.Phrase, int) { return phrase.Replace(old, source, more) })
}

// Remove forgets the stored phrases of the tools, by id (none: of all), that
// match, and returns how many they were.
func (p *Phrases) Remove(ctx context.Context, match func(phrase.Phrase) bool, ids ...string) (removed int, err error) {
	tools := make(map[string][]phrase.Phrase, len(ids))
	for _, id := range ids {
		tools[id] = nil
	}
	if len(ids) == 0 {
		p.mu.Lock()
		for id := range p.stored {
			tools[id] = nil
		}
		p.mu.Unlock()
	}
	return p.edit(ctx, tools, func(old, _ []phrase.Phrase) ([]phrase.Phrase, int) {
		kept := slices.DeleteFunc(slices.Clone(old), match)
		return kept, len(old) - len(kept)
	})
}

// edit changes the stored phrases of tools: change is given what is stored of
// one and what comes with it, and counts what it changed.
func (p *Phrases) edit(ctx context.Context, tools map[string][]phrase.Phrase, change func(old, with []phrase.Phrase) ([]phrase.Phrase, int)) (n int, err error) {
	tools = maps.Clone(tools)
	refs, ids, err := p.refs(tools)
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	next := make(map[string]body, len(refs))
	counts := make(map[string]int, len(refs))
	apply := func(ref store.Ref, old []byte) (s store.Phrased) {
		id := ids[ref]
		list, n := change(decodePhrases(old), tools[id])
		s, counts[id] = encodePhrases(list), n
		next[id] = bodyOf(ref.Server, s.Body)
		return s
	}
	if p.catalog.folder.Store == nil {
		for ref, id := range ids {
			apply(ref, p.of(id).data)
		}
		p.show(next, store.Counters{})
		return sum(counts), nil
	}
	if problem, _ := p.catalog.folder.Faults(); problem != "" || p.catalog.folder.ReadOnly() {
		return 0, fmt.Errorf("store phrases in %s: %w: %s", p.catalog.folder.Dir, store.ErrReadOnly, problem)
	}
	now, err := p.catalog.folder.Store.EditPhrases(ctx, refs, apply)
	if err != nil {
		return 0, fmt.Errorf("store phrases: %w", err)
	}
	p.show(next, now)
	return sum(counts), nil
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// refs are where the tools' phrases are stored, and the ids by that; tools that
// are gone may lose phrases and get none. In tools it puts phrases that know
// for which text and when they are written.
func (p *Phrases) refs(tools map[string][]phrase.Phrase) (refs []store.Ref, ids map[store.Ref]string, err error) {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	ids = make(map[store.Ref]string, len(tools))
	docs := make(map[string]*snapshot.Document, len(tools))
	for name, sv := range p.catalog.servers {
		key := p.catalog.folder.Key(name)
		for id := range tools {
			if e := sv.entries[id]; e != nil {
				docs[id] = e
				ref := store.Ref{Server: key, ID: store.ParseID(id)}
				refs, ids[ref] = append(refs, ref), id
			}
		}
	}
	for id, list := range tools {
		d := docs[id]
		switch gone := p.of(id); {
		case d != nil:
		case len(gone.data) > 0 && len(list) == 0:
			ref := store.Ref{Server: gone.server, ID: store.ParseID(id)}
			refs, ids[ref] = append(refs, ref), id
			continue
		default:
			return nil, nil, fmt.Errorf("phrases of tool %s: not in the catalog", id)
		}
		tools[id] = slices.Clone(list)
		for i := range list {
			if !list[i].Source.Stored() {
				return nil, nil, fmt.Errorf("phrases of tool %s: those of source %q are not stored", d.Qualified, list[i].Source)
			}
			made := &tools[id][i]
			made.Of, made.Stale = cmp.Or(made.Of, d.TextHash()), false
			if made.Time.IsZero() {
				made.Time = time.Now().UTC().Truncate(time.Second)
			}
		}
	}
	return refs, ids, nil
}

func (p *Phrases) of(id string) body {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stored[id]
}

// show makes changed phrases searchable.
func (p *Phrases) show(next map[string]body, now store.Counters) {
	p.catalog.change(func() bool {
		if !p.take(next) {
			return false
		}
		if c := &p.catalog.counters; c.File == now.File && c.Phrased+1 == now.Phrased {
			c.Phrased = now.Phrased // nobody else changed any in between
		}
		return true
	})
}

// take keeps bodies in memory and says whether any tool's is another one.
func (p *Phrases) take(next map[string]body) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, b := range next {
		changed = changed || !bytes.Equal(b.data, p.stored[id].data)
		if p.stored[id] = b; len(b.data) == 0 {
			delete(p.stored, id)
		}
	}
	return changed
}

func bodyOf(server store.Key, data []byte) body {
	return body{data, crc64.Checksum(data, sums), server}
}

var sums = crc64.MakeTable(crc64.ECMA)

// load reads the stored phrases of servers by name, and says whether any is
// new to memory.
func (p *Phrases) load(ctx context.Context, servers []store.Key) (changed bool, err error) {
	next := map[string]body{}
	p.mu.Lock()
	for id := range p.stored {
		next[id] = body{} // forgotten by another process, unless it is read
	}
	p.mu.Unlock()
	err = p.catalog.folder.Store.Phrases(ctx, servers, func(ref store.Ref, body []byte) {
		next[ref.ID.String()] = bodyOf(ref.Server, bytes.Clone(body))
	})
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	for _, key := range servers {
		p.read[key] = true
	}
	p.mu.Unlock()
	return p.take(next), nil
}

// open reads the stored phrases of the servers that are loaded, and of those
// that may be.
func (p *Phrases) open(ctx context.Context, chosen map[store.Key]store.Server) {
	keys := p.servers()
	for key := range chosen {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if _, err := p.load(ctx, keys); err != nil {
		p.catalog.folder.Log.Warn("phrases could not be read", "error", err)
	}
}

// storeAgain stores what memory has in a store that was made anew.
func (p *Phrases) storeAgain(ctx context.Context) error {
	p.mu.Lock()
	tools := maps.Clone(p.stored)
	p.mu.Unlock()
	known := make(map[string][]phrase.Phrase, len(tools))
	for _, t := range p.List() {
		if list := decodePhrases(tools[t.ID].data); list != nil {
			known[t.ID] = list
		}
	}
	_, err := p.edit(ctx, known, func(_, with []phrase.Phrase) ([]phrase.Phrase, int) { return with, len(with) })
	return err
}

// reload takes over what other processes have changed.
func (p *Phrases) reload(ctx context.Context) {
	changed, err := p.load(ctx, p.servers())
	if err != nil {
		p.catalog.folder.Log.Warn("phrases could not be read", "error", err)
	}
	if changed {
		p.catalog.change(func() bool { return true })
	}
}

// servers are the keys of the servers whose phrases may be wanted.
func (p *Phrases) servers() (keys []store.Key) {
	for key := range p.catalog.folder.Ours() {
		keys = append(keys, key)
	}
	for _, name := range p.catalog.raws.servers() {
		if key := p.catalog.folder.Key(name); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// meet reads the phrases of servers that are new to the catalog.
func (p *Phrases) meet(ctx context.Context, names []string) {
	if p.catalog.folder.Store == nil {
		return
	}
	p.mu.Lock()
	known := true
	for _, name := range names {
		known = known && p.read[p.catalog.folder.Key(name)]
	}
	p.mu.Unlock()
	if known {
		return
	}
	keys := p.servers()
	for _, name := range names {
		if key := p.catalog.folder.Key(name); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if _, err := p.load(ctx, keys); err != nil {
		p.catalog.folder.Log.Warn("phrases could not be read", "error", err)
	}
}

// dress gives every document the phrases that count. The caller holds the
// catalog's lock and swaps the snapshot.
func (p *Phrases) dress() {
	pack := uint64(0)
	if p.catalog.options.Pack != nil {
		pack = p.catalog.options.Pack.Identity()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sv := range p.catalog.servers {
		var entries map[string]*snapshot.Document
		for id, e := range sv.entries {
			stored := p.stored[id]
			sum := sumOf(pack, p.catalog.options.Confirmers, e, stored)
			if e.PhraseSum == sum {
				if e.Forgotten() {
					e.Remember(func() []phrase.Phrase { return p.gather(e, stored) })
				}
				continue
			}
			if entries == nil {
				entries = maps.Clone(sv.entries) // one that is being written keeps its own
			}
			entries[id] = e.Saying(p.gather(e, stored), sum, &p.catalog.lexicon)
			p.catalog.unsaved++
		}
		if entries != nil {
			sv.entries = entries
		}
	}
}

// sumOf is equal where the phrases of a document that count are the same: it
// is of all that gather reads.
func sumOf(pack uint64, confirmers int, d *snapshot.Document, stored body) uint64 {
	le := binary.LittleEndian
	b := append(make([]byte, 0, 48), phrase.Version, byte(confirmers))
	b = append(le.AppendUint64(b, pack), d.Sum[:]...)
	return crc64.Checksum(le.AppendUint64(b, stored.sum), sums) | 1 // 0 is that of none
}

// gather are all phrases of a document, in no order.
func (p *Phrases) gather(d *snapshot.Document, stored body) []phrase.Phrase {
	all := snapshot.Configured(&d.Tool)
	if p.catalog.options.Pack != nil {
		all = append(all, p.catalog.options.Pack.Find(d.Tool.Name, cmp.Or(d.Tool.Listed, d.Tool.Description))...)
	}
	for _, s := range decodePhrases(stored.data) {
		s.Stale = s.Of != "" && s.Of != d.TextHash()
		s.Waits = s.Source == phrase.Use && len(s.By) < p.catalog.options.Confirmers
		all = append(all, s)
	}
	return all
}

// decodePhrases reads what is stored of a tool; what does not decode is none.
func decodePhrases(body []byte) (list []phrase.Phrase) {
	if body == nil || json.Unmarshal(body, &list) != nil {
		return nil
	}
	return list
}

func encodePhrases(list []phrase.Phrase) (s store.Phrased) {
	if len(list) == 0 {
		return s
	}
	for _, p := range list {
		s.Texts = append(s.Texts, snapshot.PhraseHash(phrase.Clip(p.Text)))
	}
	var err error
	if s.Body, err = json.Marshal(list); err != nil {
		panic(err) // texts, numbers and times that were read from somewhere
	}
	return s
}
