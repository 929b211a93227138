package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// A Space is the key of one vector space.
type Space [16]byte

// SpaceOf is the key of the space of a model's identity under a version of
// the texts it is given.
func SpaceOf(model, template string) Space {
	sum := sha256.Sum256([]byte("space\x00" + model + "\x00" + template))
	return Space(sum[:16])
}

// A SpaceInfo describes one vector space.
type SpaceInfo struct {
	Key      Space     `json:"-"`
	Model    string    `json:"model"`
	Template string    `json:"template"`
	Dims     int       `json:"dims"`
	Complete bool      `json:"complete"` // every tool of some catalog has had its vector
	Used     time.Time `json:"used"`     // when a process last used it
}

func spaceKey(x Space) []byte { return append([]byte("space/"), x[:]...) }

// Vectors calls visit with the place in texts and the vector of each text
// that has a whole one, to be read before visit returns; the order is any. It returns how many were damaged.
func (s *Store) Vectors(ctx context.Context, x Space, texts [][32]byte, visit func(i int, v []byte)) (damaged int, err error) {
	order := make([]int, len(texts)) // of the keys, so that pages are read once
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(texts[a][:], texts[b][:]) })
	for len(order) > 0 {
		left := len(order)
		err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
			f := follower{bucket: in(tx, "vectors")}
			for deadline := time.Now().Add(slice); len(order) > 0; order = order[1:] {
				damaged += f.vector(x, texts, order[0], visit)
				if len(order)%256 == 0 && time.Now().After(deadline) {
					order = order[1:]
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return damaged, err
		}
		if len(order) == left {
			break // there is no store yet
		}
	}
	if damaged > 0 {
		s.note("store %s: %d vectors are damaged and made again", s.path, damaged)
	}
	return damaged, nil
}

func (f *follower) vector(x Space, texts [][32]byte, i int, visit func(int, []byte)) (damaged int) {
	p, whole := f.at(vectorKey(x, texts[i]))
	if !whole {
		return 1
	}
	if p != nil {
		visit(i, p)
	}
	return 0
}

func vectorKey(x Space, text [32]byte) []byte {
	return append(x[:len(x):len(x)], text[:]...)
}

// PutVectors stores the vectors of texts in the space, in whatever form their
// owner reads them, and that it was used.
func (s *Store) PutVectors(ctx context.Context, x SpaceInfo, texts [][32]byte, vectors [][]byte) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		if err := in(tx, "meta").putJSON(spaceKey(x.Key), x); err != nil {
			return err
		}
		var p piece
		for i, t := range texts {
			p.add(in(tx, "vectors"), vectorKey(x.Key, t), vectors[i])
		}
		return p.apply()
	})
}

// Spaces describes the stored vector spaces.
func (s *Store) Spaces(ctx context.Context) ([]SpaceInfo, error) {
	var all []SpaceInfo
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		all = spaces(tx)
		return nil
	})
	return all, err
}

func spaces(tx *bbolt.Tx) (all []SpaceInfo) {
	in(tx, "meta").each([]byte("space/"), func(k, p []byte, whole bool) bool {
		var x SpaceInfo
		if len(k) != len(spaceKey(Space{})) {
			return true
		}
		if !whole || json.Unmarshal(p, &x) != nil {
			x = SpaceInfo{}
		}
		x.Key = Space(k[len("space/"):])
		all = append(all, x)
		return true
	})
	return all
}

// UseSpaces records that the spaces are in use.
func (s *Store) UseSpaces(ctx context.Context, used []SpaceInfo) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, x := range used {
			if err := in(tx, "meta").putJSON(spaceKey(x.Key), x); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropSpaces forgets the spaces and their vectors.
func (s *Store) DropSpaces(ctx context.Context, drop []Space) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, x := range drop {
			if _, err := in(tx, "vectors").deleteAll(x[:], nil); err != nil {
				return err
			}
			if err := in(tx, "meta").Delete(spaceKey(x)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Collect deletes the vectors that no stored tool needs, once they are more
// than the others and spare together, and likewise the first-seen dates of
// tools that are gone. It returns how many of both went.
func (s *Store) Collect(ctx context.Context, spare int) (int, error) {
	vectors, dates := false, false
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		needed, unneeded := countVectors(tx)
		vectors = unneeded > needed+spare
		present, gone := countDates(in(tx, "tools"))
		dates = gone > present+spare
		return nil
	})
	sum := 0
	for _, sweep := range []struct {
		due    bool
		bucket string
		prefix string
		drops  func(tx *bbolt.Tx) func(key []byte) bool
	}{
		{vectors, "vectors", "", unneededVectors},
		{dates, "tools", "f", goneTools},
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

func unneededVectors(tx *bbolt.Tx) func(key []byte) bool {
	texts := neededTexts(tx)
	return func(k []byte) bool { return !texts[textOf(k)] }
}

func goneTools(tx *bbolt.Tx) func(key []byte) bool {
	tools := in(tx, "tools")
	return func(k []byte) bool {
		v, _ := tools.get(append([]byte{'h'}, k[1:]...))
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

func countVectors(tx *bbolt.Tx) (needed, unneeded int) {
	texts := neededTexts(tx)
	c := tx.Bucket([]byte("vectors")).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if texts[textOf(k)] {
			needed++
		} else {
			unneeded++
		}
	}
	return needed, unneeded
}

// neededTexts are the texts that the stored tools name.
func neededTexts(tx *bbolt.Tx) map[[32]byte]bool {
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
	return texts
}

func textOf(k []byte) (t [32]byte) {
	if len(k) == len(Space{})+len(t) {
		copy(t[:], k[len(Space{}):])
	}
	return t
}

// String is the space's key in hexadecimal.
func (x Space) String() string { return hex.EncodeToString(x[:]) }
