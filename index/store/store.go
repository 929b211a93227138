// Package store keeps a catalog of tools on disk: one bbolt file that any
// number of processes share, because each opens it only for the length of one
// transaction.
//
// A [Store] holds no file open between calls. Readers copy what they need out
// in transactions of at most 20 ms, so that a writer never waits long;
// writers wait up to 10 s for the file's lock and then give up with
// [ErrBusy]. The package knows bytes, keys and times: what a head or a
// vector means is its caller's business.
//
// # Files
//
// The state folder holds store.db (bbolt), folder.key (32 random bytes and
// their crc32c, little-endian), store.lock (held while store.db is created,
// upgraded or moved aside), store.vN.bak (the file before an upgrade from
// format N) and store.damaged-N (files that could not be read).
//
// # Format 2
//
// Every value in store.db is
//
//	crc32c u32 | payload
//
// with the checksum taken over bucket name, 0, key and payload, so that a
// value under a wrong key is found out too. Integers are little-endian, times
// are Unix nanoseconds as i64, 0 for none. S is the 16-byte key of a server
// ([Store.Key]), I the 6-byte id of a tool, X the 16-byte key of a vector
// space ([SpaceOf]), T the SHA-256 of an embedded text.
//
//	bucket   key           payload
//	meta     format        u32, 2
//	meta     id            u64, random, made with the file
//	meta     generation    u64, one more with every change of the catalog
//	meta     recorded      u64, one more with every change of the metrics
//	meta     phrased       u64, one more with every change of the phrases
//	meta     space/ X      JSON: model, template, dims, used
//	servers  S             JSON: name, listed, seen, generation, warnings
//	tools    h S I         sum [16] | count u8 | count × T | head
//	tools    r S I         the tool object as its upstream sent it
//	tools    f S I         time when the tool was first seen
//	terms                  empty: a package of format 1 looks for it before it looks at the format
//	metrics  S I           total i64 | failed i64 | nanoseconds i64 | last time
//	vectors  X T           scale f32 | i8 …; as format 1 left it f32 …
//	phrases  S I           count u8 | count × T | what people say when they need the tool
//
// The letters h, r and f are one byte of the key. sum identifies head and raw
// object together; the T of a head and of phrases are the texts whose vectors
// they need, and keep those from being collected. The bucket of phrases is made
// with the first of them, and need not be there. f outlives its tool, so that a tool that
// comes back keeps its date.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Format is the version of the file that this package writes.
//
//	2  the analyses of the tools are no longer stored, vectors are codes
const Format = 2

const (
	defaultWriteWait = 10 * time.Second
	defaultReadWait  = 10 * time.Second
)

// The reasons why the store cannot be used.
var (
	// ErrBusy reports that another process held the file's lock for longer
	// than the caller could wait.
	ErrBusy = errors.New("locked by another process")
	// ErrNewer reports a file of a newer format, which must not be touched.
	ErrNewer = errors.New("written by a newer tooldex")
	// ErrDamaged reports a file that cannot be read as a store.
	ErrDamaged = errors.New("damaged")
	// ErrReadOnly reports a folder that cannot be written.
	ErrReadOnly = errors.New("read-only")
)

// Options configure Open. The zero value is ready to use.
type Options struct {
	// ReadOnly never writes, not even to create the folder.
	ReadOnly bool
	// WriteWait bounds the wait for the lock to write; 0 means 10 s.
	WriteWait time.Duration
	// ReadWait bounds the wait for the lock to read; 0 means 10 s.
	ReadWait time.Duration

	format   uint32          // 0 means Format
	upgrades map[int]upgrade // nil means those of this package
}

// A Store is the store of one state folder. Its methods are safe for
// concurrent use.
type Store struct {
	*database
	catalog
	vectors
	executions
	phrases
}

// Open prepares the store of the state folder dir: it creates or upgrades the
// file, and moves a file that cannot be read aside (see [Store.Notes]). With
// [ErrNewer] and [ErrReadOnly] the Store is returned beside the error: a
// read-only one can be read, one of a newer format is of no use but to tell.
func Open(dir string, o Options) (*Store, error) {
	if o.WriteWait == 0 {
		o.WriteWait = defaultWriteWait
	}
	if o.ReadWait == 0 {
		o.ReadWait = defaultReadWait
	}
	if o.format == 0 {
		o.format = Format
	}
	if o.upgrades == nil {
		o.upgrades = upgrades
	}
	d := newDatabase(dir, o)
	s := &Store{d, catalog{d}, vectors{d}, executions{d}, phrases{d}}
	if err := s.prepareFolder(); err != nil {
		return nil, err
	}
	err := s.prepareFile(context.Background(), s.probe)
	if errors.Is(err, ErrNewer) {
		return s, err
	}
	if err != nil && !errors.Is(err, ErrBusy) { // whoever has it busy leaves it whole
		return nil, err
	}
	if s.o.ReadOnly && !o.ReadOnly {
		return s, fmt.Errorf("open store %s: %w", s.path, ErrReadOnly)
	}
	return s, nil
}

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Renew makes the folder, its key and the file anew where they are missing,
// and takes over what another process has made of them since. Keys of servers
// may be others then.
func (s *Store) Renew(ctx context.Context) error {
	if s.o.ReadOnly {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s.wrap("make anew", err)
	}
	if err := s.takeKey(); err != nil {
		return err
	}
	return s.prepareFile(ctx, s.probe)
}
