package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// maxSize is a size that no catalog reaches, but a damaged list of free pages
// does.
const maxSize = 64 << 30

// allocSize is by how much a large file grows at a time.
const allocSize = 1 << 20

// errMoved reports that the file was moved aside between opening and locking.
var errMoved = errors.New("file was replaced")

// A file is one bbolt file that is open only while somebody uses it.
type file struct {
	path string

	mu   sync.Mutex // guards the field below
	lent *handle    // of the writer of this process, while it has the file open
}

// session runs fn on the open file: the one that a writer of this process has
// open, if fn only reads, else one that is opened and closed for it. It waits
// for the lock up to wait, trying once in any case.
func (f *file) session(ctx context.Context, wait time.Duration, readOnly bool, fn func(*bbolt.DB) error) error {
	deadline := time.Now().Add(wait)
	for {
		err := f.try(readOnly, fn)
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
	users  int         // guarded by file.mu
}

// try is one attempt at a session. bbolt trusts its own pages: what it does
// on a damaged one, a panic or a fault in the mapped memory, becomes
// ErrDamaged here. (A cycle of pages still ends the process; see Check.)
func (f *file) try(readOnly bool, fn func(*bbolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	h := f.borrow(readOnly)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
			h.broken.Store(true)
			_ = f.leave(h, readOnly)
		}
	}()
	if h.db == nil {
		if err := f.open(h, readOnly); err != nil {
			return err
		}
	}
	err = fn(h.db)
	// A page says that a value is a bucket, or that a page far out is free.
	if errors.Is(err, berrors.ErrIncompatibleValue) || errors.Is(err, berrors.ErrMaxSizeReached) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return errors.Join(err, f.leave(h, readOnly))
}

// borrow returns the handle that a writer lends, to a reader, or an empty one.
func (f *file) borrow(readOnly bool) *handle {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.lent; h != nil && readOnly {
		h.users++
		return h
	}
	return &handle{users: 1}
}

// open opens the file for h and lends h to readers if it is a writer's.
func (f *file) open(h *handle, readOnly bool) error {
	db, err := bbolt.Open(f.path, 0o600, &bbolt.Options{
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
	if err := f.verifyFile(db, h.file); err != nil {
		return errors.Join(err, db.Close())
	}
	if !readOnly {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lent = h
	}
	return nil
}

// leave gives a handle back. It is not lent any longer once its writer is
// done, so that readers who follow each other cannot keep the file locked.
func (f *file) leave(h *handle, reader bool) error {
	f.mu.Lock()
	if f.lent == h && (!reader || h.broken.Load()) {
		f.lent = nil
	}
	h.users--
	last := h.users == 0
	f.mu.Unlock()
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
func (f *file) verifyFile(db *bbolt.DB, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if at, err := os.Stat(f.path); err != nil || !os.SameFile(info, at) {
		return errMoved
	}
	return db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: truncated to %d of %d bytes", ErrDamaged, info.Size(), tx.Size())
		}
		return nil
	})
}
