package index

import (
	"context"
	"errors"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

// Record counts one execution of the tool id. It is written within 5 s and by
// Close.
func (ix *Index) Record(id string, ok bool, took time.Duration) {
	d := Metrics{Total: 1, Time: took, Last: time.Now().UTC()}
	if !ok {
		d.Failed = 1
	}
	server, _ := ix.snapshot().ServerOf(id)
	ix.meter.Record(server, id, d)
}

// Metrics returns what was recorded for the tool id by all processes.
func (ix *Index) Metrics(id string) Metrics { return ix.meter.Of(id) }

// flush writes what was counted, and when servers were last confirmed.
func (ix *Index) flush(ctx context.Context) error {
	ix.mu.Lock()
	readOnly := ix.folder.ReadOnly()
	listed := map[store.Key]time.Time{}
	for _, sv := range ix.servers {
		if sv.unlisted && !sv.pending() {
			listed[sv.key] = sv.listed
			sv.unlisted = false
		}
	}
	ix.mu.Unlock()
	if readOnly {
		return nil
	}
	var err error
	if len(listed) > 0 {
		err = ix.folder.Store.Touch(ctx, time.Now(), listed)
	}
	err = errors.Join(err, ix.meter.Flush(ctx, ix.folder.Store, ix.folder.Key))
	if err != nil && ctx.Err() == nil {
		ix.mu.Lock()
		err = ix.fail(err)
		ix.mu.Unlock()
	}
	return err
}

// reloadMetrics reads what all processes have counted.
func (ix *Index) reloadMetrics(ctx context.Context) {
	if err := ix.meter.Reload(ctx, ix.folder.Store, ix.raws.places()); err != nil {
		ix.folder.Log.Warn("metrics could not be read", "error", err)
	}
}
