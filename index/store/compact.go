package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"go.etcd.io/bbolt"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// compactFrom is the size from which a file is worth writing anew.
const compactFrom = 8 << 20

// Compact writes the file anew, without its free pages, when more than half
// of it is free, and says whether it did. Readers of this process go on
// meanwhile, others wait. It does nothing while others use the file.
func (d *database) Compact(ctx context.Context) (done bool, err error) {
	if d.o.ReadOnly || runtime.GOOS == "windows" { // where an open file cannot be replaced
		return false, nil
	}
	select {
	case d.writer <- struct{}{}:
		defer func() { <-d.writer }()
	case <-ctx.Done():
		return false, d.wrap("compact", ctx.Err())
	}
	err = d.session(ctx, 0, false, func(db *bbolt.DB) error {
		sparse, err := d.sparse(db)
		if err != nil || !sparse {
			return err
		}
		done = true
		return d.rewrite(db)
	})
	if errors.Is(err, ErrBusy) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return done && err == nil, d.wrap("compact", err)
}

// sparse says whether the file is worth compacting.
func (d *database) sparse(db *bbolt.DB) (yes bool, err error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return false, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		used := tx.Size() - int64(db.Stats().FreePageN)*int64(db.Info().PageSize)
		yes = info.Size() >= compactFrom && 2*used < info.Size()
		return d.admit(tx)
	})
	return yes, err
}

// rewrite puts a copy of the open file in its place. Whoever waits for the
// lock of the old one finds out that it was replaced.
func (d *database) rewrite(db *bbolt.DB) error {
	temp := filepath.Join(d.dir, fmt.Sprintf("store.new-%d-compact", os.Getpid()))
	defer os.Remove(temp) // gone after the rename
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	copied, err := bbolt.Open(temp, 0o600, nil)
	if err != nil {
		return err
	}
	const transaction = 1 << 20 // bytes, of which memory holds several copies
	copied.AllocSize = allocSize
	if err := errors.Join(bbolt.Compact(copied, db, transaction), copied.Close()); err != nil {
		return err
	}
	return atomicfile.Rename(temp, d.path)
}
