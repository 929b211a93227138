package catalog

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
func (cat *Catalog) restore(ctx context.Context) (c store.Counters, err error) {
	if err = cat.folder.Store.Renew(ctx); err == nil {
		c, err = cat.folder.Store.Counters(ctx)
	}
	cat.mu.Lock()
	defer cat.mu.Unlock()
	if err != nil {
		if !errors.Is(err, store.ErrBusy) {
			_ = cat.fail(err) // it is remembered and logged there
		}
		return c, err
	}
	cat.folder.Log.Warn("the store was deleted or replaced", "store", cat.folder.Store.Path(), "made anew", cat.folder.Store.Made(c.File))
	cat.folder.Works()
	for name, sv := range cat.servers {
		sv.key, sv.generation, sv.suspect = cat.folder.Key(name), 0, true
		cat.raws.place(name, sv.key)
		for id := range sv.entries {
			sv.lost = sv.lost || !cat.raws.known(id)
			cat.raws.keep(id)
		}
		cat.unsaved += len(sv.entries)
	}
	if cat.folder.Store.Made(c.File) {
		cat.meter.Recount(cat.options.Current.Load().ServerOf)
		cat.options.Remade(ctx)
	}
	return c, nil
}

// AskForLists has the servers listed whose tools are lost in part.
func (cat *Catalog) AskForLists(now time.Time) {
	cat.mu.Lock()
	var ask []string
	for _, name := range cat.lost() {
		if sv := cat.servers[name]; now.Sub(sv.asked) > relistEvery {
			sv.asked = now
			ask = append(ask, name)
		}
	}
	cat.mu.Unlock()
	for _, name := range ask {
		if cat.options.Relist != nil {
			cat.options.Relist(name)
		}
	}
}

// lost are the names of the servers whose tools are lost in part, in order.
// The caller holds Catalog.mu.
func (in *contents) lost() (names []string) {
	for name, sv := range in.servers {
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
