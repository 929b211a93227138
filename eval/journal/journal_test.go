package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/eval/journal"
)

func TestGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	j, values, err := journal.Open(path, "this")
	if err != nil || len(values) != 0 {
		t.Fatalf("a new file: %v, %v", values, err)
	}
	want := map[string][][]float64{"a": {{1, .5}, {2}}, "b": {{3}}}
	for _, k := range []string{"a", "b"} {
		if err := j.Keep(k, want[k]); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A crash may cut the file at any byte: what was whole is there, and what
	// is appended afterwards is read back.
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		j, values, err := journal.Open(path, "this")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if n := max(0, bytes.Count(whole[:cut], []byte("\n"))-1); len(values) != n {
			t.Fatalf("cut at %d: %d values, want %d", cut, len(values), n)
		}
		for _, k := range []string{"a", "b"} {
			if err := j.Keep(k, want[k]); err != nil {
				t.Fatal(err)
			}
		}
		j.Close()
		j, values, err = journal.Open(path, "this")
		if diff := cmp.Diff(want, values); err != nil || diff != "" {
			t.Fatalf("cut at %d, filled up: %v\n%s", cut, err, diff)
		}
		j.Close()
	}
}

func TestRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	j, _, err := journal.Open(path, "this")
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
	if _, _, err := journal.Open(path, "that"); err == nil || !strings.Contains(err.Error(), path+": it belongs to other sets") {
		t.Errorf("a file of another problem: %v", err)
	}
	if err := os.WriteFile(path, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := journal.Open(path, "this"); err == nil || !strings.Contains(err.Error(), "not a state file") {
		t.Errorf("another file: %v", err)
	}
}
