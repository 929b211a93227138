package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/tooldex/tooldex/index/store"
)

var (
	// ErrUsed reports a state folder that a process uses.
	ErrUsed = errors.New("a tooldex uses it")
	// ErrOccupied reports a state folder with something in it.
	ErrOccupied = errors.New("it is not empty")
)

// lockName is the file that whoever uses a folder for long holds a lock of.
const lockName = "used.lock"

// Use says that this process uses the folder until the result is called. It is
// an error only where nobody can say so.
func Use(state string) (release func(), err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(state, lockName), flock.SetPermissions(0o600))
	if _, err := l.TryRLock(); err != nil {
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil // at the latest the end of the process does it
}

// used says whether a process uses the folder.
func used(state string) error {
	if _, err := os.Stat(filepath.Join(state, lockName)); err != nil {
		return nil // nobody ever has
	}
	l := flock.New(filepath.Join(state, lockName))
	ok, err := l.TryLock()
	if err != nil || !ok {
		return errors.Join(ErrUsed, err)
	}
	return l.Unlock()
}

// Restore makes a state folder of a backup. The folder is there whole or not at
// all; one that was there is moved beside it, to where aside says, if replace is
// true, and its audit goes on in the new one. What was wrong with the file, or
// keeps the folder from being made, is the error.
func Restore(from, state string, replace bool) (m Manifest, aside string, err error) {
	state = filepath.Clean(state)
	there, err := occupied(state)
	if err != nil {
		return m, "", err
	}
	if there && !replace {
		return m, "", fmt.Errorf("state folder %s: %w", state, ErrOccupied)
	}
	if err := os.MkdirAll(filepath.Dir(state), 0o700); err != nil {
		return m, "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(state), filepath.Base(state)+".restore-*") // mode 0700
	if err != nil {
		return m, "", err
	}
	defer os.RemoveAll(work) // by then it is the folder, or nothing
	if m, err = unpack(from, work); err != nil {
		return m, "", fmt.Errorf("restore %s: %w", from, err)
	}
	if aside, err = moveAside(state, there); err != nil {
		return m, "", err
	}
	if err := os.Rename(work, state); err != nil {
		if aside != "" {
			err = errors.Join(err, os.Rename(aside, state))
		}
		return m, "", err
	}
	return m, aside, keepAudit(aside, state)
}

// keepAudit moves the audit of the folder that was there into the new one, as
// no backup has it.
func keepAudit(aside, state string) error {
	if aside == "" {
		return nil
	}
	err := os.Rename(filepath.Join(aside, "audit"), filepath.Join(state, "audit"))
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the folder is restored, but its audit stays in %s: %w", aside, err)
}

// occupied says whether there is something in the folder; its error is that a
// process uses it.
func occupied(state string) (bool, error) {
	entries, err := os.ReadDir(state)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := used(state); err != nil {
		return false, fmt.Errorf("state folder %s: %w", state, err)
	}
	return len(entries) > 0, nil
}

// moveAside frees the place of the folder.
func moveAside(state string, there bool) (aside string, err error) {
	if !there {
		err := os.Remove(state)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return "", err
	}
	if err := used(state); err != nil { // since it was looked at
		return "", fmt.Errorf("state folder %s: %w", state, err)
	}
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.before-%d", state, n)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			return aside, os.Rename(state, aside)
		}
	}
}

// unpack writes the files of a backup into a folder, and checks them.
func unpack(from, work string) (Manifest, error) {
	f, err := os.Open(from)
	if err != nil {
		return Manifest{}, err
	}
	defer f.Close() // it was read
	in, err := open(f)
	m := in.Manifest
	if err != nil {
		return m, err
	}
	for _, want := range m.Files {
		if err := unpackOne(in.files, work, want); err != nil {
			return m, fmt.Errorf("%s: %w", want.Name, err)
		}
	}
	if err := in.end(); err != nil {
		return m, err
	}
	wrong, err := store.Check(work)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%s: %s", storeName, strings.Join(wrong, "; "))
	}
	return m, err
}

func unpackOne(in *tar.Reader, work string, want File) error {
	h, err := in.Next()
	switch {
	case err != nil:
		return fmt.Errorf("it is cut or damaged: %w", err)
	case h.Name != want.Name || h.Typeflag != tar.TypeReg || h.Size != want.Size:
		return errors.New("it is not what the manifest says")
	}
	path := filepath.Join(work, filepath.FromSlash(want.Name)) // a name that holds has let through
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("it is cut or damaged: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != want.Hash {
		return errors.New("it is damaged: its checksum is another")
	}
	return nil
}
