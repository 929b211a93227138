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
//	meta     space/ X      JSON: model, template, dims, used
//	servers  S             JSON: name, listed, seen, generation, warnings
//	tools    h S I         sum [16] | count u8 | count × T | head
//	tools    r S I         the tool object as its upstream sent it
//	tools    f S I         time when the tool was first seen
//	terms                  empty: a package of format 1 looks for it before it looks at the format
//	metrics  S I           total i64 | failed i64 | nanoseconds i64 | last time
//	vectors  X T           scale f32 | i8 …; as format 1 left it f32 …
//
// The letters h, r and f are one byte of the key. sum identifies head and raw
// object together; the T of a head are the texts whose vectors it needs, and
// keep those from being collected. f outlives its tool, so that a tool that
// comes back keeps its date.
package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
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
	dir, path string
	o         Options
	writer    chan struct{} // held by the one writer of this process

	mu    sync.Mutex // guards the fields below
	key   []byte     // of the folder, keys the servers
	made  uint64     // id of the file that this process made last
	lent  *handle    // of the writer of this process, while it has the file open
	notes []string   // what was lost or left undone, for people
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
	s := &Store{dir: dir, path: filepath.Join(dir, "store.db"), o: o, writer: make(chan struct{}, 1)}
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

// Notes say what was lost and what is damaged, one sentence each, oldest first.
func (s *Store) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notes...)
}

func (s *Store) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		if n == text {
			return
		}
	}
	s.notes = append(s.notes, text)
}

// prepareFolder creates the folder and its key, or settles for reading.
func (s *Store) prepareFolder() error {
	if info, err := os.Stat(s.dir); err == nil && !info.IsDir() {
		return fmt.Errorf("open state folder %s: it is a file; name a folder", s.dir)
	}
	if !s.o.ReadOnly {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return fmt.Errorf("create state folder: %w; choose a folder that can be written", err)
		}
		s.o.ReadOnly = !writable(s.dir)
	}
	return s.takeKey()
}

// takeKey reads the folder's key.
func (s *Store) takeKey() error {
	key, err := s.folderKey()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
	return nil
}

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

// Made says whether this process made the file with this id.
func (s *Store) Made(file uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made == file
}

// writable says whether files can be made in dir.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written to it
	return os.Remove(f.Name()) == nil
}

// view runs fn in a read transaction, waiting for the lock up to wait. A
// store that does not exist yet has no transaction to give: fn is not called.
// One that turns out to be damaged is moved aside, and fn reads an empty one.
func (s *Store) view(ctx context.Context, wait time.Duration, fn func(tx *bbolt.Tx) error) error {
	read := func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if err := s.admit(tx); err != nil {
				return err
			}
			return fn(tx)
		})
	}
	err := s.session(ctx, wait, true, read)
	if errors.Is(err, ErrDamaged) {
		err = s.mend(ctx, func() error { return s.session(ctx, s.o.ReadWait, true, read) })
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return s.wrap("read", err)
}

// update runs fn in a write transaction, waiting for the lock as long as the
// options allow. A file that turns out to be missing or damaged is made anew.
func (s *Store) update(ctx context.Context, fn func(tx *bbolt.Tx) error) error {
	if s.o.ReadOnly {
		return s.wrap("write", ErrReadOnly)
	}
	select {
	case s.writer <- struct{}{}:
		defer func() { <-s.writer }()
	case <-ctx.Done():
		return s.wrap("write", ctx.Err())
	}
	write := func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			if err := s.admit(tx); err != nil {
				return err
			}
			return errors.Join(s.heal(in(tx, "meta")), fn(tx))
		})
	}
	err := s.mend(ctx, func() error { return s.session(ctx, s.o.WriteWait, false, write) })
	return s.wrap("write", err)
}

func (s *Store) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s store %s: %w", op, s.path, err)
}

// heal writes those records of meta again that are missing or damaged.
func (s *Store) heal(meta bucket) error {
	if _, found := meta.uint32("format"); !found {
		if err := meta.put([]byte("format"), binary.LittleEndian.AppendUint32(nil, s.o.format)); err != nil {
			return err
		}
	}
	if _, found := meta.uint64("id"); !found {
		if err := meta.putUint64("id", rand.Uint64()); err != nil {
			return err
		}
	}
	for _, name := range []string{"generation", "recorded"} {
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
func (s *Store) admit(tx *bbolt.Tx) error {
	f, found := in(tx, "meta").uint32("format") // a missing bucket reads as empty
	switch {
	case found && f > s.o.format:
		return fmt.Errorf("%w: it has format %d, this one knows %d; update tooldex", ErrNewer, f, s.o.format)
	case found && f < s.o.format && !s.o.ReadOnly:
		return errOlder
	}
	for _, name := range buckets {
		if tx.Bucket([]byte(name)) == nil {
			return fmt.Errorf("%w: bucket %s is missing", ErrDamaged, name)
		}
	}
	if !found {
		s.note("store %s: the format's record is damaged, %d is assumed", s.path, s.o.format)
	}
	return nil
}
