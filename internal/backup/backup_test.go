package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/index"
)

// folder is a state folder with a catalog and what else there may be.
func folder(t *testing.T) string {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	ix, err := index.Open(state, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tokens.json": `{"tokens":{}}`, "admin.key": "secret", "endpoints/one.json": `{}`, "endpoints/.two.tmp": "half"} {
		path := filepath.Join(state, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

func written(t *testing.T) (file string, m Manifest) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "a.backup")
	m, err := Write(t.Context(), folder(t), file, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return file, m
}

func TestBackup(t *testing.T) {
	file, m := written(t)
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "folder.key store.db tokens.json endpoints/one.json" {
		t.Errorf("it holds %s", got)
	}
	state := filepath.Join(t.TempDir(), "deep", "state")
	if _, aside, err := Restore(file, state, false); err != nil || aside != "" {
		t.Fatal(aside, err)
	}
	if text, err := os.ReadFile(filepath.Join(state, "tokens.json")); err != nil || string(text) != `{"tokens":{}}` {
		t.Errorf("tokens are %s, %v", text, err)
	}
	if _, _, err := Restore(file, state, false); !errors.Is(err, ErrOccupied) {
		t.Errorf("over a folder with something in it: %v", err)
	}
	release, err := Use(state)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Use(state) // several may
	if err != nil {
		t.Fatal(err)
	}
	again()
	if _, _, err := Restore(file, state, true); !errors.Is(err, ErrUsed) {
		t.Errorf("over a folder in use: %v", err)
	}
	release()
	if err := errors.Join(os.Mkdir(filepath.Join(state, "audit"), 0o700), os.WriteFile(filepath.Join(state, "audit", "key"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, aside, err := Restore(file, state, true)
	if err != nil || aside != state+".before-1" {
		t.Errorf("over one that nobody uses: %s, %v", aside, err)
	}
	for _, path := range []string{filepath.Join(aside, "store.db"), filepath.Join(state, "audit", "key")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := Write(t.Context(), state, file, "v1"); err != nil {
		t.Errorf("over an older backup: %v", err)
	}
	if _, err := Write(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "x"), "v1"); err == nil {
		t.Error("an empty folder was backed up")
	}
}

// A file that is foreign, cut, changed, or names what no backup has, changes
// nothing and is named; nor is one that is no backup written over.
func TestBadBackups(t *testing.T) {
	file, _ := written(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := unzipped(t, whole)
	for name, tt := range map[string]struct {
		text []byte
		want string
	}{
		"empty":            {nil, "no backup"},
		"a text":           {[]byte("mcpServers: {}\n"), "no backup"},
		"another archive":  {zipped(t, tarOf(t, "readme", "hello")), "no backup"},
		"another manifest": {zipped(t, tarOf(t, "manifest.json", `{"kind":"other"}`)), "no backup"},
		"a newer format":   {zipped(t, bytes.Replace(plain, []byte(`"format": 1`), []byte(`"format": 7`), 1)), "format 7, written by tooldex v1"},
		"a path outside":   {zipped(t, tarOf(t, "manifest.json", `{"kind":"tooldex state folder","format":1,"files":[{"name":"endpoints/../../x.json"}]}`)), "endpoints/../../x.json"},
		"a key":            {zipped(t, tarOf(t, "manifest.json", `{"kind":"tooldex state folder","format":1,"files":[{"name":"admin.key"}]}`)), "admin.key"},
		"cut":              {whole[:len(whole)-100], "cut or damaged"},
		"its end cut":      {whole[:len(whole)-4], "damaged"},
		"changed":          {zipped(t, bytes.Replace(plain, []byte(`{"tokens":{}}`), []byte(`{"tokens":[]}`), 1)), "tokens.json: it is damaged"},
	} {
		path := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(path, tt.text, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		_, _, err := Restore(path, filepath.Join(dir, "state"), false)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: it leaves %v, %v", name, left, err)
		}
	}
	notes := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(notes, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), folder(t), notes, "v1"); !errors.Is(err, ErrForeign) {
		t.Errorf("over another file: %v", err)
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "mine" {
		t.Errorf("which then holds %q, %v", text, err)
	}
}

func unzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
