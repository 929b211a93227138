package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// newestCopies is how many copies of a file are kept beside the first one.
const newestCopies = 5

// A keptCopy is a copy that Keep has made. One that is not what it was then is
// somebody else's by now.
type keptCopy struct {
	Path string `json:"path"`
	Hash string `json:"hash"` // of its text
}

// Keep writes a copy of the file beside it, path.bak, path.bak.1 …, unless one
// of them holds the same, and returns its name; "" where there is no file. Of
// the copies that it has made the first and the newest stay.
func (f *File) Keep() (string, error) {
	if !f.Exists() {
		return "", nil
	}
	unlock, err := f.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	note, err := f.note("copies")
	if err != nil {
		return "", err
	}
	made, err := readCopies(note)
	if err != nil {
		return "", err
	}
	path, isNew, err := f.copy()
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(made, func(c keptCopy) bool { return c.Path == path }); i > 0 {
		again := made[i]
		made = append(slices.Delete(made, i, i+1), again)
	} else if i < 0 && isNew {
		made = append(made, keptCopy{Path: path, Hash: hash(f.Text)})
	}
	for len(made) > 1+newestCopies {
		if err := made[1].remove(); err != nil {
			return "", err
		}
		made = slices.Delete(made, 1, 2)
	}
	return path, atomicfile.Write(note, func(w io.Writer) error { return json.NewEncoder(w).Encode(made) })
}

// copy writes the file's text beside it, under a number after all that are
// there, unless one of them holds the same.
func (f *File) copy() (path string, isNew bool, err error) {
	next := 0
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil {
		return "", false, err
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(f.Path)+".bak")
		n := 0
		if rest != "" {
			n, err = strconv.Atoi(strings.TrimPrefix(rest, "."))
			ok = ok && err == nil && rest == "."+strconv.Itoa(n)
		}
		if !ok {
			continue
		}
		path := filepath.Join(filepath.Dir(f.Path), e.Name())
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, f.Text) {
			return path, false, nil // switching something on and off needs two copies, not many
		}
		next = max(next, n+1)
	}
	path = f.Path + ".bak"
	if next > 0 {
		path += "." + strconv.Itoa(next)
	}
	return path, true, WriteNew(path, f.Text)
}

// readCopies reads what Keep has noted. A note that cannot be read says of no
// copy that it may go.
func readCopies(note string) ([]keptCopy, error) {
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var made []keptCopy
	if json.Unmarshal(text, &made) != nil {
		return nil, nil
	}
	return made, nil
}

// remove removes the copy, if it is still as it was made.
func (c keptCopy) remove() error {
	text, err := os.ReadFile(c.Path)
	if err != nil || hash(text) != c.Hash {
		return nil // gone, or not ours
	}
	return os.Remove(c.Path)
}

func hash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
