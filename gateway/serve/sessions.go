package serve

import (
	"context"
	"net/http"
	"sync"
	"time"
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
	byID    map[string]*sessionUse
}

// seenEvery is how often a session in use has to be seen by the SDK, which
// closes those that it has not seen for sessionTimeout.
const seenEvery = 10 * time.Minute

// A sessionUse is who uses a session at the moment, and who did last.
type sessionUse struct {
	posts, streams int
	last           time.Time
	seen           time.Time                     // last by the SDK
	direct         map[string]context.CancelFunc // calls under way without it, by id
}

func newSessions(most int) *sessions {
	return &sessions{most: most, byID: map[string]*sessionUse{}}
}

// use counts a request into the session; the caller calls the result when the
// request has ended.
func (s *sessions) use(id, method string) (ended func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.byID[id]
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
func (s *sessions) begin(id, call string, cancel context.CancelFunc) (ended func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.byID[id]
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
func (s *sessions) cancel(id, call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.byID[id]
	if u == nil || u.direct[call] == nil {
		return false
	}
	u.direct[call]()
	return true
}

// end cancels all calls of a session that the SDK does not see.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.byID[id]; u != nil {
		for _, cancel := range u.direct {
			cancel()
		}
	}
}

// open makes room for one more session. It returns the id of the session that
// has to be closed for it, "" for none; ok is false when all are in use.
// live tells which sessions have not ended by themselves.
func (s *sessions) open(live func() map[string]bool) (closed string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID)+s.opening >= s.most {
		alive := live()
		for id := range s.byID {
			if !alive[id] {
				delete(s.byID, id)
			}
		}
	}
	if len(s.byID)+s.opening >= s.most {
		if closed = s.idlest(); closed == "" {
			return "", false
		}
		delete(s.byID, closed)
	}
	s.opening++
	return closed, true
}

// opened ends what open has begun; id is "" when no session came of it.
func (s *sessions) opened(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if id != "" {
		s.byID[id] = &sessionUse{last: time.Now(), seen: time.Now(), direct: map[string]context.CancelFunc{}}
	}
}

// idlest is the session without a request for the longest; one whose client
// still listens comes after all others. The caller holds the lock.
func (s *sessions) idlest() string {
	best, use := "", (*sessionUse)(nil)
	for id, u := range s.byID {
		if u.posts > 0 {
			continue
		}
		listens, otherListens := u.streams > 0, use != nil && use.streams > 0
		if use == nil || otherListens && !listens || listens == otherListens && u.last.Before(use.last) {
			best, use = id, u
		}
	}
	return best
}
