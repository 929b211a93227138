package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

// A meter counts executions. What it counts goes to the store as deltas, so
// that any number of processes add up.
type meter struct {
	mu      sync.Mutex // guards the fields below
	stored  map[string]Metrics
	leaving map[string]Metrics // on their way to the store
	fresh   map[string]Metrics
	servers map[string]string // the servers of the tools in fresh
}

func newMeter() *meter {
	return &meter{stored: map[string]Metrics{}, fresh: map[string]Metrics{}, servers: map[string]string{}}
}

// Record counts one execution of the tool id. It is written within 5 s and by
// Close.
func (ix *Index) Record(id string, ok bool, took time.Duration) {
	d := Metrics{Total: 1, Time: took, Last: time.Now().UTC()}
	if !ok {
		d.Failed = 1
	}
	s := ix.snapshot()
	server := ""
	if doc, found := s.find(id); found {
		server = s.docs[doc].tool.Server
	}
	ix.meter.mu.Lock()
	defer ix.meter.mu.Unlock()
	ix.meter.fresh[id] = ix.meter.fresh[id].plus(d)
	ix.meter.servers[id] = server
}

func (m Metrics) plus(d Metrics) Metrics {
	sum := store.Metrics(m)
	sum.Add(store.Metrics(d))
	return Metrics(sum)
}

// Metrics returns what was recorded for the tool id by all processes.
func (ix *Index) Metrics(id string) Metrics {
	m := ix.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored[id].plus(m.leaving[id]).plus(m.fresh[id])
}

// flush writes what was counted, and when servers were last confirmed.
func (ix *Index) flush(ctx context.Context) error {
	ix.mu.Lock()
	readOnly := ix.readOnly()
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
		err = ix.store.Touch(ctx, time.Now(), listed)
	}
	if deltas := ix.take(); len(deltas) > 0 {
		added := ix.store.AddMetrics(ctx, deltas)
		ix.meter.settle(added == nil)
		err = errors.Join(err, added)
	}
	if err != nil && ctx.Err() == nil {
		ix.mu.Lock()
		err = ix.fail(err)
		ix.mu.Unlock()
	}
	return err
}

// take moves the fresh counts on their way and returns them.
func (ix *Index) take() map[store.Ref]store.Metrics {
	m := ix.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	deltas := make(map[store.Ref]store.Metrics, len(m.fresh))
	for id, d := range m.fresh {
		deltas[store.Ref{Server: ix.key(m.servers[id]), ID: storedID(id)}] = store.Metrics(d)
	}
	m.leaving, m.fresh, m.servers = m.fresh, map[string]Metrics{}, map[string]string{}
	return deltas
}

// settle adds what was on its way to what is stored, or takes it back.
func (m *meter) settle(stored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := m.fresh
	if stored {
		to = m.stored
	}
	for id, d := range m.leaving {
		to[id] = to[id].plus(d)
	}
	m.leaving = nil
}

// reloadMetrics reads what all processes have counted.
func (ix *Index) reloadMetrics(ctx context.Context) {
	all, err := ix.store.Metrics(ctx, ix.raws.places())
	if err != nil {
		ix.log.Warn("metrics could not be read", "error", err)
		return
	}
	stored := make(map[string]Metrics, len(all))
	for ref, m := range all {
		id := fmt.Sprintf("%x", ref.ID)
		stored[id] = stored[id].plus(Metrics(m))
	}
	ix.meter.mu.Lock()
	defer ix.meter.mu.Unlock()
	ix.meter.stored = stored
}
