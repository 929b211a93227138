package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.etcd.io/bbolt"

	"github.com/tooldex/tooldex/index/atomicfile"
)

// compactFrom is the size from which a file is worth writing anew.
const compactFrom = 8 << 20

// How long what nobody uses is kept.
const (
	ServerLife = 30 * 24 * time.Hour
	SpaceLife  = 7 * 24 * time.Hour
)

// InUse is what a process names by its configuration.
type InUse struct {
	Servers map[Key]bool
	Spaces  map[Space]bool
}

// Maintain forgets servers that no configuration has named for 30 days and
// vector spaces that no process has used for 7. It writes only when there is something to do. A date in the future,
// left by a clock that has since gone back, or a damaged one counts from now.
func (s *Store) Maintain(ctx context.Context, now time.Time, use InUse) error {
	var old duties
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		old = findDuties(tx, now, use)
		return nil
	})
	if err != nil {
		return err
	}
	if len(old.redate)+len(old.respace) > 0 {
		if err := s.redate(ctx, now, old); err != nil {
			return err
		}
	}
	if len(old.servers) > 0 {
		if err := s.Drop(ctx, old.servers); err != nil {
			return err
		}
	}
	if len(old.spaces) > 0 {
		if err := s.DropSpaces(ctx, old.spaces); err != nil {
			return err
		}
	}
	return nil
}

// duties are what Maintain has to do.
type duties struct {
	servers []Key
	spaces  []Space
	redate  []Server
	respace []SpaceInfo
}

func findDuties(tx *bbolt.Tx, now time.Time, use InUse) (d duties) {
	for _, sv := range servers(tx) {
		switch {
		case use.Servers[sv.Key]:
		case implausible(sv.Seen, now):
			d.redate = append(d.redate, sv)
		case now.Sub(sv.Seen) > ServerLife:
			d.servers = append(d.servers, sv.Key)
		}
	}
	for _, x := range spaces(tx) {
		switch {
		case use.Spaces[x.Key]:
		case implausible(x.Used, now):
			d.respace = append(d.respace, x)
		case now.Sub(x.Used) > SpaceLife:
			d.spaces = append(d.spaces, x.Key)
		}
	}
	return d
}

func implausible(t, now time.Time) bool { return t.IsZero() || t.Sub(now) > 24*time.Hour }

func (s *Store) redate(ctx context.Context, now time.Time, d duties) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, sv := range d.redate {
			sv.Seen = now
			if err := in(tx, "servers").putJSON(sv.Key[:], sv); err != nil {
				return err
			}
		}
		for _, x := range d.respace {
			x.Used = now
			if err := in(tx, "meta").putJSON(spaceKey(x.Key), x); err != nil {
				return err
			}
		}
		return nil
	})
}

// Compact writes the file anew, without its free pages, when more than half
// of it is free, and says whether it did. Readers of this process go on
// meanwhile, others wait. It does nothing while others use the file.
func (s *Store) Compact(ctx context.Context) (done bool, err error) {
	if s.o.ReadOnly || runtime.GOOS == "windows" { // where an open file cannot be replaced
		return false, nil
	}
	select {
	case s.writer <- struct{}{}:
		defer func() { <-s.writer }()
	case <-ctx.Done():
		return false, s.wrap("compact", ctx.Err())
	}
	err = s.session(ctx, 0, false, func(db *bbolt.DB) error {
		sparse, err := s.sparse(db)
		if err != nil || !sparse {
			return err
		}
		done = true
		return s.rewrite(db)
	})
	if errors.Is(err, ErrBusy) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return done && err == nil, s.wrap("compact", err)
}

// sparse says whether the file is worth compacting.
func (s *Store) sparse(db *bbolt.DB) (yes bool, err error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return false, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		used := tx.Size() - int64(db.Stats().FreePageN)*int64(db.Info().PageSize)
		yes = info.Size() >= compactFrom && 2*used < info.Size()
		return s.admit(tx)
	})
	return yes, err
}

// rewrite puts a copy of the open file in its place. Whoever waits for the
// lock of the old one finds out that it was replaced.
func (s *Store) rewrite(db *bbolt.DB) error {
	temp := filepath.Join(s.dir, fmt.Sprintf("store.new-%d-compact", os.Getpid()))
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
	return atomicfile.Rename(temp, s.path)
}
