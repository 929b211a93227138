package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// firstVector is one as format 1 has it: 1 and 0 as 32-bit floats.
var firstVector = []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0}

// stocked makes a store with something in every bucket and returns it with
// the key of its server.
func stocked(t testing.TB, dir string) (*Store, Key) {
	s := open(t, dir)
	es := entries(3, "")
	k := stock(t, s, "a", es)
	info := SpaceInfo{Key: SpaceOf("x", ""), Model: "x", Dims: 2, Used: day}
	var texts [][32]byte
	var refs = map[Ref]Metrics{}
	for _, e := range es {
		texts = append(texts, e.Texts[0])
		refs[Ref{k, e.ID}] = Metrics{Total: 1}
	}
	err := errors.Join(s.PutVectors(t.Context(), info, texts, [][]byte{firstVector, {0, 1}, {1, 1}}), s.AddMetrics(t.Context(), refs))
	if err != nil {
		t.Fatal(err)
	}
	return s, k
}

// rewrite changes stored values behind the store's back.
func rewrite(t testing.TB, path string, fn func(bucket string, k, v []byte) []byte) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			b := tx.Bucket([]byte(name))
			type pair struct{ k, v []byte }
			var all []pair
			c := b.Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				all = append(all, pair{bytes.Clone(k), bytes.Clone(v)})
			}
			for _, p := range all {
				if err := b.Put(p.k, fn(name, p.k, p.v)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// flipIn flips one random bit in every value of a bucket whose key begins
// with prefix.
func flipIn(t testing.TB, path, in, prefix string) (flipped int) {
	rewrite(t, path, func(name string, k, v []byte) []byte {
		if name == in && strings.HasPrefix(string(k), prefix) {
			v[rand.IntN(len(v))] ^= 1 << rand.IntN(8)
			flipped++
		}
		return v
	})
	return flipped
}

func TestFlippedValues(t *testing.T) {
	tests := []struct {
		bucket, prefix string
		noted          string // in the notes after everything was read
	}{
		{"meta", "format", "format's record is damaged"},
		{"meta", "id", ""},
		{"meta", "generation", ""},
		{"meta", "recorded", ""},
		{"meta", "space/", ""},
		{"servers", "", "record of a server is damaged"},
		{"tools", "h", "3 tools of server \"a\" are damaged"},
		{"tools", "r", ""},
		{"tools", "f", ""},
		{"metrics", "", "metrics of tool"},
		{"vectors", "", "vectors are damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.bucket+" "+tt.prefix, func(t *testing.T) {
			dir := t.TempDir()
			s, k := stocked(t, dir)
			if flipIn(t, s.Path(), tt.bucket, tt.prefix) == 0 {
				t.Fatal("nothing was flipped")
			}
			if found, err := Check(dir); len(found) == 0 || err != nil {
				t.Errorf("Check found %q, %v", found, err)
			}
			s = open(t, dir)
			readAll(t, s, k)
			if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, tt.noted) {
				t.Errorf("notes %q do not tell %q", notes, tt.noted)
			}
			mended(t, s, k)
		})
	}
}

// readAll reads everything; what is damaged may be missing but never wrong.
func readAll(t *testing.T, s *Store, k Key) {
	t.Helper()
	want := make(map[ID]Entry)
	for _, e := range entries(3, "") {
		want[e.ID] = e
	}
	for _, e := range load(t, s, k).Tools {
		w := want[e.ID]
		if e.Head != w.Head {
			t.Errorf("tool %x reads as %q", e.ID, e.Head)
		}
		if raw, err := s.Raw(t.Context(), k, e.ID); raw != nil && !bytes.Equal(raw, w.Raw) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("tool %x has object %q, %v", e.ID, raw, err)
		}
	}
	all, err := s.Metrics(t.Context(), []Key{k})
	for ref, m := range all {
		if m.Total != 1 {
			t.Errorf("metrics of %x: %+v", ref.ID, m)
		}
	}
	_, err2 := s.Vectors(t.Context(), SpaceOf("x", ""), [][32]byte{entries(3, "")[0].Texts[0]}, func(_ int, v []byte) {
		if !bytes.Equal(v, firstVector) {
			t.Errorf("vector reads as %v", v)
		}
	})
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
}

// mended lists the server again and finds everything whole.
func mended(t *testing.T, s *Store, k Key) {
	t.Helper()
	before, _ := s.Counters(t.Context())
	stock(t, s, "a", entries(3, ""))
	after, err := s.Counters(t.Context())
	if after.Generation <= before.Generation || err != nil {
		t.Errorf("generation went from %d to %d, %v", before.Generation, after.Generation, err)
	}
	got := load(t, s, k)
	if len(got.Tools) != 3 || len(got.Lost) != 0 || got.Damaged {
		t.Errorf("after listing again: %+v", got)
	}
	for _, e := range got.Tools {
		if raw, err := s.Raw(t.Context(), k, e.ID); raw == nil || err != nil {
			t.Errorf("after listing again tool %x has object %q, %v", e.ID, raw, err)
		}
	}
}

func TestUnreadableFileMovesAside(t *testing.T) {
	damage := map[string]func(data []byte) []byte{
		"truncated to half":                    func(d []byte) []byte { return d[:len(d)/2] },
		"truncated to a page":                  func(d []byte) []byte { return d[:os.Getpagesize()] },
		"truncated to nothing but a few bytes": func(d []byte) []byte { return d[:10] },
		"no database":                          func(d []byte) []byte { return []byte(strings.Repeat("not a database ", 5000)) },
		"metas zeroed": func(d []byte) []byte {
			clear(d[:2*os.Getpagesize()])
			return d
		},
		"all but metas zeroed": func(d []byte) []byte {
			clear(d[2*os.Getpagesize():])
			return d
		},
		"empty": func(d []byte) []byte { return nil },
	}
	for name, fn := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, k := stocked(t, dir)
			data, err := os.ReadFile(s.Path())
			if err != nil {
				t.Fatal(err)
			}
			bad := fn(data)
			if err := os.WriteFile(s.Path(), bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if found, err := Check(dir); len(found) == 0 || err != nil {
				t.Errorf("Check found %q, %v", found, err)
			}
			s = open(t, dir)
			if s.Key("a", "source of a") != k {
				t.Error("the folder's key was lost with the store")
			}
			stock(t, s, "a", entries(3, ""))
			if got := load(t, s, k); len(got.Tools) != 3 {
				t.Errorf("%d tools after listing again", len(got.Tools))
			}
			aside, err := os.ReadFile(filepath.Join(dir, "store.damaged-1"))
			if err != nil || !bytes.Equal(aside, bad) {
				t.Errorf("the damaged file was not kept: %v", err)
			}
			if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, "first-seen dates are lost") {
				t.Errorf("the loss is not told: %q", notes)
			}
		})
	}
}

// TestFlippedBits flips bits anywhere in the file. Whatever they hit, what is
// read is right or missing, and the store can be written afterwards.
func TestFlippedBits(t *testing.T) {
	if raceDetector {
		t.Skip("the detector also checks pointers, and ends the process at a damaged page of bbolt's where else a panic is caught")
	}
	dir := t.TempDir()
	s, k := stocked(t, dir)
	good, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "folder.key"))
	if err != nil {
		t.Fatal(err)
	}
	// The seed is fixed because bbolt's pages carry no checksum: about one
	// flip in 10,000 makes a circle of pages that ends the process.
	r := rand.New(rand.NewPCG(1, 0))
	for range 60 {
		bad := bytes.Clone(good)
		for range 1 + r.IntN(3) {
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		}
		dir := t.TempDir()
		err := errors.Join(os.WriteFile(filepath.Join(dir, "store.db"), bad, 0o600), os.WriteFile(filepath.Join(dir, "folder.key"), key, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		survive(t, dir, k)
	}
}

// survive reads what can be read and lists the server again. What is broken
// then is known to Check, and whole once the file is moved aside.
func survive(t *testing.T, dir string, k Key) {
	t.Helper()
	if found, err := Check(dir); err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
	s, err := Open(dir, Options{})
	if errors.Is(err, ErrNewer) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Replace(t.Context(), whole(Server{Key: k, Name: "a"}, entries(3, "")))
	if err == nil && complete(t, s, k) {
		return
	}
	if found, err := Check(dir); len(found) == 0 || err != nil {
		t.Errorf("Replace: %v, or tools are missing, and Check finds %q", err, found)
	}
	if _, err := MoveAside(dir); err != nil {
		t.Fatal(err)
	}
	mended(t, open(t, dir), k)
}

// complete says whether every tool of the server is there; one that is there and
// differs is an error.
func complete(t *testing.T, s *Store, k Key) bool {
	t.Helper()
	loaded, _, err := s.Load(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := 0
	for _, sv := range loaded {
		if sv.Key != k {
			continue
		}
		for _, e := range sv.Tools {
			if raw, err := s.Raw(t.Context(), k, e.ID); raw != nil && err == nil {
				tools++
			}
		}
		readAll(t, s, k)
	}
	return tools == 3
}

func TestDamagedFolderKey(t *testing.T) {
	dir := t.TempDir()
	_, k := stocked(t, dir)
	path := filepath.Join(dir, "folder.key")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if s.Key("a", "source of a") == k || len(s.Notes()) != 1 {
		t.Errorf("notes %q", s.Notes())
	}
	if again := open(t, dir); again.Key("a", "") != s.Key("a", "") {
		t.Error("the new key was not kept")
	}
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	stocked(t, dir)
	setFormat(t, filepath.Join(dir, "store.db"), Format+1)
	before, _ := os.ReadFile(filepath.Join(dir, "store.db"))
	s, err := Open(dir, Options{})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "update tooldex") {
		t.Fatalf("Open = %v", err)
	}
	if err := s.AddMetrics(t.Context(), nil); !errors.Is(err, ErrNewer) {
		t.Errorf("write = %v, want ErrNewer", err)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, "store.db")); !bytes.Equal(before, after) {
		t.Error("the newer file was changed")
	}
}

func setFormat(t *testing.T, path string, format uint32) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bbolt.Tx) error {
		return in(tx, "meta").put([]byte("format"), binary.LittleEndian.AppendUint32(nil, format))
	}); err != nil {
		t.Fatal(err)
	}
}

// TestUpgrade opens testdata/v1.db, written by this package at format 1, as a
// package of format 3 would.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/v1.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "store.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	fails := true
	steps := map[int]upgrade{
		1: func(tx *bbolt.Tx) error { return in(tx, "meta").put([]byte("step"), []byte{1}) },
		2: func(tx *bbolt.Tx) error {
			if fails {
				return errors.New("no")
			}
			p, _ := in(tx, "meta").get([]byte("step"))
			return in(tx, "meta").put([]byte("step"), append(bytes.Clone(p), 2))
		},
	}
	if _, err := Open(dir, Options{format: 3, upgrades: steps}); err == nil || !strings.Contains(err.Error(), "upgrade from format 2: no") {
		t.Fatalf("a failing upgrade gives %v", err)
	}
	if s, err := Open(dir, Options{format: 1}); err != nil || len(s.Notes()) > 0 {
		t.Fatalf("a failed upgrade must leave format 1: %v", err)
	}
	fails = false
	s, err := Open(dir, Options{format: 3, upgrades: steps})
	if err != nil {
		t.Fatal(err)
	}
	loaded, _, err := s.Load(t.Context(), nil, nil)
	if err != nil || len(loaded) != 1 || len(loaded[0].Tools) != 3 {
		t.Fatalf("after the upgrade: %+v, %v", loaded, err)
	}
	_ = s.view(t.Context(), 0, func(tx *bbolt.Tx) error {
		if p, _ := in(tx, "meta").get([]byte("step")); !bytes.Equal(p, []byte{1, 2}) {
			t.Errorf("steps ran as %v", p)
		}
		return nil
	})
	if bak, err := os.ReadFile(filepath.Join(dir, "store.v1.bak")); err != nil || len(bak) < len(data)/2 {
		t.Errorf("no copy of the old file: %v", err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewer) {
		t.Errorf("the older package opens it: %v", err)
	}
}

// TestFormat1 opens the fixture as the package of today.
func TestFormat1(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/v1.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "store.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if all, _, err := reader.Servers(t.Context()); len(all) != 1 || err != nil {
		t.Errorf("only read, it has %v, %v", all, err)
	}
	s := open(t, dir)
	all, _, err := s.Servers(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Fatalf("Servers = %+v, %v", all, err)
	}
	readAll(t, s, all[0].Key)
	err = s.view(t.Context(), 0, func(tx *bbolt.Tx) error {
		if b := tx.Bucket([]byte(emptyBucket)); b == nil || b.Stats().KeyN > 0 {
			t.Errorf("%+v: a package of format 1 takes the file for damaged", b)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if found, err := Check(dir); len(found) > 0 || err != nil {
		t.Errorf("Check: %q, %v", found, err)
	}
}
