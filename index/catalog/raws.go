package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// rawCache is how many tool objects stay in memory: a schema has 2.5 KB.
const rawCache = 1000

// rawWait bounds a read from disk of one tool object, which waits its turn
// while another process writes.
const rawWait = 10 * time.Second

// Raws give the tools' objects: those that are not stored yet from memory,
// the others from disk.
type raws struct {
	recent *lru.Cache[string, json.RawMessage]

	mu   sync.Mutex // guards the fields below
	held map[string]json.RawMessage
	keys map[string]store.Key // of stored servers, by name
}

func newRaws() *raws {
	recent, err := lru.New[string, json.RawMessage](rawCache)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &raws{recent: recent, held: map[string]json.RawMessage{}, keys: map[string]store.Key{}}
}

// hold keeps a copy of the object of the tool id until it is released.
func (r *raws) hold(id string, raw json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[id] = append(json.RawMessage{}, raw...)
	r.recent.Remove(id)
}

// known says whether the object of the tool id is in memory.
func (r *raws) known(id string) bool {
	return r.peek(id) != nil || r.recent.Contains(id)
}

// keep holds the object of the tool id for the store, if it is in memory.
func (r *raws) keep(id string) {
	if raw, ok := r.recent.Peek(id); ok && r.peek(id) == nil {
		r.hold(id, raw)
	}
}

// peek returns the object that is held for the tool id.
func (r *raws) peek(id string) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[id]
}

// release gives up an object, unless another one is held by now.
func (r *raws) release(id string, raw json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.held[id]; len(now) == len(raw) && (len(now) == 0 || &now[0] == &raw[0]) {
		delete(r.held, id)
	}
}

// forget drops what is known of the tool id.
func (r *raws) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, id)
	r.recent.Remove(id)
}

// place says under which key a server is stored.
func (r *raws) place(server string, key store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[server] = key
}

// places are the keys of the stored servers.
func (r *raws) places() []store.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.keys))
}

// servers are the names of the stored servers.
func (r *raws) servers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.keys))
}

// find returns the object in memory, or the key of the server that has it on
// disk.
func (r *raws) find(server, id string) (json.RawMessage, store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, ok := r.held[id]; ok {
		return raw, store.Key{}
	}
	raw, _ := r.recent.Get(id)
	return raw, r.keys[server]
}

// ErrGone reports a tool that the catalog had and has no more.
var ErrGone = errors.New("not in the catalog any more")

// Raw returns the tool's object as its upstream sent it.
func (cat *Catalog) Raw(id string) (json.RawMessage, error) {
	server, ok := cat.options.Current.Load().ServerOf(id)
	if !ok {
		return nil, fmt.Errorf("read tool %s: %w", id, ErrGone)
	}
	ctx, cancel := context.WithTimeout(context.Background(), rawWait)
	defer cancel()
	raw, key := cat.raws.find(server, id)
	if raw != nil {
		return raw, nil
	}
	raw, err := cat.readRaw(ctx, server, key, id)
	if err != nil {
		return nil, err
	}
	cat.raws.recent.Add(id, raw)
	return raw, nil
}

// Object reads a tool's object without keeping it.
func (cat *Catalog) Object(ctx context.Context, t *tool.Tool, id string) ([]byte, error) {
	raw, key := cat.raws.find(t.Server, id)
	if raw != nil {
		return raw, nil
	}
	return cat.readRaw(ctx, t.Server, key, id)
}

// readRaw reads a tool's object from disk. When it is not there the server's
// next list is stored whole.
func (cat *Catalog) readRaw(ctx context.Context, server string, key store.Key, id string) (json.RawMessage, error) {
	if cat.folder.Store == nil {
		return nil, fmt.Errorf("read tool %s: %w", id, ErrGone)
	}
	raw, err := cat.folder.Store.Raw(ctx, key, store.ParseID(id))
	if err == nil && raw != nil {
		return raw, nil
	}
	if err == nil || errors.Is(err, store.ErrDamaged) {
		cat.distrust(server)
	}
	if err == nil {
		err = fmt.Errorf("%w: another process has changed %s", ErrGone, cat.folder.Store.Path())
	}
	return nil, fmt.Errorf("read tool %s of server %q: %w; it comes back when the server is listed again", id, server, err)
}

// distrust has a server listed again and its list stored whole.
func (cat *Catalog) distrust(server string) {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if sv := cat.servers[server]; sv != nil {
		sv.suspect, sv.lost = true, true
		wake(cat.look)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is awake
	}
}
