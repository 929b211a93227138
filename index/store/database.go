package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// A database is the file store.db in its folder: made, upgraded and mended as
// its transactions find it.
type database struct {
	folder
	file
	writer chan struct{} // held by the one writer of this process

	making sync.Mutex // guards the field below
	made   uint64     // id of the file that this process made last
}

func newDatabase(dir string, o Options) *database {
	d := &database{writer: make(chan struct{}, 1)}
	d.dir, d.o, d.path = dir, o, filepath.Join(dir, "store.db")
	return d
}

// view runs fn in a read transaction, waiting for the lock up to wait. A
// store that does not exist yet has no transaction to give: fn is not called.
// One that turns out to be damaged is moved aside, and fn reads an empty one.
func (d *database) view(ctx context.Context, wait time.Duration, fn func(tx *bbolt.Tx) error) error {
	read := func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if err := d.admit(tx); err != nil {
				return err
			}
			return fn(tx)
		})
	}
	err := d.session(ctx, wait, true, read)
	if errors.Is(err, ErrDamaged) {
		err = d.mend(ctx, func() error { return d.session(ctx, d.o.ReadWait, true, read) })
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return d.wrap("read", err)
}

// update runs fn in a write transaction, waiting for the lock as long as the
// options allow. A file that turns out to be missing or damaged is made anew.
func (d *database) update(ctx context.Context, fn func(tx *bbolt.Tx) error) error {
	if d.o.ReadOnly {
		return d.wrap("write", ErrReadOnly)
	}
	select {
	case d.writer <- struct{}{}:
		defer func() { <-d.writer }()
	case <-ctx.Done():
		return d.wrap("write", ctx.Err())
	}
	write := func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			if err := d.admit(tx); err != nil {
				return err
			}
			return errors.Join(d.heal(in(tx, "meta")), fn(tx))
		})
	}
	err := d.mend(ctx, func() error { return d.session(ctx, d.o.WriteWait, false, write) })
	return d.wrap("write", err)
}

func (d *database) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s store %s: %w", op, d.path, err)
}

// heal writes those records of meta again that are missing or damaged.
func (d *database) heal(meta bucket) error {
	if _, found := meta.uint32("format"); !found {
		if err := meta.put([]byte("format"), binary.LittleEndian.AppendUint32(nil, d.o.format)); err != nil {
			return err
		}
	}
	if _, found := meta.uint64("id"); !found {
		if err := meta.putUint64("id", mathrand.Uint64()); err != nil {
			return err
		}
	}
	for _, name := range []string{"generation", "recorded", "phrased"} {
		if _, found := meta.uint64(name); !found {
			if err := bump(meta, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// admit refuses a file of another format, but for an older one that is only
// read, which holds what this one does and more. A format that cannot be read
// counts as ours: every other value proves itself, and refusing would lose
// them all.
func (d *database) admit(tx *bbolt.Tx) error {
	f, found := in(tx, "meta").uint32("format") // a missing bucket reads as empty
	switch {
	case found && f > d.o.format:
		return fmt.Errorf("%w: it has format %d, this one knows %d; update tooldex", ErrNewer, f, d.o.format)
	case found && f < d.o.format && !d.o.ReadOnly:
		return errOlder
	}
	for _, name := range buckets {
		if tx.Bucket([]byte(name)) == nil && name != phraseBucket {
			return fmt.Errorf("%w: bucket %s is missing", ErrDamaged, name)
		}
	}
	if !found {
		d.note("store %s: the format's record is damaged, %d is assumed", d.path, d.o.format)
	}
	return nil
}

// Made says whether this process made the file with this id.
func (d *database) Made(file uint64) bool {
	d.making.Lock()
	defer d.making.Unlock()
	return d.made == file
}

// prepareFile creates the file if there is none, upgrades an older one and
// moves one aside that probe finds damaged.
func (d *database) prepareFile(ctx context.Context, probe func(context.Context) error) error {
	err := probe(ctx)
	if err == nil || errors.Is(err, ErrNewer) || d.o.ReadOnly {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return d.wrap("open", err)
	}
	unlock, lerr := d.lock(ctx)
	if lerr != nil {
		return d.wrap("open", lerr)
	}
	defer unlock()
	err = probe(ctx) // another process may have done it meanwhile
	if errors.Is(err, ErrDamaged) {
		err = d.replaceDamaged(err)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = d.create()
	}
	if errors.Is(err, errOlder) {
		err = d.upgrade(ctx)
	}
	return d.wrap("open", err)
}

// probe opens the file and looks at its format.
func (d *database) probe(ctx context.Context) error {
	return d.session(ctx, d.o.ReadWait, true, func(db *bbolt.DB) error { return db.View(d.admit) })
}

// create makes an empty store under another name and moves it into place, so
// that nobody ever meets half a file. The caller holds store.lock.
func (d *database) create() error {
	temp := filepath.Join(d.dir, fmt.Sprintf("store.new-%d", os.Getpid()))
	defer os.Remove(temp) // gone after the rename
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(temp, 0o600, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(d.initialise), db.Close()); err != nil {
		return err
	}
	return atomicfile.Rename(temp, d.path)
}

// initialise makes the buckets and the records of meta.
func (d *database) initialise(tx *bbolt.Tx) error {
	for _, name := range append([]string{emptyBucket}, buckets...) {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	d.making.Lock()
	d.made = binary.LittleEndian.Uint64(id[:])
	d.making.Unlock()
	m := in(tx, "meta")
	return errors.Join(
		m.put([]byte("format"), binary.LittleEndian.AppendUint32(nil, d.o.format)),
		m.put([]byte("id"), id[:]),
		m.putUint64("generation", 0),
		m.putUint64("recorded", 0),
		m.putUint64("phrased", 0))
}
