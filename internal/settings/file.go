// Package settings changes settings files that people and other programs write,
// and leaves everything else in them as it was: comments, order, line ends, a
// byte order mark.
//
// [Read] reads a file, [Set] and [Remove] change its text in memory, and
// [File.Replace] writes it: whole or not at all, never over what somebody else
// has written meanwhile. Formats are YAML, JSON with comments, and TOML.
package settings

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// ErrChanged reports that a file is not what it was when it was read.
var ErrChanged = errors.New("another program has changed it meanwhile")

// A File is a settings file as it was read.
type File struct {
	Path string // as it was named
	Text []byte // nil where there is no file

	real string // where links lead
	mode fs.FileMode
}

// Read reads the file at path, following links. One that does not exist has no
// text, and is made when it is replaced.
func Read(path string) (*File, error) {
	f := &File{Path: path, real: path, mode: 0o600}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.real = real // people link their settings to another folder
	} else if _, lerr := os.Lstat(path); lerr == nil {
		return nil, fmt.Errorf("read %s: it is a link that leads nowhere", path)
	}
	info, err := os.Stat(f.real)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is no file", path)
	}
	f.mode = info.Mode().Perm()
	if f.Text, err = os.ReadFile(f.real); f.Text == nil {
		f.Text = []byte{}
	}
	return f, err
}

// Format is how the file is written: what its text says, or, where there is
// none yet, its name.
func (f *File) Format() Format {
	ext := Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(f.Path)), "."))
	if ext == TOML || ext == JSON && len(bytes.TrimSpace(f.Text)) == 0 {
		return ext
	}
	return Guess(f.Text)
}

// Exists tells whether there was a file.
func (f *File) Exists() bool { return f.Text != nil }

// Replace writes text where the file was read from, or removes the file where
// text is nil. It fails with [ErrChanged] when the file is not what was read,
// and refuses a file that its owner made read-only.
func (f *File) Replace(text []byte) error {
	if f.Exists() && f.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only: make it writable first", f.Path)
	}
	if err := os.MkdirAll(filepath.Dir(f.real), 0o700); err != nil {
		return err
	}
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	now, err := os.ReadFile(f.real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if (err == nil) != f.Exists() || !bytes.Equal(now, f.Text) {
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	if text == nil {
		if f.Exists() {
			if err := os.Remove(f.real); err != nil {
				return err
			}
		}
		f.Text = nil
		return nil
	}
	if err := atomicfile.Write(f.real, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	f.Text = text
	return os.Chmod(f.real, f.mode)
}

// lock keeps other tooldex processes from replacing the same file.
func (f *File) lock() (unlock func(), err error) {
	path, err := f.note("lock")
	if err != nil {
		return nil, err
	}
	l := flock.New(path)
	if err := l.Lock(); err != nil {
		return nil, err
	}
	return func() { l.Close() }, nil // closing is what unlocks
}

// note is where something about the file is noted, in the cache folder, so
// that no program's settings folder gets it.
func (f *File) note(kind string) (string, error) {
	dir := filepath.Join(xdg.CacheHome, "tooldex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(f.real)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("settings-%x.%s", sha256.Sum256([]byte(absolute)), kind)), nil
}

// WriteNew writes a file that must not exist yet, for its owner alone.
func WriteNew(path string, text []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Sync(), out.Close())
}
