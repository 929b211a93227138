package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"first", "second, longer", ""} {
		if err := Write(path, text(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	leftovers(t, path)
}

func TestWriteKeepsTheOldFileOnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error {
		return errors.Join(text("half")(w), boom)
	})
	if !errors.Is(err, boom) {
		t.Errorf("got error %v, want boom", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("got %q, %v, want the old text", got, err)
	}
	leftovers(t, path)
}

func TestWriteWithoutFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "file")
	if err := Write(path, text("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}

func TestWriteOverFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(path, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, text("x")); err == nil {
		t.Error("replaced a folder")
	}
	leftovers(t, path)
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, text("x")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(path); err != nil {
		t.Error(err)
	}
	if err := Remove(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed again: %v", err)
	}
}

func leftovers(t *testing.T, path string) {
	t.Helper()
	if found, err := filepath.Glob(Pattern(path)); err != nil || len(found) > 0 {
		t.Errorf("left %v behind (%v)", found, err)
	}
}
