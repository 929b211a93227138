package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

// Flush writes what was counted, and when servers were last confirmed.
func (cat *Catalog) Flush(ctx context.Context) error {
	cat.mu.Lock()
	readOnly := cat.folder.ReadOnly()
	listed := map[store.Key]time.Time{}
	for _, sv := range cat.servers {
		if sv.unlisted && !sv.pending() {
			listed[sv.key] = sv.listed
			sv.unlisted = false
		}
	}
	cat.mu.Unlock()
	if readOnly {
		return nil
	}
	var err error
	if len(listed) > 0 {
		err = cat.folder.Store.Touch(ctx, time.Now(), listed)
	}
	err = errors.Join(err, cat.meter.Flush(ctx, cat.folder.Store, cat.folder.Key))
	if err != nil && ctx.Err() == nil {
		cat.mu.Lock()
		err = cat.fail(err)
		cat.mu.Unlock()
	}
	return err
}

// reloadMetrics reads what all processes have counted.
func (cat *Catalog) reloadMetrics(ctx context.Context) {
	if err := cat.meter.Reload(ctx, cat.folder.Store, cat.raws.places()); err != nil {
		cat.folder.Log.Warn("metrics could not be read", "error", err)
	}
}

// InUse are the keys of the servers that are loaded, or may be.
func (cat *Catalog) InUse() map[store.Key]bool {
	cat.mu.Lock()
	defer cat.mu.Unlock()
	use := map[store.Key]bool{}
	for key := range cat.folder.Ours() {
		use[key] = true
	}
	for _, sv := range cat.servers {
		use[sv.key] = true
	}
	return use
}
