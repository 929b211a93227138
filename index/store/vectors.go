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

// vectors are those of every space.
type vectors struct{ *database }

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
func (s vectors) Vectors(ctx context.Context, x Space, texts [][32]byte, visit func(i int, v []byte)) (damaged int, err error) {
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
func (s vectors) PutVectors(ctx context.Context, x SpaceInfo, texts [][32]byte, vectors [][]byte) error {
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
func (s vectors) Spaces(ctx context.Context) ([]SpaceInfo, error) {
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
func (s vectors) UseSpaces(ctx context.Context, used []SpaceInfo) error {
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
func (s vectors) DropSpaces(ctx context.Context, drop []Space) error {
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

// String is the space's key in hexadecimal.
func (x Space) String() string { return hex.EncodeToString(x[:]) }
