package store

import (
	"context"
	"time"

	"go.etcd.io/bbolt"
)

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
// vector spaces that no process has used for 7, and collects vectors without
// a tool. It writes only when there is something to do. A date in the future,
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
	_, err = s.CollectVectors(ctx, 1000)
	return err
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
