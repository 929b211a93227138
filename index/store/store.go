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
