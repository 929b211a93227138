package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// Check reads the whole store of the folder dir and returns what is wrong
// with it, one sentence each; a folder without a store has nothing wrong. A
// store of a newer format is ErrNewer.
//
// bbolt's own pages carry no checksum. Nearly all damage to them is found and
// told, but some ends the process: call Check in a child process.
func Check(dir string) ([]string, error) {
	d := newDatabase(dir, Options{ReadOnly: true, ReadWait: defaultReadWait, format: Format})
	var found []string
	err := d.session(context.Background(), d.o.ReadWait, true, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			// bbolt checks its pages in a goroutine of its own, where a
			// fault ends the process: what can be read must be read first.
			if err := d.readAll(tx); err != nil {
				return err
			}
			found = append(checkPages(tx), checkValues(tx)...)
			return nil
		})
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrDamaged):
		return append(found, err.Error()), nil
	}
	return found, err
}

// MoveAside moves the store of dir to store.damaged-N and returns that name.
// The next Open makes an empty one.
func MoveAside(dir string) (string, error) {
	d := newDatabase(dir, Options{WriteWait: defaultWriteWait})
	unlock, err := d.lock(context.Background())
	if err != nil {
		return "", err
	}
	defer unlock()
	return d.moveAside()
}

func checkPages(tx *bbolt.Tx) (found []string) {
	const most = 20 // one broken page breaks thousands below it
	for err := range tx.Check() {
		if len(found) < most {
			found = append(found, fmt.Sprintf("page structure: %v", err))
		}
	}
	return found
}

func checkValues(tx *bbolt.Tx) (found []string) {
	for _, name := range buckets {
		b := in(tx, name)
		b.each(nil, func(k, p []byte, whole bool) bool {
			if !whole {
				found = append(found, fmt.Sprintf("bucket %s: the value under %x is damaged", name, k))
			} else if !sound(name, k, p) {
				found = append(found, fmt.Sprintf("bucket %s: the value under %x does not decode", name, k))
			}
			return true
		})
	}
	return found
}

// sound says whether a whole value is what its bucket holds.
func sound(name string, k, p []byte) bool {
	switch name {
	case "servers":
		return len(k) == len(Key{}) && json.Valid(p)
	case "vectors":
		return len(k) == len(Space{})+32 && len(p) > 0
	case "metrics":
		_, ok := decodeMetrics(p)
		return ok && len(k) == len(Key{})+len(ID{})
	case phraseBucket:
		_, ok := new(Phrased).unframe(p)
		return ok && len(k) == len(Key{})+len(ID{})
	case "tools":
		return len(k) == 1+len(Key{})+len(ID{}) && soundTool(k[0], p)
	}
	return true
}

func soundTool(kind byte, p []byte) bool {
	switch kind {
	case 'h':
		_, ok := new(Entry).unframe(p)
		return ok
	case 'f':
		return len(p) == 8
	}
	return kind == 'r'
}

// Copy writes the store of the folder dir as it is at one moment, while others
// use it, which wait to write meanwhile. A folder without a store has nothing to
// write.
func Copy(ctx context.Context, dir string, w io.Writer) error {
	d := newDatabase(dir, Options{ReadOnly: true, ReadWait: defaultReadWait, format: Format})
	err := d.session(ctx, d.o.ReadWait, true, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			_, err := tx.WriteTo(w)
			return err
		})
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
