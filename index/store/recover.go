package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// mend runs a transaction that may meet damage. The first time the whole file
// is read, and replaced if that fails too; if the transaction still fails,
// the file is replaced whatever reading it says.
func (d *database) mend(ctx context.Context, transaction func() error) error {
	suspect, _ := os.Stat(d.path) // without it nothing is the same file
	err := transaction()
	for _, probe := range []func(context.Context) error{d.walk, d.condemn(suspect)} {
		missing := errors.Is(err, os.ErrNotExist) || errors.Is(err, errOlder)
		if d.o.ReadOnly || !missing && !errors.Is(err, ErrDamaged) {
			return err
		}
		if err := d.prepareFile(ctx, probe); err != nil {
			return err
		}
		err = transaction()
	}
	return err
}

// condemn finds the file damaged while it is the suspect.
func (d *database) condemn(suspect os.FileInfo) func(context.Context) error {
	return func(ctx context.Context) error {
		now, err := os.Stat(d.path)
		if err != nil {
			return err
		}
		if suspect != nil && os.SameFile(now, suspect) {
			return ErrDamaged
		}
		return d.probe(ctx)
	}
}

// walk reads every key and value and, where it may, writes one, so that it
// meets whatever made another transaction fail.
func (d *database) walk(ctx context.Context) error {
	every := func(tx *bbolt.Tx) error {
		if err := d.readAll(tx); err != nil || !tx.Writable() {
			return err
		}
		return bump(in(tx, "meta"), "recorded")
	}
	return d.session(ctx, d.o.WriteWait, d.o.ReadOnly, func(db *bbolt.DB) error {
		if d.o.ReadOnly {
			return db.View(every)
		}
		return db.Update(every)
	})
}

// readAll reads every key and value.
func (d *database) readAll(tx *bbolt.Tx) error {
	if err := d.admit(tx); err != nil {
		return err
	}
	for _, name := range buckets {
		if err := walkBucket(in(tx, name)); err != nil {
			return err
		}
	}
	return nil
}

func walkBucket(b bucket) error {
	if b.Bucket == nil {
		return nil
	}
	var last []byte
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			return berrors.ErrIncompatibleValue
		}
		b.unseal(k, v) // to read it: a value that is damaged is no reason to stop
		if last != nil && bytes.Compare(last, k) >= 0 {
			return errDisorder
		}
		last = k
	}
	return nil
}

// errDisorder reports keys out of order, among which searching fails.
var errDisorder = fmt.Errorf("%w: keys are out of order", ErrDamaged)

// replaceDamaged moves the file aside and makes another one of what can still
// be read of it and proves sound.
func (d *database) replaceDamaged(cause error) error {
	aside, err := d.moveAside()
	if err != nil {
		return err
	}
	if err := d.create(); err != nil {
		return err
	}
	d.making.Lock()
	d.made = 0 // it has a past
	d.making.Unlock()
	old := file{path: aside}
	saved := old.salvage()
	err = d.try(false, func(db *bbolt.DB) error { return db.Update(saved.restore) })
	d.note("store %s could not be read (%v) and was moved to %s; %d of its values could be saved; the other execution metrics and first-seen dates are lost, tools come back as their servers are listed",
		d.path, cause, aside, saved.len())
	return err
}

// moveAside keeps the damaged file under the first free name.
func (d *database) moveAside() (string, error) {
	for n := 1; ; n++ {
		aside := filepath.Join(d.dir, fmt.Sprintf("store.damaged-%d", n))
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(d.path, aside); err != nil {
			return "", fmt.Errorf("move the damaged file aside: %w", err)
		}
		return aside, nil
	}
}

// saved are sound payloads by bucket and key.
type saved map[string]map[string][]byte

func (v saved) len() (n int) {
	for _, b := range v {
		n += len(b)
	}
	return n
}

// salvage reads bucket by bucket, each until the damage stops it.
func (f *file) salvage() saved {
	all := make(saved)
	for _, name := range buckets {
		found := make(map[string][]byte)
		all[name] = found
		// An error only says where the damage is; what was found before it
		// is kept.
		_ = f.try(true, func(db *bbolt.DB) error {
			return db.View(func(tx *bbolt.Tx) error {
				in(tx, name).each(nil, func(k, p []byte, whole bool) bool {
					if whole && (name == "meta" && hasPrefix(k, []byte("space/")) || name != "meta" && sound(name, k, p)) {
						found[string(k)] = bytes.Clone(p)
					}
					return len(found) < 1<<22 // pages in a circle never end
				})
				return nil
			})
		})
	}
	return all
}

// restore writes what was saved. Generations go on from the highest saved
// one, as no two states of a server may bear the same.
func (v saved) restore(tx *bbolt.Tx) error {
	for name, found := range v {
		b := in(tx, name)
		for k, p := range found {
			if err := b.put([]byte(k), p); err != nil {
				return err
			}
		}
	}
	var highest uint64
	for _, sv := range servers(tx) {
		highest = max(highest, sv.Generation)
	}
	return in(tx, "meta").putUint64("generation", highest+1)
}
