package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/tooldex/tooldex/index/check"
	"github.com/tooldex/tooldex/index/derived"
)

// A view is all that a catalog answers, in a form that shows every bit.
type catalogView struct{ dump, found, rows string }

var generationInDump = regexp.MustCompile(`"generation": ?\d+`)

func viewOf(t *testing.T, ix *Index) catalogView {
	t.Helper()
	var dump bytes.Buffer
	if err := ix.Dump(&dump); err != nil {
		t.Fatal(err)
	}
	var found bytes.Buffer
	s := ix.snapshot()
	for i := 0; i < len(s.Docs()); i += 1 + len(s.Docs())/20 {
		for _, mode := range []Mode{Hybrid, Keyword} {
			r, err := ix.Search(t.Context(), Query{Text: s.Docs()[i].Tool.Description, Mode: mode, Limit: 30})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				fmt.Fprintf(&found, "%s %x\n", h.ID, h.Score)
			}
		}
	}
	return catalogView{generationInDump.ReplaceAllString(dump.String(), ""), found.String(), string(rowsOf(t, ix))}
}

func (v catalogView) check(t *testing.T, what string, want catalogView) {
	t.Helper()
	if v.dump != want.dump {
		t.Errorf("%s: the terms differ", what)
	}
	if v.found != want.found {
		t.Errorf("%s: searches find others or score otherwise", what)
	}
	if v.rows != want.rows {
		t.Errorf("%s: the vectors differ", what)
	}
}

// rowsOf are the bytes of the serving vectors in the order of the tools.
func rowsOf(t *testing.T, ix *Index) []byte {
	t.Helper()
	s := ix.snapshot()
	if s.Serving() == nil || s.Serving().Rows().Rows() != len(s.Docs()) {
		t.Fatal("there are no vectors at once")
	}
	var out []byte
	for i := range s.Docs() {
		code := s.Serving().Rows().Row(i)
		out = fmt.Append(out, code.Scale, code.Numbers)
	}
	return out
}

// TestDerivedFile opens a catalog with the file, with a damaged one and with
// that of another store, and finds the same to the bit; likewise a catalog
// that is made of the same tools in another order.
func TestDerivedFile(t *testing.T) {
	dir := t.TempDir()
	o := Options{Embedder: hashEmbedder{}, Pack: &knowing{}}
	ix := openDir(t, dir, o)
	tools := catalogOf(500)
	for name, list := range tools { // one after the other, some twice
		for _, part := range [][]Tool{list[:len(list)/2], list} {
			if _, err := ix.Replace(t.Context(), name, part); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait(t, ix)
	want := viewOf(t, ix)
	path := ix.folder.DerivedPath()
	closeIndex(t, ix)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file        []byte
		sound, used bool
	}{
		"whole":   {good, true, true},
		"bit":     {flipped(good, len(good)/3), false, false},
		"cut":     {good[:len(good)-9], false, false},
		"empty":   {nil, false, false},
		"version": {append(append([]byte("TDXDERIV"), 0, 0, 0, 0), good[12:]...), true, false},
		"store":   {resealed(flipped(good, 18)), true, true},
	}
	for name, tt := range tests {
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := check.Folder(dir); err != nil || (len(found) == 0) != tt.sound {
			t.Errorf("%s: Check = %+v, %v", name, found, err)
		}
		ix := openDir(t, dir, o)
		// Before anything that takes long: the index writes the file by itself.
		_, documents := ix.catalog.Unsaved()
		vectors := ix.spaces.Unsaved()
		viewOf(t, ix).check(t, name, want)
		if used := documents == 0 && vectors == 0; used != tt.used {
			t.Errorf("%s: %d documents, %d vectors are not in the file", name, documents, vectors)
		}
		closeIndex(t, ix)
		if derived.Verify(path) != nil {
			t.Errorf("%s: the file was not written again", name)
		}
	}

	rebuilt := openDir(t, t.TempDir(), o)
	if _, err := rebuilt.ReplaceAll(t.Context(), tools); err != nil {
		t.Fatal(err)
	}
	wait(t, rebuilt)
	viewOf(t, rebuilt).check(t, "rebuilt", want)
}

// TestDerivedIsBehind opens a catalog that has changed since its file was
// written: what the file lacks comes from the store.
func TestDerivedIsBehind(t *testing.T) {
	dir := t.TempDir()
	o := Options{Embedder: hashEmbedder{}}
	ix := openDir(t, dir, o)
	tools := catalogOf(1000)
	if _, err := ix.ReplaceAll(t.Context(), tools); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	path := ix.folder.DerivedPath()
	closeIndex(t, ix)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	ix = openDir(t, dir, o)
	list := slices.Clone(tools["server-3"])
	list[4].Description, list[4].Raw = "another one", json.RawMessage(`{"name":"n","description":"another one"}`)
	list = append(list[:7], list[9:]...)
	if _, err := ix.Replace(t.Context(), "server-3", list); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	want := viewOf(t, ix)
	closeIndex(t, ix)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the file was written for one tool: %v", err)
	}

	ix = openDir(t, dir, o)
	viewOf(t, ix).check(t, "behind", want)
	if _, n := ix.catalog.Unsaved(); n != 1 || ix.spaces.Unsaved() != 1 {
		t.Errorf("%d documents, %d vectors were not in the file, want 1 of each", n, ix.spaces.Unsaved())
	}
}

// TestFolderOfFormat1 opens testdata/v1, a folder as the format before left
// it.
func TestFolderOfFormat1(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/v1")); err != nil {
		t.Fatal(err)
	}
	e := newTestEmbedder("m", 8)
	ix := openDir(t, dir, Options{Embedder: e})
	known := ids(ix)
	if len(known) != 3 || len(ix.Status().Problem) > 0 {
		t.Fatalf("tools %v, problem %q", known, ix.Status().Problem)
	}
	if m := ix.Metrics(known["files/read_file"]); m.Total != 1 {
		t.Errorf("metrics %+v", m)
	}
	h, _ := ix.Get(known["web/search"])
	if first := h.Tool.FirstSeen; first.Year() != 2026 || first.Month() != 11 || first.Day() != 22 {
		t.Errorf("first seen %v", first)
	}
	if raw, err := ix.Raw(known["web/search"]); err != nil || !bytes.Contains(raw, []byte("Search the web")) {
		t.Errorf("Raw = %s, %v", raw, err)
	}
	wait(t, ix)
	if len(e.embedded) > 0 {
		t.Errorf("vectors were made again of %q", e.embedded)
	}
	if _, err := os.Stat(filepath.Join(dir, "store.v1.bak")); err != nil {
		t.Error(err)
	}
}

func flipped(data []byte, at int) []byte {
	out := bytes.Clone(data)
	out[at] ^= 16
	return out
}

func dumped(t *testing.T, ix *Index) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ix.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// resealed gives a flat file the checksum of what it has.
func resealed(data []byte) []byte {
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}
