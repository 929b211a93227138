package mcp

import (
	"errors"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// A life is the state of a server, which its run changes and others read or
// wait for.
type life struct {
	mu      sync.Mutex // guards the fields below
	now     moment
	garbage string // the first text on stdout that was no MCP
}

// A moment is what is true of a server until its news are closed.
type moment struct {
	status   upstream.Status // without what server.status computes
	conn     *conn           // only when ready
	listing  upstream.Listing
	listings int           // how many there were
	attempts int           // to connect, how many there were
	failure  error         // of the last attempt, nil after success
	denied   denial        // the last call or listing, if the server asked for a login
	stopped  bool          // run has ended
	news     chan struct{} // closed when another moment begins
}

// A denial is a call or a listing that a connected server answered by 401 or
// 403. The connection stays: others of its tools may well be allowed.
type denial struct {
	err     error // nil for none
	at      time.Time
	listing bool
}

// judge keeps whether the server wants a login, from the outcome of a call or
// a listing that it answered. A listing tells nothing of calls.
func (l *life) judge(err error, listing bool) {
	now := l.at()
	switch denied := errors.Is(err, upstream.ErrUnauthorized); {
	case denied && now.conn != nil:
		l.change(func(m *moment) {
			if m.denied.err == nil {
				m.denied.at = time.Now()
			}
			m.denied.err, m.denied.listing = err, listing
		})
	case !denied && now.denied.err != nil && (now.denied.listing || !listing):
		l.change(func(m *moment) { m.denied = denial{} })
	}
}

// shown is the status as others see it.
func (m moment) shown() upstream.Status {
	st := m.status
	if d := m.denied; d.err != nil && st.State == upstream.Ready {
		st.State, st.Since = upstream.NeedsLogin, d.at
		st.Why, st.Error = d.err.Error(), d.err.Error()
	}
	return st
}

func newLife(st upstream.Status) *life {
	st.Since = time.Now()
	return &life{now: moment{status: st, news: make(chan struct{})}}
}

// at returns the present moment.
func (l *life) at() moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// change begins another moment and tells everyone who waits for it.
func (l *life) change(f func(m *moment)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.now)
	close(l.now.news)
	l.now.news = make(chan struct{})
}

// enter changes the state.
func (m *moment) enter(state upstream.State, why string) {
	if m.status.State != state {
		m.status.Since = time.Now()
	}
	m.status.State, m.status.Why, m.status.NextTry = state, why, time.Time{}
}

// noteGarbage keeps the first text on stdout that is no MCP, and reports
// whether this is it.
func (l *life) noteGarbage(text string) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first = l.garbage == ""; first {
		l.garbage = text
	}
	return first
}

// firstGarbage is the text that noteGarbage kept, "" if none came.
func (l *life) firstGarbage() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.garbage
}
