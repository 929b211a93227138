package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// maxSize is a size that no catalog reaches, but a damaged list of free pages
// does.
const maxSize = 64 << 30

// allocSize is by how much a large file grows at a time.
const allocSize = 1 << 20

// errMoved reports that the file was moved aside between opening and locking.
var errMoved = errors.New("file was replaced")

// session runs fn on the open file: the one that a writer of this process has
// open, if fn only reads, else one that is opened and closed for it. It waits
// for the lock up to wait, trying once in any case.
func (s *Store) session(ctx context.Context, wait time.Duration, readOnly bool, fn func(*bbolt.DB) error) error {
	deadline := time.Now().Add(wait)
	for {
		err := s.try(readOnly, fn)
		if !errors.Is(err, berrors.ErrTimeout) && !errors.Is(err, errMoved) {
			return err
		}
		if err := pause(ctx, deadline); err != nil {
			return err
		}
	}
}

// A handle is the open file. A writer lends its own to the readers of this
// process, which would wait for its lock in vain otherwise; whoever leaves it
// last closes it.
type handle struct {
	db   *bbolt.DB
	file *os.File

	broken atomic.Bool // a user met a panic: the database's own locks may be held for ever
	users  int         // guarded by Store.mu
}

// try is one attempt at a session. bbolt trusts its own pages: what it does
// on a damaged one, a panic or a fault in the mapped memory, becomes
// ErrDamaged here. (A cycle of pages still ends the process; see Check.)
func (s *Store) try(readOnly bool, fn func(*bbolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	h := s.borrow(readOnly)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
			h.broken.Store(true)
			_ = s.leave(h, readOnly)
		}
	}()
	if h.db == nil {
		if err := s.open(h, readOnly); err != nil {
			return err
		}
	}
	err = fn(h.db)
	// A page says that a value is a bucket, or that a page far out is free.
	if errors.Is(err, berrors.ErrIncompatibleValue) || errors.Is(err, berrors.ErrMaxSizeReached) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return errors.Join(err, s.leave(h, readOnly))
}

// borrow returns the handle that a writer lends, to a reader, or an empty one.
func (s *Store) borrow(readOnly bool) *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.lent; h != nil && readOnly {
		h.users++
		return h
	}
	return &handle{users: 1}
}

// open opens the file for h and lends h to readers if it is a writer's.
func (s *Store) open(h *handle, readOnly bool) error {
	db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{
		ReadOnly: readOnly, Timeout: 1, NoStatistics: readOnly, MaxSize: maxSize,
		OpenFile: func(path string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			h.file, err = openNonEmpty(path, flag&^os.O_CREATE, mode)
			return h.file, err
		},
	})
	if err != nil {
		return classify(err)
	}
	h.db, db.AllocSize = db, allocSize
	if err := s.verifyFile(db, h.file); err != nil {
		return errors.Join(err, db.Close())
	}
	if !readOnly {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lent = h
	}
	return nil
}

// leave gives a handle back. It is not lent any longer once its writer is
// done, so that readers who follow each other cannot keep the file locked.
func (s *Store) leave(h *handle, reader bool) error {
	s.mu.Lock()
	if s.lent == h && (!reader || h.broken.Load()) {
		s.lent = nil
	}
	h.users--
	last := h.users == 0
	s.mu.Unlock()
	switch {
	case !last:
		return nil
	case h.broken.Load() && h.file != nil:
		// Closing the database would hang. The mapping stays until the
		// process ends, and would keep the file locked.
		return errors.Join(unlock(h.file), h.file.Close())
	case h.broken.Load():
		return nil
	}
	return h.db.Close()
}

// openNonEmpty keeps bbolt from making an empty file a database: create is
// the one place where that happens, and an empty file is what a full disk or
// a damaged file system leaves.
func openNonEmpty(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		return f, err
	}
	return nil, errors.Join(errors.New("the file is empty"), f.Close())
}

// classify tells a file that is no database from one that cannot be had.
func classify(err error) error {
	var path *os.PathError
	if errors.Is(err, berrors.ErrTimeout) || errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// verifyFile finds out a file that was moved aside meanwhile, and one that is
// shorter than its own pages say, which would fault when they are read.
func (s *Store) verifyFile(db *bbolt.DB, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if at, err := os.Stat(s.path); err != nil || !os.SameFile(info, at) {
		return errMoved
	}
	return db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: truncated to %d of %d bytes", ErrDamaged, info.Size(), tx.Size())
		}
		return nil
	})
}

// prepareFile creates the file if there is none, upgrades an older one and
// moves one aside that probe finds damaged.
func (s *Store) prepareFile(ctx context.Context, probe func(context.Context) error) error {
	err := probe(ctx)
	if err == nil || errors.Is(err, ErrNewer) || s.o.ReadOnly {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return s.wrap("open", err)
	}
	unlock, lerr := s.lock(ctx)
	if lerr != nil {
		return s.wrap("open", lerr)
	}
	defer unlock()
	err = probe(ctx) // another process may have done it meanwhile
	if errors.Is(err, ErrDamaged) {
		err = s.replaceDamaged(err)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = s.create()
	}
	if errors.Is(err, errOlder) {
		err = s.upgrade(ctx)
	}
	return s.wrap("open", err)
}

// probe opens the file and looks at its format.
func (s *Store) probe(ctx context.Context) error {
	return s.session(ctx, s.o.ReadWait, true, func(db *bbolt.DB) error { return db.View(s.admit) })
}

// create makes an empty store under another name and moves it into place, so
// that nobody ever meets half a file. The caller holds store.lock.
func (s *Store) create() error {
	temp := filepath.Join(s.dir, fmt.Sprintf("store.new-%d", os.Getpid()))
	defer os.Remove(temp) // gone after the rename
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(temp, 0o600, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(s.initialise), db.Close()); err != nil {
		return err
	}
	return atomicfile.Rename(temp, s.path)
}

// initialise makes the buckets and the records of meta.
func (s *Store) initialise(tx *bbolt.Tx) error {
	for _, name := range append([]string{emptyBucket}, buckets...) {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	s.mu.Lock()
	s.made = binary.LittleEndian.Uint64(id[:])
	s.mu.Unlock()
	m := in(tx, "meta")
	return errors.Join(
		m.put([]byte("format"), binary.LittleEndian.AppendUint32(nil, s.o.format)),
		m.put([]byte("id"), id[:]),
		m.putUint64("generation", 0),
		m.putUint64("recorded", 0))
}

// folderKey reads the folder's random key and makes it if there is none. It
// lives beside the store, so that a damaged store does not lose it.
func (s *Store) folderKey() ([]byte, error) {
	path := filepath.Join(s.dir, "folder.key")
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 36 && crc32.Checksum(data[:32], castagnoli) == binary.LittleEndian.Uint32(data[32:]) {
		return data[:32], nil
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // crypto/rand never fails
	if s.o.ReadOnly {
		return key, nil // nothing stored can be told apart without the key
	}
	unlock, lerr := s.lock(context.Background())
	if lerr != nil {
		return nil, s.wrap("open", lerr)
	}
	defer unlock()
	if again, rerr := os.ReadFile(path); rerr == nil && string(again) != string(data) {
		return s.folderKey() // made by another process meanwhile
	}
	if err == nil {
		s.note("folder key %s is damaged and was made anew: stored servers are listed again", path)
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(binary.LittleEndian.AppendUint32(key[:32:32], crc32.Checksum(key, castagnoli)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write folder key: %w", err)
	}
	return key, nil
}
