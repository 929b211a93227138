package store

import (
	"context"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"
)

// executions are what was counted of every tool.
type executions struct{ *database }

// Metrics count one tool's executions.
type Metrics struct {
	Total, Failed int64
	Time          time.Duration // summed
	Last          time.Time
}

// Add adds what was counted elsewhere.
func (m *Metrics) Add(d Metrics) {
	m.Total += d.Total
	m.Failed += d.Failed
	m.Time += d.Time
	if d.Last.After(m.Last) {
		m.Last = d.Last
	}
}

func (m Metrics) encode() []byte {
	p := make([]byte, 0, 32)
	for _, n := range []int64{m.Total, m.Failed, int64(m.Time), Stamp(m.Last)} {
		p = binary.LittleEndian.AppendUint64(p, uint64(n))
	}
	return p
}

func decodeMetrics(p []byte) (m Metrics, ok bool) {
	if len(p) != 32 {
		return m, false
	}
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(p[8*i:])) }
	return Metrics{Total: at(0), Failed: at(1), Time: time.Duration(at(2)), Last: Unstamp(at(3))}, true
}

// AddMetrics adds deltas to what is stored.
func (s executions) AddMetrics(ctx context.Context, deltas map[Ref]Metrics) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b := in(tx, "metrics")
		for ref, d := range deltas {
			p, whole := b.get(ref.key())
			m, ok := decodeMetrics(p)
			if !whole || p != nil && !ok {
				s.note("store %s: the metrics of tool %x were damaged and start anew", s.path, ref.ID)
			}
			m.Add(d)
			if err := b.put(ref.key(), m.encode()); err != nil {
				return err
			}
		}
		return bump(in(tx, "meta"), "recorded")
	})
}

// Metrics reads the metrics of the servers' tools.
func (s executions) Metrics(ctx context.Context, servers []Key) (map[Ref]Metrics, error) {
	all := make(map[Ref]Metrics)
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		for _, server := range servers {
			in(tx, "metrics").each(server[:], func(k, p []byte, whole bool) bool {
				m, ok := decodeMetrics(p)
				if whole && ok {
					all[Ref{server, idOf(k)}] = m
				} else {
					s.note("store %s: the metrics of tool %x are damaged and start anew", s.path, idOf(k))
				}
				return true
			})
		}
		return nil
	})
	return all, err
}
