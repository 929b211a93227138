package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// TestVectorsFile opens a large catalog with the file, with a damaged one,
// with that of another store and with none, and finds the same vectors.
func TestVectorsFile(t *testing.T) {
	dir := t.TempDir()
	o := Options{Embedder: hashEmbedder{}}
	ix := openDir(t, dir, o)
	tools := catalogOf(savedFrom)
	if _, err := ix.ReplaceAll(t.Context(), tools); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	want := bytes.Clone(rowsOf(t, ix))
	path := ix.vectorsPath(ix.models.desired)
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
		"version": {append(append([]byte(vectorsMagic), 0, 0, 0, 0), good[12:]...), true, false},
		"store":   {resealed(flipped(good, 12)), true, false},
		"space":   {resealed(flipped(good, 20)), true, false},
	}
	for name, tt := range tests {
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := Check(dir); err != nil || (len(found) == 0) != tt.sound {
			t.Errorf("%s: Check = %+v, %v", name, found, err)
		}
		ix := openDir(t, dir, o)
		if got := rowsOf(t, ix); !bytes.Equal(got, want) {
			t.Errorf("%s: the vectors differ", name)
		}
		if used := ix.models.desired.unsaved == 0; used != tt.used {
			t.Errorf("%s: %d vectors were not in the file", name, ix.models.desired.unsaved)
		}
		closeIndex(t, ix)
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, good) {
			t.Errorf("%s: the file was not written again: %v", name, err)
		}
	}
}

// resealed gives a flat file the checksum of what it has.
func resealed(data []byte) []byte {
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, flatTable))
}

// rowsOf are the bytes of the serving vectors in the order of the tools.
func rowsOf(t *testing.T, ix *Index) []byte {
	t.Helper()
	s := ix.snapshot()
	if len(s.spaces) == 0 || s.spaces[0].rows.Rows() != len(s.docs) {
		t.Fatal("there are no vectors at once")
	}
	var out []byte
	for i := range s.docs {
		var err error
		if out, err = binary.Append(out, binary.LittleEndian, s.spaces[0].rows.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestVectorsFileIsBehind opens a catalog that has changed since its file was
// written: what the file lacks comes from the store.
func TestVectorsFileIsBehind(t *testing.T) {
	dir := t.TempDir()
	o := Options{Embedder: hashEmbedder{}}
	ix := openDir(t, dir, o)
	tools := catalogOf(savedFrom)
	if _, err := ix.ReplaceAll(t.Context(), tools); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	closeIndex(t, ix)
	before, err := os.ReadFile(filepath.Join(dir, filepath.Base(ix.vectorsPath(ix.models.desired))))
	if err != nil {
		t.Fatal(err)
	}

	ix = openDir(t, dir, o)
	list := tools["server-3"]
	list[4].Description, list[5].Description = "another one", "another one"
	list[5].Name = list[4].Name
	list = append(list[:7], list[9:]...)
	if _, err := ix.Replace(t.Context(), "server-3", list); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	want := bytes.Clone(rowsOf(t, ix))
	path := ix.vectorsPath(ix.models.desired)
	closeIndex(t, ix)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the file was written for three tools: %v", err)
	}

	ix = openDir(t, dir, o)
	if got := rowsOf(t, ix); !bytes.Equal(got, want) {
		t.Error("the vectors differ")
	}
	if n := ix.models.desired.unsaved; n != 1 {
		t.Errorf("%d vectors were not in the file, want 1", n)
	}
}

func FuzzVectors(f *testing.F) {
	saved := savedVectors{store: 7, texts: make([][32]byte, 2)}
	saved.rows.Dims, saved.rows.Data = 3, []float32{1, 0, 0, 0, 1, 0}
	var file bytes.Buffer
	if err := saved.write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes()[:file.Len()-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "vectors")
		if err := os.WriteFile(path, resealed(append(body, 0, 0, 0, 0)), 0o600); err != nil {
			t.Fatal(err)
		}
		if read, err := readVectors(path); err == nil && len(read.known) > read.rows.Rows() {
			t.Errorf("%d texts of %d rows", len(read.known), read.rows.Rows())
		}
	})
}
