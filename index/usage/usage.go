// Package usage counts the executions of tools. What a [Meter] counts goes to
// the store as deltas, so that any number of processes add up.
package usage

import (
	"context"
	"sync"

	"github.com/tooldex/tooldex/index/store"
)

// A Meter counts by the tools' ids. It is safe for concurrent use, but for
// one Flush at a time.
type Meter struct {
	mu      sync.Mutex // guards the fields below
	stored  map[string]store.Metrics
	leaving map[string]store.Metrics // on their way to the store
	fresh   map[string]store.Metrics
	servers map[string]string // the servers of the tools in fresh
}

// NewMeter returns a Meter that has counted nothing.
func NewMeter() *Meter {
	return &Meter{stored: map[string]store.Metrics{}, fresh: map[string]store.Metrics{}, servers: map[string]string{}}
}

// Record counts d for the tool id of a server.
func (m *Meter) Record(server, id string, d store.Metrics) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(m.fresh, id, d)
	m.servers[id] = server
}

// Of returns what all processes counted for the tool id.
func (m *Meter) Of(id string) store.Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.stored[id]
	sum.Add(m.leaving[id])
	sum.Add(m.fresh[id])
	return sum
}

// Pending is how many tools have counts that are not stored.
func (m *Meter) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.fresh) + len(m.leaving)
}

// Flush writes what was counted since the last time; what cannot be written
// goes with the next. Key is the key under which a server is stored.
func (m *Meter) Flush(ctx context.Context, st *store.Store, key func(server string) store.Key) error {
	deltas := m.take(key)
	if len(deltas) == 0 {
		return nil
	}
	err := st.AddMetrics(ctx, deltas)
	m.settle(err == nil)
	return err
}

// take moves the fresh counts on their way and returns them.
func (m *Meter) take(key func(server string) store.Key) map[store.Ref]store.Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	deltas := make(map[store.Ref]store.Metrics, len(m.fresh))
	for id, d := range m.fresh {
		deltas[store.Ref{Server: key(m.servers[id]), ID: store.ParseID(id)}] = d
	}
	m.leaving, m.fresh = m.fresh, map[string]store.Metrics{}
	return deltas
}

// settle adds what was on its way to what is stored, or takes it back.
func (m *Meter) settle(stored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := m.fresh
	if stored {
		to = m.stored
	}
	for id, d := range m.leaving {
		add(to, id, d)
	}
	m.leaving = nil
	for id := range m.servers {
		if _, ok := m.fresh[id]; !ok {
			delete(m.servers, id)
		}
	}
}

// Reload reads what all processes have counted for the tools of servers.
func (m *Meter) Reload(ctx context.Context, st *store.Store, servers []store.Key) error {
	all, err := st.Metrics(ctx, servers)
	if err != nil {
		return err
	}
	stored := make(map[string]store.Metrics, len(all))
	for ref, d := range all {
		add(stored, ref.ID.String(), d)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = stored
	return nil
}

// Recount counts what was stored once more, for those tools whose server is
// known: the store has lost it.
func (m *Meter) Recount(server func(id string) (name string, known bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, d := range m.stored {
		if name, known := server(id); known {
			add(m.fresh, id, d)
			m.servers[id] = name
		}
	}
	m.stored = map[string]store.Metrics{}
}

func add(to map[string]store.Metrics, id string, d store.Metrics) {
	sum := to[id]
	sum.Add(d)
	to[id] = sum
}
