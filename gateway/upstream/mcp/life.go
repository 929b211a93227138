package mcp

import (
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
	stopped  bool          // run has ended
	news     chan struct{} // closed when another moment begins
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
