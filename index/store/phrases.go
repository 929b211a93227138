package store

import (
	"bytes"
	"context"
	"time"

	"go.etcd.io/bbolt"
)

// phrases are what people say when they need a tool, by tool.
type phrases struct{ *database }

// A Phrased is what is stored of a tool's phrases.
type Phrased struct {
	Texts [][32]byte // hashes of the texts whose vectors they need, at most 255
	Body  []byte     // the caller's encoding
}

func (e *Phrased) frame() []byte {
	p := append(make([]byte, 0, 1+32*len(e.Texts)+len(e.Body)), byte(len(e.Texts)))
	for _, t := range e.Texts {
		p = append(p, t[:]...)
	}
	return append(p, e.Body...)
}

// unframe reads the payload of a record, but for its body.
func (e *Phrased) unframe(p []byte) (body []byte, ok bool) {
	if len(p) < 1 || len(p) < 1+32*int(p[0]) {
		return nil, false
	}
	e.Texts = make([][32]byte, p[0])
	for i := range e.Texts {
		e.Texts[i] = [32]byte(p[1+32*i:])
	}
	return p[1+32*int(p[0]):], true
}

// Phrases calls visit with the body of what is stored of every tool of the
// servers, to be read before visit returns, in transactions of bounded
// length. What is damaged is left out and noted.
func (s phrases) Phrases(ctx context.Context, servers []Key, visit func(Ref, []byte)) error {
	damaged := 0
	for _, server := range servers {
		for from := server[:]; from != nil; {
			at := from
			from = nil // where there is no store yet, nothing is read
			err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
				next, n := readPhrases(in(tx, phraseBucket), at, server[:], visit)
				from, damaged = next, damaged+n
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	if damaged > 0 {
		s.note("store %s: the phrases of %d tools are damaged and left out; write them again", s.path, damaged)
	}
	return nil
}

// readPhrases visits the values of a server from a key on for the length of a
// slice. It returns the key to go on from, nil at the end.
func readPhrases(b bucket, at, server []byte, visit func(Ref, []byte)) (next []byte, damaged int) {
	if b.Bucket == nil {
		return nil, 0
	}
	deadline := time.Now().Add(slice)
	c, n := b.Cursor(), 0
	for k, v := c.Seek(at); hasPrefix(k, server); k, v = c.Next() {
		if n++; n%256 == 0 && time.Now().After(deadline) {
			return bytes.Clone(k), damaged
		}
		var e Phrased
		p, _ := b.unseal(k, v) // what is damaged does not unframe
		body, ok := e.unframe(p)
		if !ok || len(k) != len(Key{})+len(ID{}) {
			damaged++
			continue
		}
		visit(Ref{Key(k), idOf(k)}, body)
	}
	return nil, damaged
}

// EditPhrases changes what is stored of some tools, all or nothing: edit is
// given the body of what is stored of one, nil for nothing, and returns what
// is to be, without a Body to forget it. It is called again when the
// transaction is, and must not keep what it is given. Nothing is written when
// everything stays as it is. It returns the counters since.
func (s phrases) EditPhrases(ctx context.Context, tools []Ref, edit func(Ref, []byte) Phrased) (now Counters, err error) {
	err = s.update(ctx, func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists([]byte(phraseBucket)); err != nil {
			return err
		}
		b, changed := in(tx, phraseBucket), false
		var p piece
		for _, ref := range tools {
			old, _ := b.get(ref.key()) // what is damaged starts anew
			body, _ := new(Phrased).unframe(old)
			next := edit(ref, body)
			switch framed := next.frame(); {
			case next.Body == nil && b.Get(ref.key()) != nil:
				changed = true
				if err := b.Delete(ref.key()); err != nil {
					return err
				}
			case next.Body != nil && !bytes.Equal(old, framed):
				changed = true
				p.add(b, ref.key(), framed)
			}
		}
		if err := p.apply(); err != nil {
			return err
		}
		if changed {
			err := bump(in(tx, "meta"), "phrased")
			if err != nil {
				return err
			}
		}
		now = counters(tx)
		return nil
	})
	return now, err
}
