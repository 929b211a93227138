package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

const (
	pieceBytes    = 4 << 20               // that one transaction of a change may write
	pieceGap      = 10 * time.Millisecond // between two, for other processes to take their turn
	pieceRestarts = 3                     // after which a change that others undo is written in one piece
)

// A Change is one server's new list of tools.
type Change struct {
	Server Server // its Generation is set by Replace

	// Put and Gone are what changed since the server's generation Base.
	Base uint64
	Put  []Entry
	Gone []ID
	// All gives all tools of the server, for when another generation is
	// stored. An entry without Raw must be stored already, with its Sum.
	All func() []Entry
}

// Replace stores the changes, of which it writes only what differs, and
// returns the counters since. Missing are the tools that could not be stored
// because they came without Raw.
//
// A change of up to 4 MB is one transaction. A larger one is written in
// pieces, between which other processes read and write: first what is put,
// then what is gone, and until the last one the server's record is Partial.
func (s catalog) Replace(ctx context.Context, changes ...Change) (now Counters, missing []Ref, err error) {
	r := replacement{changes: changes}
	for {
		var next replacement
		err := s.update(ctx, func(tx *bbolt.Tx) (err error) {
			next, now, err = r.step(tx)
			return err
		})
		if r = next; err != nil || r.at == len(changes) {
			return now, r.missing, err
		}
		select {
		case <-ctx.Done():
			return now, nil, s.wrap("write", ctx.Err())
		case <-time.After(pieceGap):
		}
	}
}

// A replacement is how far some changes are written. Its slices are never
// written to, so that a transaction that fails can be repeated.
type replacement struct {
	changes []Change
	at      int // the change under way

	begun    uint64 // generation of its partial record, 0 before the first piece
	put      []Entry
	gone     []ID // what is left to write of it
	restarts int
	missing  []Ref
}

// step writes the next piece.
func (r replacement) step(tx *bbolt.Tx) (replacement, Counters, error) {
	p := piece{tools: in(tx, "tools"), room: pieceBytes}
	meta, records := in(tx, "meta"), in(tx, "servers")
	if err := bump(meta, "generation"); err != nil {
		return r, Counters{}, err
	}
	now := counters(tx)
	for ; r.at < len(r.changes) && p.room > 0; r.at++ {
		c := &r.changes[r.at]
		payload, whole := records.get(c.Server.Key[:])
		stored := decodeServer(c.Server.Key, payload, whole)
		if r.begun == 0 || stored.Generation != r.begun {
			r.begin(p, c, payload != nil && !stored.Damaged && !stored.Partial && stored.Generation == c.Base)
		}
		if r.restarts > pieceRestarts {
			p.room = 1 << 62
		}
		if err := r.write(&p, c.Server.Key); err != nil {
			return r, now, err
		}
		c.Server.Generation = now.Generation
		record := c.Server
		record.Partial = len(r.put)+len(r.gone) > 0
		if record.Partial {
			record.Listed = stored.Listed
		}
		if err := records.putJSON(record.Key[:], record); err != nil {
			return r, now, err
		}
		if record.Partial {
			r.begun = now.Generation
			break
		}
		r.begun, r.restarts = 0, 0
	}
	r.missing = append(r.missing[:len(r.missing):len(r.missing)], p.missing...)
	return r, now, p.apply()
}

// begin finds out what there is to write of a change: the difference to the
// stored state if that is the one it starts from, else everything.
func (r *replacement) begin(p piece, c *Change, based bool) {
	if r.begun != 0 { // another process wrote the server between two pieces
		r.restarts++
		based = false
		r.missing = slices.DeleteFunc(slices.Clone(r.missing), func(ref Ref) bool { return ref.Server == c.Server.Key })
	}
	r.put, r.gone = c.Put, c.Gone
	if !based {
		r.put = c.All()
		r.gone = p.others(c.Server.Key, r.put)
	}
	r.put = slices.SortedFunc(slices.Values(r.put), func(a, b Entry) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// write takes into the piece what there is room for.
func (r *replacement) write(p *piece, server Key) error {
	for ; len(r.put) > 0 && p.room > 0; r.put = r.put[1:] {
		p.put(server, &r.put[0])
	}
	for ; len(r.gone) > 0 && p.room > 0; r.gone = r.gone[1:] {
		if err := p.remove(server, r.gone[0]); err != nil {
			return err
		}
	}
	return nil
}

// A piece collects what one transaction writes.
type piece struct {
	tools   bucket
	room    int // bytes, about
	records []record
	missing []Ref
}

type record struct {
	in           bucket
	key, payload []byte
}

func (p *piece) add(in bucket, key, payload []byte) {
	p.records = append(p.records, record{in, key, payload})
	p.room -= len(key) + len(payload)
}

// apply writes in the order of the keys: bbolt keeps what one transaction
// adds to a page in one slice, and inserting into it would be quadratic.
func (p *piece) apply() error {
	slices.SortFunc(p.records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.in.crc, b.in.crc), bytes.Compare(a.key, b.key))
	})
	for _, r := range p.records {
		if err := r.in.put(r.key, r.payload); err != nil {
			return err
		}
	}
	return nil
}

// put writes what differs of one tool. One without Raw that is not stored as
// it is cannot be.
func (p *piece) put(server Key, e *Entry) {
	const looked = 64 // comparing takes time too
	p.room -= looked
	head, raw := toolKey('h', server, e.ID), toolKey('r', server, e.ID)
	old, _ := p.tools.get(head)
	object, whole := p.tools.get(raw)
	if len(old) < 16 || [16]byte(old) != e.Sum || !whole || object == nil {
		if e.Raw == nil {
			p.missing = append(p.missing, Ref{server, e.ID})
			return
		}
		p.add(p.tools, head, e.frame())
		p.add(p.tools, raw, e.Raw)
	}
	first := toolKey('f', server, e.ID)
	if t, _ := p.tools.get(first); t == nil {
		p.add(p.tools, first, encodeTime(e.FirstSeen))
	}
}

func (p *piece) remove(server Key, id ID) error {
	const deleted = 256
	p.room -= deleted
	return errors.Join(
		p.tools.Delete(toolKey('h', server, id)),
		p.tools.Delete(toolKey('r', server, id)))
}

// others are the stored tools of a server that are not among tools.
func (p *piece) others(server Key, tools []Entry) []ID {
	seen := make(map[ID]bool, len(tools))
	for i := range tools {
		seen[tools[i].ID] = true
	}
	var others []ID
	for _, kind := range []byte("hr") {
		prefix, c := toolPrefix(kind, server), p.tools.Cursor()
		for k, _ := c.Seek(prefix); hasPrefix(k, prefix); k, _ = c.Next() {
			if id := idOf(k); !seen[id] {
				seen[id] = true
				others = append(others, id)
			}
		}
	}
	return others
}
