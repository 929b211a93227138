package serve

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/auth"
)

// maxSessions bounds the sessions of the handshake era, at some 10 KB and one
// goroutine each.
const maxSessions = 1000

// sessions are the sessions of the handshake era over HTTP, so that those
// whose clients have left without a word do not add up.
type sessions struct {
	mu      sync.Mutex // guards the fields below
	most    int
	opening int
	uses    map[sessionKey]*sessionUse
}

// A sessionKey is a session: its ids are its endpoint's own.
type sessionKey struct {
	of *Server
	id string
}

// seenEvery is how often a session in use has to be seen by the SDK, which
// closes those that it has not seen for sessionTimeout.
const seenEvery = 10 * time.Minute

// A sessionUse is who uses a session at the moment, and who did last.
type sessionUse struct {
	owner          *auth.Principal // who opened it; nil when nobody asked
	posts, streams int
	last           time.Time
	seen           time.Time                     // last by the SDK
	direct         map[string]context.CancelFunc // calls under way without it, by id
}

func newSessions(most int) *sessions {
	return &sessions{most: most, uses: map[sessionKey]*sessionUse{}}
}

// use counts a request into the session; the caller calls the result when the
// request has ended.
func (s *sessions) use(key sessionKey, method string) (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[key]
	if u == nil {
		return func() {}
	}
	count := &u.posts
	if method == http.MethodGet {
		count = &u.streams
	}
	*count++
	u.last = time.Now()
	u.seen = u.last
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*count--
		u.last = time.Now()
		u.seen = u.last
	}
}

// begin counts a call that the SDK does not see, until the caller calls
// ended. It is not ok where the SDK has to see it.
func (s *sessions) begin(key sessionKey, call string, cancel context.CancelFunc) (ended func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[key]
	if u == nil || time.Since(u.seen) > seenEvery || u.direct[call] != nil {
		return nil, false
	}
	u.posts++
	u.last = time.Now()
	u.direct[call] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		u.posts--
		u.last = time.Now()
		delete(u.direct, call)
	}, true
}

// cancel cancels a call that the SDK does not see, if there is one.
func (s *sessions) cancel(key sessionKey, call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[key]
	if u == nil || u.direct[call] == nil {
		return false
	}
	u.direct[call]()
	return true
}

// end cancels all calls of a session that the SDK does not see.
func (s *sessions) end(key sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.uses[key]; u != nil {
		for _, cancel := range u.direct {
			cancel()
		}
	}
}

// open makes room for one more session of a principal, which is nil for
// nobody. It returns the session that has to be closed for it, if there is
// one; ok is false when all are in use.
func (s *sessions) open(owner *auth.Principal) (closed sessionKey, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := func() bool { return len(s.uses)+s.opening >= s.most || s.ofOwner(owner) >= maxOwned }
	if full() {
		s.forgetEnded()
	}
	if full() {
		if closed, ok = s.idlest(owner); !ok {
			return closed, false
		}
		delete(s.uses, closed)
	}
	s.opening++
	return closed, true
}

// maxOwned bounds the sessions of one principal.
const maxOwned = 200

// ofOwner counts the sessions of a principal; those of nobody are not bounded.
// The caller holds the lock.
func (s *sessions) ofOwner(owner *auth.Principal) (n int) {
	if owner == nil {
		return 0
	}
	for _, u := range s.uses {
		if u.owner != nil && u.owner.Name == owner.Name {
			n++
		}
	}
	return n
}

// foreign says whether a session is of another principal.
func (s *sessions) foreign(key sessionKey, who *auth.Principal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[key]
	return u != nil && u.owner != nil && (who == nil || u.owner.Name != who.Name)
}

// gone are the sessions of those that gone says it of.
func (s *sessions) gone(gone func(owner *auth.Principal, endpoint string) bool) (out []sessionKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, u := range s.uses {
		if gone(u.owner, key.of.opts.Endpoint) {
			out = append(out, key)
			delete(s.uses, key)
			for _, cancel := range u.direct {
				cancel()
			}
		}
	}
	return out
}

// forgetEnded drops the sessions that have ended by themselves. The caller
// holds the lock.
func (s *sessions) forgetEnded() {
	alive := map[*Server]map[string]bool{}
	for key := range s.uses {
		if alive[key.of] == nil {
			alive[key.of] = key.of.liveSessions()
		}
		if !alive[key.of][key.id] {
			delete(s.uses, key)
		}
	}
}

// opened ends what open has begun; the id is "" when no session came of it.
func (s *sessions) opened(key sessionKey, owner *auth.Principal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if key.id != "" {
		s.uses[key] = &sessionUse{owner: owner, last: time.Now(), seen: time.Now(), direct: map[string]context.CancelFunc{}}
	}
}

// drop forgets the sessions of an endpoint that has ended.
func (s *sessions) drop(of *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.uses, func(key sessionKey, _ *sessionUse) bool { return key.of == of })
}

// idlest is the session without a request for the longest, if there is one;
// one whose client still listens comes after all others. A principal who has
// too many gives up one of its own. The caller holds the lock.
func (s *sessions) idlest(owner *auth.Principal) (best sessionKey, ok bool) {
	var use *sessionUse
	own := s.ofOwner(owner) >= maxOwned
	for key, u := range s.uses {
		if u.posts > 0 || own && (u.owner == nil || u.owner.Name != owner.Name) {
			continue
		}
		listens, otherListens := u.streams > 0, use != nil && use.streams > 0
		if use == nil || otherListens && !listens || listens == otherListens && u.last.Before(use.last) {
			best, use = key, u
		}
	}
	return best, use != nil
}
