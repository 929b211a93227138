package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// errOlder reports a file of an older format, which is upgraded.
var errOlder = errors.New("older format")

// An upgrade turns a file of one format into the next, in one transaction.
type upgrade func(tx *bbolt.Tx) error

// upgrades are keyed by the format they start from.
var upgrades = map[int]upgrade{1: dropTerms}

// dropTerms forgets the analyses, which are made of the tools. The bucket
// stays, empty.
func dropTerms(tx *bbolt.Tx) error {
	err := tx.DeleteBucket([]byte(emptyBucket))
	if err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
		return err
	}
	_, err = tx.CreateBucket([]byte(emptyBucket))
	return err
}

// upgrade keeps the file as store.vN.bak and brings it to this package's
// format in one transaction. The caller holds store.lock.
func (d *database) upgrade(ctx context.Context) error {
	return d.session(ctx, d.o.WriteWait, false, func(db *bbolt.DB) error {
		var from uint32
		err := db.View(func(tx *bbolt.Tx) error {
			from, _ = in(tx, "meta").uint32("format")
			if from >= d.o.format {
				return nil
			}
			return d.backup(tx, from)
		})
		if err != nil || from >= d.o.format {
			return err
		}
		return db.Update(func(tx *bbolt.Tx) error { return d.upgradeFrom(tx, from) })
	})
}

func (d *database) backup(tx *bbolt.Tx, from uint32) error {
	path := filepath.Join(d.dir, fmt.Sprintf("store.v%d.bak", from))
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep a copy before the upgrade: %w", err)
	}
	return nil
}

func (d *database) upgradeFrom(tx *bbolt.Tx, from uint32) error {
	for f := from; f < d.o.format; f++ {
		step, ok := d.o.upgrades[int(f)]
		if !ok {
			return fmt.Errorf("no upgrade from format %d is known", f)
		}
		if err := step(tx); err != nil {
			return fmt.Errorf("upgrade from format %d: %w", f, err)
		}
	}
	return in(tx, "meta").put([]byte("format"), binary.LittleEndian.AppendUint32(nil, d.o.format))
}
