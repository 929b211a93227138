package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

// relistEvery is how long a server that was to be listed has before it is
// asked for again.
const relistEvery = time.Minute

// restore goes on with another store than the one that was loaded: the folder
// was deleted or replaced. What another process has made of it is taken over
// by the caller; where memory has all of a server, it is stored anew.
func (ix *Index) restore(ctx context.Context) (c store.Counters, err error) {
	if err = ix.folder.Store.Renew(ctx); err == nil {
		c, err = ix.folder.Store.Counters(ctx)
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err != nil {
		if !errors.Is(err, store.ErrBusy) {
			_ = ix.fail(err) // it is remembered and logged there
		}
		return c, err
	}
	ix.folder.Log.Warn("the store was deleted or replaced", "store", ix.folder.Store.Path(), "made anew", ix.folder.Store.Made(c.File))
	ix.folder.Works()
	for name, sv := range ix.servers {
		sv.key, sv.generation, sv.suspect = ix.folder.Key(name), 0, true
		ix.raws.place(name, sv.key)
		for id := range sv.entries {
			sv.lost = sv.lost || !ix.raws.known(id)
			ix.raws.keep(id)
		}
		ix.unsaved += len(sv.entries)
	}
	if ix.folder.Store.Made(c.File) {
		ix.meter.Recount(ix.snapshot().ServerOf)
		ix.embeddings.StoreAll(ctx)
	}
	return c, nil
}

// askForLists has the servers listed whose tools are lost in part.
func (ix *Index) askForLists(now time.Time) {
	ix.mu.Lock()
	var ask []string
	for _, name := range ix.lost() {
		if sv := ix.servers[name]; now.Sub(sv.asked) > relistEvery {
			sv.asked = now
			ask = append(ask, name)
		}
	}
	ix.mu.Unlock()
	for _, name := range ask {
		if ix.options.Relist != nil {
			ix.options.Relist(name)
		}
	}
}

// lost are the names of the servers whose tools are lost in part, in order.
// The caller holds mu.
func (ix *Index) lost() (names []string) {
	for name, sv := range ix.servers {
		if sv.lost {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// describeLost is what status says of them.
func describeLost(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the tools of server %s are stored in part: some may be missing, or fail to be described and executed, until the server is listed again", strings.Join(names, ", "))
}
