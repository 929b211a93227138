package gateway

import (
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

// A sessionUse is who uses a session at the moment, and who did last.
type sessionUse struct {
	posts, streams int
	last           time.Time
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
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*count--
		u.last = time.Now()
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
		s.byID[id] = &sessionUse{last: time.Now()}
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
