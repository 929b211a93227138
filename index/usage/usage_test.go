package usage

import (
	"testing"
	"time"

	"github.com/tooldex/tooldex/index/store"
)

func open(t *testing.T, dir string, o store.Options) *store.Store {
	t.Helper()
	st, err := store.Open(dir, o)
	if st == nil {
		t.Fatal(err)
	}
	return st
}

func TestTwoMetersAddUp(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, store.Options{})
	key := keysOf(st)
	id := store.ID{1, 2, 3}.String()
	one, two := NewMeter(), NewMeter()
	for _, m := range []*Meter{one, two, one} {
		m.Record("s", id, store.Metrics{Total: 1, Time: time.Second})
	}
	for _, m := range []*Meter{one, two} {
		if err := m.Flush(t.Context(), st, key); err != nil || m.Pending() > 0 {
			t.Fatalf("Flush: %v, %d pending", err, m.Pending())
		}
	}
	if err := one.Reload(t.Context(), st, []store.Key{key("s")}); err != nil {
		t.Fatal(err)
	}
	one.Record("s", id, store.Metrics{Total: 1, Failed: 1})
	if got := one.Of(id); got.Total != 4 || got.Failed != 1 || got.Time != 3*time.Second {
		t.Errorf("counted %+v", got)
	}
}

// What cannot be written is neither lost nor counted twice.
func TestFlushFails(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, store.Options{})
	key := keysOf(st)
	reader := open(t, dir, store.Options{ReadOnly: true})
	id := store.ID{1}.String()
	m := NewMeter()
	m.Record("s", id, store.Metrics{Total: 1})
	if err := m.Flush(t.Context(), reader, key); err == nil || m.Pending() != 1 || m.Of(id).Total != 1 {
		t.Errorf("Flush = %v, %d pending, %+v", err, m.Pending(), m.Of(id))
	}
	if err := m.Flush(t.Context(), st, key); err != nil || m.Of(id).Total != 1 {
		t.Errorf("Flush = %v, %+v", err, m.Of(id))
	}
	// A store that has lost it is told again.
	other := open(t, t.TempDir(), store.Options{})
	m.Recount(func(string) (string, bool) { return "s", true })
	if err := m.Flush(t.Context(), other, keysOf(other)); err != nil {
		t.Fatal(err)
	}
	all, err := other.Metrics(t.Context(), []store.Key{other.Key("s", "")})
	if got := all[store.Ref{Server: other.Key("s", ""), ID: store.ID{1}}]; got.Total != 1 || err != nil {
		t.Errorf("stored %+v, %v", all, err)
	}
}

func keysOf(st *store.Store) func(string) store.Key {
	return func(server string) store.Key { return st.Key(server, "") }
}
