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

// Collect deletes the vectors that no stored tool or phrase needs and keep
// (nil: none) does not ask for, once they are more than the others and spare
// together, and likewise the first-seen dates and phrases of tools that are
// gone. It returns how many of them went.
func (s *Store) Collect(ctx context.Context, spare int, keep func(text [32]byte) bool) (int, error) {
	vectors, dates, phrases := false, false, false
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		needed, unneeded := countVectors(tx, keep)
		vectors = unneeded > needed+spare
		present, gone := countDates(in(tx, "tools"))
		dates = gone > present+spare
		present, gone = countPhrases(tx)
		phrases = gone > present+spare
		return nil
	})
	sum := 0
	for _, sweep := range []struct {
		due    bool
		bucket string
		prefix string
		drops  func(tx *bbolt.Tx) func(key []byte) bool
	}{
		{vectors, "vectors", "", func(tx *bbolt.Tx) func([]byte) bool { return unneededVectors(tx, keep) }},
		{dates, "tools", "f", func(tx *bbolt.Tx) func([]byte) bool { return goneTools(tx, 1) }},
		{phrases, phraseBucket, "", func(tx *bbolt.Tx) func([]byte) bool { return goneTools(tx, 0) }},
	} {
		for n := most; sweep.due && n == most && err == nil; sum += n {
			err = s.update(ctx, func(tx *bbolt.Tx) (err error) {
				n, err = in(tx, sweep.bucket).deleteSome([]byte(sweep.prefix), sweep.drops(tx), most)
				return err
			})
		}
	}
	return sum, err
}

// most is how many values one transaction deletes, so that others have their
// turn.
const most = 4096

func unneededVectors(tx *bbolt.Tx, keep func([32]byte) bool) func(key []byte) bool {
	texts := neededTexts(tx, keep)
	return func(k []byte) bool { return !texts(textOf(k)) }
}

// goneTools says of a key whether the tool that stands in it behind skip bytes
// is gone.
func goneTools(tx *bbolt.Tx, skip int) func(key []byte) bool {
	tools := in(tx, "tools")
	return func(k []byte) bool {
		v, _ := tools.get(append([]byte{'h'}, k[skip:]...))
		return v == nil
	}
}

func countDates(tools bucket) (present, gone int) {
	keys := func(prefix string) (n int) {
		c := tools.Cursor()
		for k, _ := c.Seek([]byte(prefix)); hasPrefix(k, []byte(prefix)); k, _ = c.Next() {
			n++
		}
		return n
	}
	present = keys("h")
	return present, max(0, keys("f")-present)
}

func countPhrases(tx *bbolt.Tx) (present, gone int) {
	drops := goneTools(tx, 0)
	in(tx, phraseBucket).each(nil, func(k, _ []byte, _ bool) bool {
		if drops(k) {
			gone++
		} else {
			present++
		}
		return true
	})
	return present, gone
}

func countVectors(tx *bbolt.Tx, keep func([32]byte) bool) (needed, unneeded int) {
	texts := neededTexts(tx, keep)
	c := tx.Bucket([]byte("vectors")).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if texts(textOf(k)) {
			needed++
		} else {
			unneeded++
		}
	}
	return needed, unneeded
}

// neededTexts says which texts the stored tools and phrases name or keep
// asks for.
func neededTexts(tx *bbolt.Tx, keep func([32]byte) bool) func([32]byte) bool {
	texts := make(map[[32]byte]bool)
	in(tx, "tools").each([]byte("h"), func(_, p []byte, _ bool) bool {
		var e Entry
		if _, ok := e.unframe(p); ok {
			for _, t := range e.Texts {
				texts[t] = true
			}
		}
		return true
	})
	in(tx, phraseBucket).each(nil, func(_, p []byte, _ bool) bool {
		var e Phrased
		if _, ok := e.unframe(p); ok {
			for _, t := range e.Texts {
				texts[t] = true
			}
		}
		return true
	})
	return func(t [32]byte) bool { return texts[t] || keep != nil && keep(t) }
}

func textOf(k []byte) (t [32]byte) {
	if len(k) == len(Space{})+len(t) {
		copy(t[:], k[len(Space{}):])
	}
	return t
}
