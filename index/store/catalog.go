package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// A catalog is the servers and their tools.
type catalog struct{ *database }

// A Key names one stored server: a server name at one connection.
type Key [16]byte

// An ID is a tool's identity within its server.
type ID [6]byte

// String is the id in hexadecimal, as ParseID reads it.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads an id; what is none is zero.
func ParseID(s string) (id ID) {
	if len(s) != hex.EncodedLen(len(id)) {
		return id
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}
	}
	return id
}

// A Server is what is stored of one server beside its tools.
type Server struct {
	Key        Key       `json:"-"`
	Name       string    `json:"name"`
	Listed     time.Time `json:"listed"`     // when its tools were last replaced or confirmed
	Seen       time.Time `json:"seen"`       // when a configuration last named it
	Generation uint64    `json:"generation"` // of the store when its tools last changed
	Warnings   []string  `json:"warnings,omitempty"`
	Partial    bool      `json:"partial,omitempty"` // some of its tools are of a change that is not stored whole
	Damaged    bool      `json:"-"`                 // the record was damaged; only Key and Generation 0 are known
}

// An Entry is one tool as it is stored.
type Entry struct {
	ID        ID
	Sum       [16]byte   // identifies Head and Raw together
	Texts     [][32]byte // hashes of the texts whose vectors the tool needs, at most 255
	Head      string     // what is resident of the tool, the caller's encoding
	Raw       []byte     // the tool object; nil where Load need not read it, or it is damaged
	FirstSeen time.Time  // when the tool was first seen; a stored time wins
}

// Counters number the changes of one file.
type Counters struct {
	File       uint64 // identifies the file; another one has other numbers
	Generation uint64 // of the catalog
	Recorded   uint64 // of the metrics
	Phrased    uint64 // of the phrases
}

// Counters reads them, trying for the lock once: a poller comes back anyway.
func (s catalog) Counters(ctx context.Context) (Counters, error) {
	var c Counters
	err := s.view(ctx, 0, func(tx *bbolt.Tx) error {
		c = counters(tx)
		return nil
	})
	return c, err
}

func counters(tx *bbolt.Tx) (c Counters) {
	m := in(tx, "meta")
	c.File, _ = m.uint64("id")
	c.Generation, _ = m.uint64("generation")
	c.Recorded, _ = m.uint64("recorded")
	c.Phrased, _ = m.uint64("phrased")
	return c
}

// bump adds one to a counter. One that is damaged goes on from the
// nanoseconds of the clock, above anything it can have counted.
func bump(meta bucket, name string) error {
	n, found := meta.uint64(name)
	if !found {
		n = uint64(time.Now().UnixNano())
	}
	return meta.putUint64(name, n+1)
}

// Servers returns the record of every stored server, in no order.
func (s catalog) Servers(ctx context.Context) ([]Server, Counters, error) {
	var all []Server
	var c Counters
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		all, c = servers(tx), counters(tx)
		return nil
	})
	return all, c, err
}

func servers(tx *bbolt.Tx) (all []Server) {
	in(tx, "servers").each(nil, func(k, p []byte, whole bool) bool {
		if len(k) == len(Key{}) {
			all = append(all, decodeServer(Key(k), p, whole))
		}
		return true
	})
	return all
}

func decodeServer(key Key, payload []byte, whole bool) Server {
	sv := Server{}
	if !whole || json.Unmarshal(payload, &sv) != nil {
		sv = Server{Damaged: true}
	}
	sv.Key = key
	return sv
}

// frame is the payload of the tool's h record.
func (e *Entry) frame() []byte {
	p := append(make([]byte, 0, 17+32*len(e.Texts)+len(e.Head)), e.Sum[:]...)
	p = append(p, byte(len(e.Texts)))
	for _, t := range e.Texts {
		p = append(p, t[:]...)
	}
	return append(p, e.Head...)
}

// unframe reads the payload of an h record, but for its head.
func (e *Entry) unframe(p []byte) (head []byte, ok bool) {
	if len(p) < 17 || len(p) < 17+32*int(p[16]) {
		return nil, false
	}
	e.Sum = [16]byte(p)
	n := int(p[16])
	e.Texts = make([][32]byte, n)
	for i := range e.Texts {
		e.Texts[i] = [32]byte(p[17+32*i:])
	}
	return p[17+32*n:], true
}

// Raw returns the stored object of a tool, nil if there is none. One that is
// damaged is an error that wraps ErrDamaged.
func (s catalog) Raw(ctx context.Context, server Key, id ID) ([]byte, error) {
	var raw []byte
	damaged := false
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		p, whole := in(tx, "tools").get(toolKey('r', server, id))
		raw, damaged = bytes.Clone(p), !whole
		return nil
	})
	if err == nil && damaged {
		return nil, fmt.Errorf("read store %s: tool %x: %w", s.path, id, ErrDamaged)
	}
	return raw, err
}

// FirstSeen returns when those of ids that are known were first seen, also of
// tools that are gone.
func (s catalog) FirstSeen(ctx context.Context, server Key, ids []ID) (map[ID]time.Time, error) {
	seen := make(map[ID]time.Time)
	err := s.view(ctx, s.o.ReadWait, func(tx *bbolt.Tx) error {
		tools := in(tx, "tools")
		for _, id := range ids {
			if p, _ := tools.get(toolKey('f', server, id)); p != nil {
				seen[id] = decodeTime(p)
			}
		}
		return nil
	})
	return seen, err
}

// Touch records that a configuration names the servers, and when they were
// last confirmed, without changing the generation. A server that is not
// stored is passed over.
func (s catalog) Touch(ctx context.Context, now time.Time, listed map[Key]time.Time) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b := in(tx, "servers")
		for key, t := range listed {
			p, whole := b.get(key[:])
			sv := decodeServer(key, p, whole)
			if sv.Damaged || p == nil {
				continue
			}
			sv.Seen = now
			if !t.IsZero() {
				sv.Listed = t
			}
			if err := b.putJSON(key[:], sv); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drop forgets the servers and everything stored under them.
func (s catalog) Drop(ctx context.Context, keys []Key) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, k := range keys {
			if err := dropServer(tx, k); err != nil {
				return err
			}
		}
		return bump(in(tx, "meta"), "generation")
	})
}

func dropServer(tx *bbolt.Tx, k Key) error {
	for _, kind := range []byte("hrf") {
		if _, err := in(tx, "tools").deleteAll(toolPrefix(kind, k), nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"metrics", phraseBucket, "servers"} {
		if _, err := in(tx, name).deleteAll(k[:], nil); err != nil {
			return err
		}
	}
	return nil
}

func toolPrefix(kind byte, server Key) []byte {
	return append([]byte{kind}, server[:]...)
}

func toolKey(kind byte, server Key, id ID) []byte {
	return append(toolPrefix(kind, server), id[:]...)
}

// idOf is the tool's id at the end of a key; a key that is too short has none.
func idOf(k []byte) (id ID) {
	if len(k) >= len(id) {
		copy(id[:], k[len(k)-len(id):])
	}
	return id
}

// A Ref names one tool of one server.
type Ref struct {
	Server Key
	ID     ID
}

func (r Ref) key() []byte { return append(r.Server[:len(r.Server):len(r.Server)], r.ID[:]...) }
