// Package stored keeps the endpoints that were made at run time, in a folder
// that several processes share.
//
// Each endpoint is a file of its own, so that damage to one concerns no other.
// It is replaced whole or not at all, is on the disk when a method returns, and
// is only changed under a lock of the folder, by whoever knows the version that
// is there. Its name is the endpoint's with capital letters written as %41, as
// some systems tell no capitals apart. Its text is one JSON object:
//
//	{"format": 1, "created": "2026-11-23T09:00:00Z", "changed": "…", "endpoint": {"surface": "meta", …}}
//
// The package knows nothing of what an endpoint's definition means.
package stored

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/atomicfile"
)

var (
	// ErrNone reports an endpoint that is not there.
	ErrNone = errors.New("there is no such endpoint")
	// ErrExists reports an endpoint that is there already.
	ErrExists = errors.New("the endpoint is there already")
	// ErrChanged reports an endpoint of another version than the caller knows.
	ErrChanged = errors.New("the endpoint has changed meanwhile")
)

// AnyVersion is the tag that every version of an endpoint has.
const AnyVersion = "*"

// formatVersion 1 is the first; readers refuse every other.
const formatVersion = 1

// maxFile bounds a file: what made it was bounded by less.
const maxFile = 4 << 20

// An Entry is one endpoint as it is kept.
type Entry struct {
	Name       string
	Definition json.RawMessage // an object; nil where Problem says why
	Created    time.Time
	Changed    time.Time
	Tag        string // of this version: another one has another
	File       string // where it is
	Problem    error  // why the file cannot be used, nil when it can
}

// A Folder keeps endpoints. The zero value is of no use; it is safe for
// concurrent use by several goroutines and processes.
type Folder struct {
	dir string
	// written is called between the writing of a file and its renaming.
	written func()
}

// In is the folder of a state folder. It need not exist.
func In(state string) *Folder {
	return &Folder{dir: filepath.Join(state, "endpoints"), written: func() {}}
}

// prefix and suffix stand around an endpoint's name: on Windows no file can be
// called con.json.
const prefix, suffix = "endpoint-", ".json"

func (f *Folder) file(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789._-", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return filepath.Join(f.dir, prefix+b.String()+suffix)
}

// nameOf is the endpoint that a file is of.
func nameOf(file string) (string, bool) {
	base, ok := strings.CutPrefix(file, prefix)
	if !ok {
		return "", false
	}
	if base, ok = strings.CutSuffix(base, suffix); !ok {
		return "", false
	}
	name, err := url.PathUnescape(base)
	return name, err == nil
}

// All are the endpoints in order of name, those that cannot be used among
// them. The error is about the folder.
func (f *Folder) All() ([]Entry, error) {
	files, err := os.ReadDir(f.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stored endpoints: %w", err)
	}
	var out []Entry
	for _, file := range files {
		name, ok := nameOf(file.Name())
		if !ok {
			continue
		}
		if e, err := f.Get(name); err == nil { // else it has just been removed
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Get reads one endpoint; ErrNone when there is none. A file that cannot be
// used is an Entry with a Problem.
func (f *Folder) Get(name string) (Entry, error) {
	e := Entry{Name: name, File: f.file(name)}
	text, err := readBounded(e.File)
	if errors.Is(err, os.ErrNotExist) {
		return e, ErrNone
	}
	sum := sha256.Sum256(text)
	e.Tag = hex.EncodeToString(sum[:12])
	if err == nil {
		err = e.decode(text)
	}
	if err != nil {
		e.Definition, e.Problem = nil, fmt.Errorf("file %s: %w", e.File, plainCause(err))
	}
	return e, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has more than %d MB", maxFile>>20)
	}
	return text, err
}

// plainCause is a file error without the path, which stands already.
func plainCause(err error) error {
	if pe := new(os.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// kept is the text of a file.
type kept struct {
	Format   int             `json:"format"`
	Created  time.Time       `json:"created"`
	Changed  time.Time       `json:"changed"`
	Endpoint json.RawMessage `json:"endpoint"`
}

func (e *Entry) decode(text []byte) error {
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	switch {
	case k.Format != formatVersion:
		return fmt.Errorf("its format is %d, and this version knows %d", k.Format, formatVersion)
	case !bytes.HasPrefix(k.Endpoint, []byte("{")):
		return errors.New("it is damaged: it has no endpoint")
	}
	e.Definition, e.Created, e.Changed = k.Endpoint, k.Created, k.Changed
	return nil
}

// Create keeps a new endpoint; ErrExists when there is one of that name.
func (f *Folder) Create(name string, definition json.RawMessage) (Entry, error) {
	return f.put(name, definition, func(_ Entry, err error) error {
		if err == nil {
			return ErrExists
		}
		return nil
	})
}

// Replace keeps another version of the endpoint whose tag the caller knows:
// ErrChanged when it has another one by now, ErrNone when it is gone.
func (f *Folder) Replace(name string, definition json.RawMessage, tag string) (Entry, error) {
	return f.put(name, definition, func(was Entry, err error) error { return matches(was, err, tag) })
}

func matches(was Entry, err error, tag string) error {
	if err == nil && tag != AnyVersion && tag != was.Tag {
		return ErrChanged
	}
	return err
}

func (f *Folder) put(name string, definition json.RawMessage, allowed func(was Entry, err error) error) (Entry, error) {
	var out Entry
	err := f.locked(func() error {
		was, err := f.Get(name)
		if err := allowed(was, err); err != nil {
			return err
		}
		k := kept{Format: formatVersion, Created: was.Created, Changed: time.Now().UTC(), Endpoint: definition}
		if k.Created.IsZero() {
			k.Created = k.Changed
		}
		if err := f.write(f.file(name), k); err != nil {
			return fmt.Errorf("keep endpoint %s: %w", name, err)
		}
		out, err = f.Get(name)
		return err
	})
	return out, err
}

func (f *Folder) write(path string, k kept) error {
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		defer f.written()
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// Delete removes the endpoint whose tag the caller knows: see Replace.
func (f *Folder) Delete(name, tag string) error {
	return f.locked(func() error {
		was, err := f.Get(name)
		if err := matches(was, err, tag); err != nil {
			return err
		}
		if err := atomicfile.Remove(f.file(name)); err != nil {
			return fmt.Errorf("remove endpoint %s: %w", name, err)
		}
		return nil
	})
}

// locked runs change while no other process changes the folder.
func (f *Folder) locked(change func() error) (err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of endpoints: %w", err)
	}
	lock := flock.New(filepath.Join(f.dir, "lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the folder of endpoints: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f.sweep()
	return change()
}

// sweep removes what processes that were killed have left half written. The
// caller holds the lock, under which alone such files are made.
func (f *Folder) sweep() {
	left, err := filepath.Glob(atomicfile.Pattern(filepath.Join(f.dir, prefix+"*"+suffix)))
	if err != nil {
		return // the pattern is a constant, the folder's name may be none
	}
	for _, path := range left {
		_ = os.Remove(path) // it stays for the next one
	}
}
