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
	r := phraseReader{servers: servers, visit: visit}
	for more := true; more; {
		more = false // where there is no store yet, nothing is read
		err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
			more = r.step(in(tx, phraseBucket))
			return nil
		})
		if err != nil {
			return err
		}
	}
	damaged := r.damaged
	if damaged > 0 {
		s.note("store %s: the phrases of %d tools are damaged and left out; write them again", s.path, damaged)
	}
	return nil
}

// A phraseReader visits the values of servers, one after the other, in slices.
type phraseReader struct {
	servers []Key  // that are not read yet
	from    []byte // where to go on in the first of them; nil for its start
	visit   func(Ref, []byte)
	damaged int
}

// step reads for the length of a slice and says whether there is more.
func (r *phraseReader) step(b bucket) (more bool) {
	if b.Bucket == nil {
		return false
	}
	deadline := time.Now().Add(slice)
	c, n := b.Cursor(), 0
	for ; len(r.servers) > 0; r.servers, r.from = r.servers[1:], nil {
		server := r.servers[0][:]
		if r.from == nil {
			r.from = server
		}
		for k, v := c.Seek(r.from); hasPrefix(k, server); k, v = c.Next() {
			if n++; n%256 == 0 && time.Now().After(deadline) {
				r.from = bytes.Clone(k)
				return true
			}
			r.read(b, k, v)
		}
	}
	return false
}

func (r *phraseReader) read(b bucket, k, v []byte) {
	var e Phrased
	p, _ := b.unseal(k, v) // what is damaged does not unframe
	body, ok := e.unframe(p)
	if !ok || len(k) != len(Key{})+len(ID{}) {
		r.damaged++
		return
	}
	r.visit(Ref{Key(k), idOf(k)}, body)
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
