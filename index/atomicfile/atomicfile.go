// Package atomicfile replaces files so that, whenever the machine stops, the
// old file or the new one is there, whole.
//
// [Write] writes a temporary file in the same folder, syncs it, renames it and
// syncs the folder. [Rename] is the second half, for what another library
// wrote. On Windows a rename that meets a reader is tried again for up to two
// seconds, and folders are not synced, which that system cannot do.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/rogpeppe/go-internal/robustio"
)

const tempSuffix = ".tmp"

// Pattern matches the temporary files for path that a crash can leave behind.
func Pattern(path string) string { return path + "-*" + tempSuffix }

// Write replaces path by what write writes, with mode 0600. If write or
// anything else fails, path is as it was and nothing is left beside it.
func Write(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(Pattern(path)))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // its error, if any, comes after the one that matters
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return Rename(f.Name(), path)
}

// Rename moves the file from, which its writer has synced, to the name to in
// the same folder, replacing what is there, and makes the move durable.
func Rename(from, to string) error {
	if err := robustio.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// Remove removes the file at path and makes that durable.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes the entries of a folder durable. File systems that cannot
// say so with EINVAL or ENOTSUP.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
