package store

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

// TestReadWhileWriting reads in the middle of a transaction that writes.
func TestReadWhileWriting(t *testing.T) {
	s := open(t, t.TempDir())
	s.o.ReadWait = 0 // no read may have to wait
	es := entries(3, "")
	k := stock(t, s, "a", es)
	err := s.update(t.Context(), func(tx *bbolt.Tx) error {
		if raw, err := s.Raw(t.Context(), k, es[1].ID); string(raw) != string(es[1].Raw) || err != nil {
			t.Errorf("Raw = %q, %v", raw, err)
		}
		if got := load(t, s, k); len(got.Tools) != 3 {
			t.Errorf("%d tools", len(got.Tools))
		}
		return in(tx, "tools").put(toolKey('r', k, es[1].ID), []byte("later"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := s.Raw(t.Context(), k, es[1].ID); string(raw) != "later" || err != nil {
		t.Errorf("Raw = %q, %v", raw, err)
	}
}

// TestReaderOutlivesWriter lets a reader begin on a writer's handle and end
// after it: the file is free then, and not before.
func TestReaderOutlivesWriter(t *testing.T) {
	s := open(t, t.TempDir())
	es := entries(3, "")
	k := stock(t, s, "a", es)
	begun, written, read := make(chan bool), make(chan bool), make(chan error, 1)
	err := s.update(t.Context(), func(*bbolt.Tx) error {
		go func() {
			read <- s.view(t.Context(), 0, func(tx *bbolt.Tx) error {
				close(begun)
				<-written
				if p, whole := in(tx, "tools").get(toolKey('r', k, es[0].ID)); p == nil || !whole {
					t.Error("the tool is gone")
				}
				return nil
			})
		}()
		<-begun
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.lent != nil {
		t.Error("the handle is still lent")
	}
	if _, err := bbolt.Open(s.Path(), 0o600, &bbolt.Options{Timeout: 1}); err == nil {
		t.Error("the file was closed under its reader")
	}
	close(written)
	if err := <-read; err != nil {
		t.Error(err)
	}
	db, err := bbolt.Open(s.Path(), 0o600, &bbolt.Options{Timeout: 1})
	if err != nil {
		t.Fatalf("the file is still locked: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// large are entries that take several transactions.
func large(version string) []Entry {
	es := entries(50, version)
	for i := range es {
		es[i].Raw = bytes.Repeat([]byte(version), 200<<10)
	}
	return es
}

// piecewise writes r until stop says so after a piece, or its end.
func piecewise(t *testing.T, s *Store, r replacement, stop func() bool) replacement {
	t.Helper()
	for r.at < len(r.changes) {
		err := s.update(t.Context(), func(tx *bbolt.Tx) (err error) {
			var next replacement
			next, _, err = r.step(tx)
			r = next
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if stop() {
			break
		}
	}
	return r
}

func TestReplaceInPieces(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	stock(t, s, "first", entries(1, "")) // so that no generation is 0
	removed := large("a")[49]
	removed.ID = ID{0xff, 0xff}
	old := append(large("a"), removed)
	k := stock(t, s, "big", old)
	pieces := 0
	next := whole(Server{Key: k, Name: "big"}, large("b"))
	r := piecewise(t, s, replacement{changes: []Change{next}}, func() bool {
		pieces++
		got := load(t, other, k)
		if got.Partial && len(got.Tools) != 51 {
			t.Errorf("%d tools after %d pieces: none may be missing before the end", len(got.Tools), pieces)
		}
		return false
	})
	if pieces < 2 || r.at != 1 {
		t.Errorf("%d pieces for 10 MB", pieces)
	}
	got := load(t, other, k)
	if diff := cmp.Diff(withoutRaw(large("b")), got.Tools, byInstant); diff != "" || got.Partial {
		t.Errorf("partial %v; tools (-want +got):\n%s", got.Partial, diff)
	}
}

// TestReplaceInterrupted has another process write the server between two
// pieces, and a process end there.
func TestReplaceInterrupted(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	k := stock(t, s, "big", large("a"))
	mine := replacement{changes: []Change{whole(Server{Key: k, Name: "big"}, large("b"))}}
	times := 0
	mine = piecewise(t, s, mine, func() bool {
		if times++; times < 5 { // later than it gives in
			if _, _, err := other.Replace(t.Context(), whole(Server{Key: k, Name: "big"}, large("c"))); err != nil {
				t.Fatal(err)
			}
		}
		return false
	})
	got := load(t, s, k)
	if diff := cmp.Diff(withoutRaw(large("b")), got.Tools, byInstant); diff != "" || got.Partial || mine.at != 1 {
		t.Errorf("partial %v; tools (-want +got):\n%s", got.Partial, diff)
	}
	for _, e := range large("b") {
		if raw, err := s.Raw(t.Context(), k, e.ID); !bytes.Equal(raw, e.Raw) || err != nil {
			t.Fatalf("object of %x: %.10s…, %v", e.ID, raw, err)
		}
	}

	ended := replacement{changes: []Change{whole(Server{Key: k, Name: "big"}, large("d"))}}
	piecewise(t, s, ended, func() bool { return true })
	if got := load(t, other, k); !got.Partial || len(got.Tools) != 50 {
		t.Errorf("partial %v with %d tools", got.Partial, len(got.Tools))
	}
	// What memory has of another state is compared with all that is stored.
	base := got.Generation
	c := Change{Server: Server{Key: k, Name: "big"}, Base: base, All: func() []Entry { return large("b") }}
	if _, missing, err := other.Replace(t.Context(), c); len(missing) > 0 || err != nil {
		t.Fatal(missing, err)
	}
	if diff := cmp.Diff(withoutRaw(large("b")), load(t, s, k).Tools, byInstant); diff != "" {
		t.Errorf("after the interrupted change (-want +got):\n%s", diff)
	}
}
