package store

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// slice is the longest that a reader holds the file's lock at a stretch.
const slice = 20 * time.Millisecond

// errChanged reports that a server changed while it was read in pieces.
var errChanged = errors.New("changed meanwhile")

// A Loaded server is one state of a server, whole.
type Loaded struct {
	Server
	Tools []Entry // in order of id
	Lost  []ID    // tools whose head is damaged: they come back when the server is listed
	Dates int     // tools whose first-seen date is lost
}

// Load reads the tools of those servers that want chooses (nil: all), each as
// one transaction left it, with the Raw of those tools whose Sum needs it
// chooses (nil: none). Heads are slices of a few large buffers. Damaged values
// are left out and noted.
func (s catalog) Load(ctx context.Context, want func(Server) bool, needs func(sum [16]byte) bool) ([]Loaded, Counters, error) {
	all, c, err := s.Servers(ctx)
	if err != nil {
		return nil, c, err
	}
	var out []Loaded
	for _, sv := range all {
		if want == nil || want(sv) {
			out = append(out, Loaded{Server: sv})
		}
	}
	l := loader{servers: out, needs: needs}
	for l.at < len(l.servers) {
		err := s.view(ctx, s.o.ReadWait, l.step)
		if errors.Is(err, errChanged) {
			l.again()
			continue
		}
		if err != nil {
			return nil, c, err
		}
	}
	s.noteDamage(l.servers)
	return l.servers, c, nil
}

func (s catalog) noteDamage(servers []Loaded) {
	for _, sv := range servers {
		if sv.Damaged {
			s.note("store %s: the record of a server is damaged; it is written again when the server is listed", s.path)
		}
		if sv.Dates > 0 {
			s.note("store %s: the first-seen dates of %d tools of server %q are lost and start anew", s.path, sv.Dates, sv.Name)
		}
		if n := len(sv.Lost); n > 0 {
			s.note("store %s: %d tools of server %q are damaged; they come back when the server is listed", s.path, n, sv.Name)
		}
	}
}

// A loader reads servers one after the other in transactions of bounded
// length.
type loader struct {
	servers []Loaded
	needs   func(sum [16]byte) bool
	at      int // server being read
	from    []byte
	retries int
	heads   buffer
}

// step reads until the slice is used up or all is read.
func (l *loader) step(tx *bbolt.Tx) error {
	deadline := time.Now().Add(slice)
	for ; l.at < len(l.servers); l.at++ {
		done, err := l.server(tx, &l.servers[l.at], deadline)
		if err != nil || !done {
			return err
		}
		l.from, l.retries = nil, 0
	}
	return nil
}

// again starts the current server over.
func (l *loader) again() {
	l.retries++
	l.from = nil
	sv := &l.servers[l.at]
	*sv = Loaded{Server: sv.Server}
}

// server reads the next tools of one server. A server that changed between
// two slices is started over; one that keeps changing is read in one piece.
func (l *loader) server(tx *bbolt.Tx, sv *Loaded, deadline time.Time) (done bool, err error) {
	p, whole := in(tx, "servers").get(sv.Key[:])
	now := decodeServer(sv.Key, p, whole)
	if l.from == nil {
		sv.Server = now
	} else if now.Generation != sv.Generation {
		return false, errChanged
	}
	patient := l.retries > 3
	prefix := toolPrefix('h', sv.Key)
	tools := in(tx, "tools")
	c := tools.Cursor()
	raws, first := follower{bucket: tools}, follower{bucket: tools}
	key := toolKey('f', sv.Key, ID{})
	from := prefix
	if l.from != nil {
		from = l.from
	}
	for k, v := c.Seek(from); hasPrefix(k, prefix); k, v = c.Next() {
		if bytes.Compare(k, from) < 0 || len(k) != len(prefix)+len(ID{}) {
			return false, errDisorder
		}
		from = k
		if !patient && len(sv.Tools)%256 == 255 && time.Now().After(deadline) {
			l.from = bytes.Clone(k)
			return false, nil
		}
		e := Entry{ID: idOf(k)}
		p, _ := tools.unseal(k, v) // what is damaged does not unframe
		head, ok := e.unframe(p)
		if !ok {
			sv.Lost = append(sv.Lost, e.ID)
			continue
		}
		e.Head = l.heads.keep(head)
		copy(key[1:], k[1:])
		if l.needs != nil && l.needs(e.Sum) {
			key[0] = 'r'
			object, _ := raws.at(key)
			e.Raw = bytes.Clone(object)
		}
		key[0] = 'f'
		seen, _ := first.at(key)
		if seen == nil {
			sv.Dates++
		}
		e.FirstSeen = decodeTime(seen)
		sv.Tools = append(sv.Tools, e)
	}
	return true, nil
}

// A buffer copies values out of a transaction into large pieces.
type buffer struct{ strings.Builder }

func (b *buffer) keep(p []byte) string {
	if b.Cap()-b.Len() < len(p) {
		b.Builder = strings.Builder{}
		b.Grow(max(len(p), 256<<10))
	}
	from := b.Len()
	b.Write(p)
	return b.String()[from:]
}

// A follower reads keys of a bucket in ascending order without seeking for
// each.
type follower struct {
	bucket bucket
	c      *bbolt.Cursor
	k, v   []byte
}

// at returns the payload under key, as [bucket.get] does. The keys of
// successive calls ascend.
func (f *follower) at(key []byte) (payload []byte, whole bool) {
	for steps := 0; ; steps++ {
		if f.c == nil || steps == 8 {
			f.c = f.bucket.Cursor()
			f.k, f.v = f.c.Seek(key)
		}
		switch d := bytes.Compare(f.k, key); {
		case f.k == nil || d > 0:
			return nil, true
		case d == 0:
			return f.bucket.unseal(f.k, f.v)
		}
		f.k, f.v = f.c.Next()
	}
}
