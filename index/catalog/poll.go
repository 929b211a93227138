package catalog

import (
	"context"
	"errors"

	"github.com/tooldex/tooldex/index/store"
)

// WritePending stores the changes that wait. Those that wait for the store's
// lock are no error.
func (cat *Catalog) WritePending(ctx context.Context) error {
	cat.mu.Lock()
	names := cat.pending()
	cat.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	return cat.write(ctx, names, nil)
}

// Poll takes over what other processes have changed. A store that is locked
// or cannot be read is looked at again the next time.
func (cat *Catalog) Poll(ctx context.Context) {
	c, err := cat.folder.Store.Counters(ctx)
	cat.mu.Lock()
	before := cat.counters
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy) {
		_ = cat.fail(err) // it is remembered and logged there
	}
	cat.mu.Unlock()
	if err == nil && c.File != before.File && before.File != 0 {
		if c, err = cat.restore(ctx); err == nil && cat.folder.Store.Made(c.File) {
			err = cat.phrases.storeAgain(ctx)
		}
	}
	if err != nil || c == before {
		return
	}
	if c.File != before.File || c.Generation != before.Generation {
		err = cat.reload(ctx, false)
	}
	if c.Phrased != before.Phrased || c.File != before.File {
		cat.phrases.reload(ctx)
	}
	if c.Recorded != before.Recorded || c.File != before.File {
		cat.reloadMetrics(ctx)
	}
	if err == nil {
		cat.mu.Lock()
		cat.counters = c
		cat.mu.Unlock()
	}
}
