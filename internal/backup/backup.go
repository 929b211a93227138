// Package backup writes what a state folder has that cannot be made again into
// one file, while the folder is used, and makes a folder of such a file.
//
// In it are the catalog with its phrases and counts, the key of the folder, the
// hashes of tokens, and the virtual servers made at run time. What is derived of
// these is not, nor are keys of this machine, logins at servers, and the audit,
// whose files are whole by themselves.
//
// # Format 1
//
// A gzipped tar. Its first file is manifest.json, a [Manifest]; the others are
// those that it names, in its order.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/tooldex/tooldex/index/atomicfile"
	"github.com/tooldex/tooldex/index/store"
)

const (
	kind         = "tooldex state folder"
	format       = 1
	manifestName = "manifest.json"
	storeName    = "store.db"
)

// ErrForeign reports a file that is no backup, or none that can be read.
var ErrForeign = errors.New("it is no backup of a state folder")

// A Manifest says what a backup holds.
type Manifest struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Version string    `json:"tooldex"` // that wrote it
	Made    time.Time `json:"made"`
	Files   []File    `json:"files"`
}

// A File is one of a backup.
type File struct {
	Name string `json:"name"` // in the folder, with slashes
	Size int64  `json:"size"`
	Hash string `json:"sha256"` // hexadecimal
}

// Size is that of all files in bytes.
func (m Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// holds says whether a file of the folder belongs into a backup.
func holds(name string) bool {
	switch name {
	case storeName, "folder.key", "tokens.json", "eras.json", "auto.json":
		return true
	}
	made, _ := path.Match("endpoints/*.json", name)
	return made
}

// Write writes a backup of the folder to a file, which is there whole or not at
// all. A file that is there is replaced when it is a backup.
func Write(ctx context.Context, state, to, version string) (Manifest, error) {
	if err := replaceable(to); err != nil {
		return Manifest{}, err
	}
	work, err := os.MkdirTemp("", "tooldex-backup")
	if err != nil {
		return Manifest{}, err
	}
	defer os.RemoveAll(work) // nothing in it is needed any more
	m := Manifest{Kind: kind, Format: format, Version: version, Made: time.Now().UTC().Truncate(time.Second)}
	if m.Files, err = collect(ctx, state, work); err != nil {
		return m, err
	}
	return m, atomicfile.Write(to, func(w io.Writer) error { return m.pack(w, work) })
}

// replaceable says why a file may not be written.
func replaceable(to string) error {
	f, err := os.Open(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // it was read
	if _, err := open(f); err != nil {
		return fmt.Errorf("%s is there and %w; name another file", to, ErrForeign)
	}
	return nil
}

// collect copies what belongs into a backup, each file as it is at one moment.
func collect(ctx context.Context, state, work string) (files []File, err error) {
	names, err := filesOf(state)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := collectOne(ctx, state, work, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has just been deleted
		case err != nil:
			return nil, fmt.Errorf("back up %s: %w", filepath.Join(state, filepath.FromSlash(name)), err)
		default:
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is nothing in the state folder %s to back up", state)
	}
	return files, nil
}

// filesOf are the files of a folder that belong into a backup, in order.
func filesOf(state string) (names []string, err error) {
	for _, dir := range []string{".", "endpoints"} {
		entries, err := os.ReadDir(filepath.Join(state, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if name := path.Join(dir, e.Name()); holds(name) && e.Type().IsRegular() {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func collectOne(ctx context.Context, state, work, name string) (f File, err error) {
	into := filepath.Join(work, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(into), 0o700); err != nil {
		return f, err
	}
	out, err := os.OpenFile(into, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return f, err
	}
	sum := sha256.New()
	w := io.MultiWriter(out, sum)
	if name == storeName {
		err = store.Copy(ctx, state, w)
	} else { // the others are replaced whole, never changed
		err = copyFile(w, filepath.Join(state, filepath.FromSlash(name)))
	}
	info, statErr := out.Stat()
	if err := errors.Join(err, statErr, out.Close()); err != nil {
		return f, err
	}
	return File{name, info.Size(), hex.EncodeToString(sum.Sum(nil))}, nil
}

func copyFile(w io.Writer, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was read
	_, err = io.Copy(w, in)
	return err
}

// pack writes the manifest and the files that lie in a folder.
func (m Manifest) pack(w io.Writer, work string) error {
	zipped := gzip.NewWriter(w)
	out := tar.NewWriter(zipped)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	add := func(name string, size int64, from io.Reader) error {
		if err := out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: m.Made, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := io.Copy(out, from)
		return err
	}
	if err := add(manifestName, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	for _, f := range m.Files {
		in, err := os.Open(filepath.Join(work, filepath.FromSlash(f.Name)))
		if err != nil {
			return err
		}
		if err := errors.Join(add(f.Name, f.Size, in), in.Close()); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zipped.Close())
}

// maxManifest bounds the manifest in bytes.
const maxManifest = 4 << 20

// A reader is a backup that is read.
type reader struct {
	Manifest
	files  *tar.Reader // at the first file
	zipped io.Reader   // under it
}

// open reads the manifest of a backup.
func open(from io.Reader) (r reader, err error) {
	zipped, err := gzip.NewReader(from)
	if err != nil {
		return r, ErrForeign
	}
	r.files, r.zipped = tar.NewReader(zipped), zipped
	h, err := r.files.Next()
	if err != nil || h.Name != manifestName || h.Size > maxManifest {
		return r, ErrForeign
	}
	text, err := io.ReadAll(r.files)
	if err != nil || json.Unmarshal(text, &r.Manifest) != nil || r.Kind != kind {
		return r, ErrForeign
	}
	if r.Format != format {
		return r, fmt.Errorf("it is of format %d, written by tooldex %s, and this one reads format %d; use that version, or a newer one", r.Format, r.Version, format)
	}
	return r, r.check()
}

// end wants that nothing follows the files, and that the end is whole.
func (r reader) end() error {
	if _, err := r.files.Next(); err != io.EOF {
		return errors.New("there is more in it than its manifest says, or its end is damaged")
	}
	if _, err := io.Copy(io.Discard, r.zipped); err != nil {
		return fmt.Errorf("its end is cut or damaged: %w", err)
	}
	return nil
}

// check wants files that a backup may hold, each once.
func (m Manifest) check() error {
	seen := map[string]bool{}
	for _, f := range m.Files {
		if !holds(f.Name) || seen[f.Name] || f.Size < 0 || strings.ContainsAny(f.Name, `\:`) {
			return fmt.Errorf("%w: it names the file %q", ErrForeign, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
