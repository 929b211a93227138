package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("TOOLDEX_STORE_CHILD"); dir != "" {
		os.Exit(child(dir))
	}
	if dir := os.Getenv("TOOLDEX_STORE_CRASH"); dir != "" {
		os.Exit(crashChild(dir))
	}
	if dir := os.Getenv("TOOLDEX_STORE_SAYING"); dir != "" {
		os.Exit(sayingChild(dir))
	}
	goleak.VerifyTestMain(m)
}

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("Open(%s): %v", dir, err)
	}
	return s
}

// entries makes n tools whose content depends on version.
func entries(n int, version string) []Entry {
	es := make([]Entry, n)
	for i := range es {
		name := fmt.Sprintf("tool-%04d", i)
		id := sha256.Sum256([]byte(name))
		sum := sha256.Sum256([]byte(name + version))
		es[i] = Entry{
			ID: ID(id[:6]), Sum: [16]byte(sum[:16]), Texts: [][32]byte{sum},
			Head: "head " + name + version,
			Raw:  []byte(`{"name":"` + name + `","v":"` + version + `"}`), FirstSeen: day,
		}
	}
	sort.Slice(es, func(i, j int) bool { return string(es[i].ID[:]) < string(es[j].ID[:]) })
	return es
}

func stock(t testing.TB, s *Store, name string, es []Entry) Key {
	t.Helper()
	k := s.Key(name, "source of "+name)
	if _, _, err := s.Replace(t.Context(), whole(Server{Key: k, Name: name, Listed: day, Seen: day}, es)); err != nil {
		t.Fatalf("Replace(%s): %v", name, err)
	}
	return k
}

// whole is the change to these tools from nothing.
func whole(sv Server, es []Entry) Change {
	return Change{Server: sv, All: func() []Entry { return es }}
}

// load returns the one stored server of this key.
func load(t testing.TB, s *Store, k Key) Loaded {
	t.Helper()
	got, _, err := s.Load(t.Context(), func(sv Server) bool { return sv.Key == k }, nil)
	if err != nil || len(got) != 1 {
		t.Fatalf("Load: %d servers, %v", len(got), err)
	}
	return got[0]
}

func withoutRaw(es []Entry) []Entry {
	out := append([]Entry(nil), es...)
	for i := range out {
		out[i].Raw = nil
	}
	return out
}

var byInstant = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })

func TestReplaceAndLoad(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	es := entries(600, "a")
	k := stock(t, s, "files", es)
	other := stock(t, s, "mail", entries(3, "m"))

	s = open(t, dir)
	if s.Key("files", "source of files") != k || s.Key("files", "another") == k {
		t.Error("a server's key must depend on name and source alone")
	}
	got := load(t, s, k)
	if diff := cmp.Diff(withoutRaw(es), got.Tools, byInstant); diff != "" {
		t.Errorf("loaded tools differ (-want +got):\n%s", diff)
	}
	if got.Name != "files" || !got.Listed.Equal(day) || got.Generation != 1 {
		t.Errorf("loaded server %+v", got.Server)
	}
	raw, err := s.Raw(t.Context(), k, es[5].ID)
	if err != nil || string(raw) != string(es[5].Raw) {
		t.Errorf("Raw = %s, %v; want %s", raw, err, es[5].Raw)
	}
	if raw, err := s.Raw(t.Context(), other, es[5].ID); raw != nil || err != nil {
		t.Errorf("Raw of an unknown tool = %s, %v", raw, err)
	}
}

func TestReplaceWritesTheDifference(t *testing.T) {
	s := open(t, t.TempDir())
	es := entries(20, "a")
	k := stock(t, s, "files", es)
	next := entries(20, "a")[1:]
	next[3] = changed(next[3])
	later := day.Add(time.Hour)
	for i := range next {
		next[i].FirstSeen = later
	}
	stock(t, s, "files", next)
	got := load(t, s, k)
	want := withoutRaw(next)
	for i := range want {
		want[i].FirstSeen = day // the stored date wins
	}
	if diff := cmp.Diff(want, got.Tools, byInstant); diff != "" {
		t.Errorf("after a change (-want +got):\n%s", diff)
	}
	if raw, _ := s.Raw(t.Context(), k, es[0].ID); raw != nil {
		t.Errorf("the removed tool still has %s", raw)
	}
	seen, err := s.FirstSeen(t.Context(), k, []ID{es[0].ID, {1}})
	if err != nil || len(seen) != 1 || !seen[es[0].ID].Equal(day) {
		t.Errorf("FirstSeen of a removed tool = %v, %v; want %v", seen, err, day)
	}
}

func changed(e Entry) Entry {
	e.Sum[0] ^= 1
	e.Head, e.Raw = "new head", []byte(`{}`)
	return e
}

func TestCounters(t *testing.T) {
	s := open(t, t.TempDir())
	read := func() Counters {
		c, err := s.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	zero := read()
	k := stock(t, s, "a", entries(1, ""))
	changedCatalog := read()
	if err := s.AddMetrics(t.Context(), map[Ref]Metrics{{k, ID{1}}: {Total: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Touch(t.Context(), day, map[Key]time.Time{k: day}); err != nil {
		t.Fatal(err)
	}
	recorded := read()
	if changedCatalog.Generation != zero.Generation+1 || recorded.Generation != changedCatalog.Generation {
		t.Errorf("generations %d, %d, %d: only the catalog may change them", zero.Generation, changedCatalog.Generation, recorded.Generation)
	}
	if recorded.Recorded != zero.Recorded+1 || zero.File == 0 || recorded.File != zero.File {
		t.Errorf("counters %+v, then %+v", zero, recorded)
	}
}

func TestMetricsAdd(t *testing.T) {
	s := open(t, t.TempDir())
	k := stock(t, s, "a", entries(2, ""))
	ref := Ref{k, entries(2, "")[0].ID}
	for range 3 {
		d := Metrics{Total: 2, Failed: 1, Time: time.Second, Last: day}
		if err := s.AddMetrics(t.Context(), map[Ref]Metrics{ref: d}); err != nil {
			t.Fatal(err)
		}
	}
	// A clock that went back must not take the last call back with it.
	if err := s.AddMetrics(t.Context(), map[Ref]Metrics{ref: {Total: 1, Last: day.Add(-time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Metrics(t.Context(), []Key{k})
	want := map[Ref]Metrics{ref: {Total: 7, Failed: 3, Time: 3 * time.Second, Last: day}}
	if diff := cmp.Diff(want, got, byInstant); diff != "" || err != nil {
		t.Errorf("Metrics (-want +got):\n%s%v", diff, err)
	}
}

func TestVectors(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a, b := SpaceOf("model a", "1"), SpaceOf("model a", "2")
	if a == b {
		t.Fatal("the template's version must be part of the space")
	}
	texts := [][32]byte{{1}, {2}, {3}}
	vs := [][]byte{{1, 2}, {3, 4}}
	info := SpaceInfo{Key: a, Model: "model a", Template: "1", Dims: 2, Used: day}
	if err := s.PutVectors(t.Context(), info, texts[:2], vs); err != nil {
		t.Fatal(err)
	}
	got := make([][]byte, 3)
	damaged, err := s.Vectors(t.Context(), a, texts, func(i int, v []byte) { got[i] = bytes.Clone(v) })
	if diff := cmp.Diff([][]byte{{1, 2}, {3, 4}, nil}, got); diff != "" || err != nil || damaged != 0 {
		t.Errorf("Vectors: %d damaged, %v (-want +got):\n%s", damaged, err, diff)
	}
	if _, err := s.Vectors(t.Context(), b, texts, func(i int, v []byte) { t.Errorf("text %d has a vector in another space", i) }); err != nil {
		t.Error(err)
	}
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
	infos, err := s.Spaces(t.Context())
	if diff := cmp.Diff([]SpaceInfo{info}, infos, byInstant); diff != "" || err != nil {
		t.Errorf("Spaces (-want +got):\n%s%v", diff, err)
	}
}

func TestReplaceByDelta(t *testing.T) {
	s := open(t, t.TempDir())
	es := entries(5, "a")
	k := stock(t, s, "files", es)
	base := load(t, s, k).Generation
	next := append([]Entry(nil), es[:4]...)
	next[1] = changed(next[1])
	c := Change{
		Server: Server{Key: k, Name: "files"}, Base: base, Put: next[1:2], Gone: []ID{es[4].ID},
		All: func() []Entry { t.Error("the delta should have been enough"); return nil },
	}
	if _, missing, err := s.Replace(t.Context(), c); len(missing) > 0 || err != nil {
		t.Fatal(missing, err)
	}
	if diff := cmp.Diff(withoutRaw(next), load(t, s, k).Tools, byInstant); diff != "" {
		t.Errorf("after a delta (-want +got):\n%s", diff)
	}
	// Against another base all tools are compared; one without its object
	// must be there already.
	c.All = func() []Entry { return withoutRaw(es[:2]) }
	_, missing, err := s.Replace(t.Context(), c)
	if diff := cmp.Diff([]Ref{{k, es[1].ID}}, missing); diff != "" || err != nil {
		t.Errorf("missing (-want +got):\n%s%v", diff, err)
	}
	if got := load(t, s, k).Tools; len(got) != 2 || got[1].Head != "new head" {
		t.Errorf("after a whole change: %+v", got)
	}
}

func TestMaintain(t *testing.T) {
	s := open(t, t.TempDir())
	mine := stock(t, s, "mine", entries(2, ""))
	stock(t, s, "theirs", entries(2, ""))
	x, y := SpaceOf("x", ""), SpaceOf("y", "")
	for i, sp := range []Space{x, y} {
		info := SpaceInfo{Key: sp, Model: sp.String(), Dims: 1, Used: day}
		if err := s.PutVectors(t.Context(), info, [][32]byte{{byte(i)}}, [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
	}
	use := InUse{Servers: map[Key]bool{mine: true}, Spaces: map[Space]bool{x: true}}
	steps := []struct {
		now             time.Time
		servers, spaces int
	}{
		{day.Add(-400 * 24 * time.Hour), 2, 2}, // a clock that went back dates anew, once
		{day.Add(-399 * 24 * time.Hour), 2, 2},
		{day.Add(-392 * 24 * time.Hour), 2, 1},
		{day.Add(-369 * 24 * time.Hour), 1, 1},
	}
	for _, st := range steps {
		if err := s.Maintain(t.Context(), st.now, use); err != nil {
			t.Fatal(err)
		}
		svs, _, err := s.Servers(t.Context())
		sps, err2 := s.Spaces(t.Context())
		if len(svs) != st.servers || len(sps) != st.spaces || err != nil || err2 != nil {
			t.Errorf("at %v: %d servers, %d spaces, want %d, %d (%v, %v)", st.now, len(svs), len(sps), st.servers, st.spaces, err, err2)
		}
	}
}

func TestCollect(t *testing.T) {
	s := open(t, t.TempDir())
	es := entries(3, "")
	k := stock(t, s, "a", entries(9, ""))
	stock(t, s, "a", es)
	x := SpaceInfo{Key: SpaceOf("x", ""), Dims: 1}
	texts := [][32]byte{es[0].Texts[0], {1}, {2}, {3}}
	if err := s.PutVectors(t.Context(), x, texts, [][]byte{{1}, {1}, {1}, {1}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Collect(t.Context(), 5, nil); n != 0 || err != nil {
		t.Errorf("collected %d within the spare, %v", n, err)
	}
	if n, err := s.Collect(t.Context(), 0, nil); n != 3+6 || err != nil {
		t.Errorf("collected %d, %v; want the 3 vectors that no tool needs and the 6 dates without a tool", n, err)
	}
	left := 0
	_, err := s.Vectors(t.Context(), x.Key, texts, func(i int, _ []byte) { left += i + 1 })
	if left != 1 || err != nil {
		t.Errorf("vector of a stored tool is gone: %d, %v", left, err)
	}
	if got := load(t, s, k); len(got.Tools) != 3 || got.Dates > 0 {
		t.Errorf("%d tools, %d without their date", len(got.Tools), got.Dates)
	}
}

// TestCompact empties most of a file that is in use.
func TestCompact(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	stock(t, s, "a", large("a"))
	kept := stock(t, s, "b", entries(5, ""))
	before, err := s.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Compact(t.Context()); done || err != nil {
		t.Errorf("compacted a full file: %v, %v", done, err)
	}
	if err := s.Drop(t.Context(), []Key{s.Key("a", "source of a")}); err != nil {
		t.Fatal(err)
	}
	err = other.view(t.Context(), 0, func(*bbolt.Tx) error {
		if done, err := s.Compact(t.Context()); done || err != nil {
			t.Errorf("compacted under a reader: %v, %v", done, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Compact(t.Context()); !done || err != nil {
		t.Fatalf("Compact = %v, %v", done, err)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Size() > 1<<20 {
		t.Errorf("%d bytes left, %v", info.Size(), err)
	}
	after, err := other.Counters(t.Context())
	if err != nil || after.File != before.File {
		t.Errorf("counters %+v, then %+v, %v", before, after, err)
	}
	if got := load(t, other, kept); len(got.Tools) != 5 {
		t.Errorf("%d tools left", len(got.Tools))
	}
	stock(t, other, "b", entries(6, ""))
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "store.new*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBusy(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{WriteWait: 20 * time.Millisecond, ReadWait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(s.Path(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := s.AddMetrics(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("write beside a writer = %v, want ErrBusy", err)
	}
	if _, err := s.Counters(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("poll beside a writer = %v, want ErrBusy", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.o.WriteWait = time.Hour
	if err := s.AddMetrics(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled write = %v", err)
	}
}

func TestOpenRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "folder") {
			t.Errorf("Open(%s) = %v, want an error that names it and the way out", dir, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	es := entries(2, "")
	k := stock(t, open(t, dir), "a", es)
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t, s, k); len(got.Tools) != 2 {
		t.Errorf("%d tools read", len(got.Tools))
	}
	if err := s.AddMetrics(t.Context(), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("write = %v, want ErrReadOnly", err)
	}
	none := filepath.Join(t.TempDir(), "none")
	s, err = Open(none, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if all, _, err := s.Servers(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("a folder that does not exist holds %v, %v", all, err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("reading created the folder")
	}
}

func FuzzUnframe(f *testing.F) {
	f.Add(entries(1, "")[0].frame())
	f.Add(make([]byte, 17))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Entry
		head, ok := e.unframe(data)
		e.Head = string(head)
		if ok && string(e.frame()) != string(data) {
			t.Errorf("%x reads back as %x", data, e.frame())
		}
	})
}
