package index

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestAnalysesFile opens a large catalog with the file, with a damaged one
// and with none, and finds the same.
func TestAnalysesFile(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{})
	if _, err := ix.ReplaceAll(t.Context(), catalogOf(savedFrom)); err != nil {
		t.Fatal(err)
	}
	want := dumped(t, ix)
	path := ix.analysesPath()
	closeIndex(t, ix)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file  []byte
		sound bool
	}{
		"whole": {good, true},
		"bit":   {flipped(good, len(good)/3), false},
		"cut":   {good[:len(good)-9], false},
		"empty": {nil, false},
		"other": {append(append([]byte(analysesMagic), 0, 0, 0, 0), good[12:]...), true},
	}
	for name, tt := range tests {
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := Check(dir); err != nil || (len(found) == 0) != tt.sound {
			t.Errorf("%s: Check = %+v, %v", name, found, err)
		}
		ix := openDir(t, dir, Options{})
		if got := dumped(t, ix); !bytes.Equal(got, want) {
			t.Errorf("%s: the catalog differs", name)
		}
		if used := ix.unsaved == 0; used != (name == "whole") {
			t.Errorf("%s: %d documents made without the file", name, ix.unsaved)
		}
		closeIndex(t, ix)
		if again, err := os.ReadFile(path); err != nil || verifyAnalyses(path) != nil || len(again) == 0 {
			t.Errorf("%s: the file was not written again: %v", name, err)
		}
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

// FuzzAnalyses reads files whose checksums hold.
func FuzzAnalyses(f *testing.F) {
	ix := newIndex(f, Options{}, nil)
	for i := range 3 {
		replace(f, ix, fmt.Sprint("s", i), tool("a", "first"), tool("b_c", "second thing"))
	}
	var file bytes.Buffer
	if err := ix.writeAnalyses(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes()[:file.Len()-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "analyses")
		if err := os.WriteFile(path, resealed(append(body, 0, 0, 0, 0)), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := openAnalyses(path)
		if err != nil {
			return
		}
		lex, err := a.read()
		if err != nil {
			return
		}
		terms := lex.View()
		for sum := range a.place {
			found, _ := a.find(sum)
			for _, id := range found.terms.Terms {
				_ = terms.Term(id)
			}
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add(encodeHead(&Tool{Server: "s", Name: "n", Tags: []string{"t"}, Examples: []Example{{"d", []byte("{}")}}, Hidden: true}))
	f.Fuzz(func(t *testing.T, data string) {
		tool, err := decodeHead(data)
		if err != nil {
			return
		}
		again, err := decodeHead(encodeHead(&tool))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(tool) {
			t.Errorf("%+v reads back as %+v, %v", tool, again, err)
		}
	})
}
