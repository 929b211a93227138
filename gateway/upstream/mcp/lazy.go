package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

const (
	defaultIdle = 10 * time.Minute

	// stoppedRefresh is how old the listing of a program that does not run may
	// become, where its Spec does not say: its tools change with its version.
	stoppedRefresh = 24 * time.Hour
	// linger is how long a server that was started to be listed runs on:
	// whoever asked for the listing may call it next.
	linger = 5 * time.Second
	// startSlot is how long a start keeps its place; one that is slower, as a
	// download is, lets the next one begin.
	startSlot = 5 * time.Second
	// maxDials is how many servers over HTTP are connected to at the same
	// moment: that takes next to nothing here, and time there.
	maxDials = 16
	// retryCalled is how old a failure must be for a call to try again.
	retryCalled = 30 * time.Second
)

// errIdle ends the connection to a server that nobody calls.
var errIdle = errors.New("no call for a while")

// A gate bounds how many servers are connected to at the same moment. Those that only
// list their tools leave a place to those that are called.
type gate struct{ places, listings chan struct{} }

func newGate(n int) gate {
	return gate{make(chan struct{}, n), make(chan struct{}, max(1, n-1))}
}

// enter waits for a place, which the caller gives back by leave and loses after
// startSlot. Somebody who calls ends the wait among the listings.
func (g gate) enter(ctx context.Context, called bool, wake <-chan struct{}) (leave func(), err error) {
	if !called {
		select {
		case g.listings <- struct{}{}:
			defer func() {
				if err != nil {
					<-g.listings
				}
			}()
		case <-wake:
			called = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case g.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	free := sync.OnceFunc(func() {
		<-g.places
		if !called {
			<-g.listings
		}
	})
	timer := time.AfterFunc(startSlot, free)
	return func() { timer.Stop(); free() }, nil
}

// due is the time until the tools must be listed, of a server that is not
// connected.
func (s *server) due() time.Duration {
	listed := s.life.at().status.Listed
	if listed.IsZero() {
		return 0
	}
	every := s.spec.ListedFor()
	// A clock that was set back must not put the listing off for ever.
	return min(every, time.Until(listed.Add(every)))
}

// awaitNeed returns when the server has to be connected, and whether that is
// for somebody who waits.
func (s *server) awaitNeed(ctx context.Context) (called bool) {
	due := s.due()
	if due <= 0 {
		s.life.change(func(m *moment) {
			why := "its tools are to be listed again"
			if m.status.Listed.IsZero() {
				why = "its tools were never listed"
			}
			m.enter(upstream.Connecting, why)
		})
		return false
	}
	timer := time.NewTimer(due)
	defer timer.Stop()
	why := "its tools are to be listed again"
	select {
	case <-timer.C:
	case <-s.wake:
		called, why = true, "a call or a listing was asked for"
	case <-ctx.Done():
		return false
	}
	s.life.change(func(m *moment) { m.enter(upstream.Connecting, why) })
	return called
}

// settle begins a moment in which those who wait look anew whether they need
// the server: what they asked for before is forgotten.
func (s *server) settle(f func(m *moment)) {
	select {
	case <-s.wake:
	default:
	}
	s.life.change(f)
}

// resting retires the connection if it was unused for idle, or for linger if
// nobody ever used it; else it returns how long that takes at least.
func (c *conn) resting(idle time.Duration) (left time.Duration, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.used
	if since.IsZero() {
		since, idle = c.opened, min(idle, linger)
	}
	switch left = idle - time.Since(since); {
	case c.users > 0:
		return idle/10 + time.Millisecond, false
	case left > 0:
		return left, false
	}
	c.retired = true
	close(c.idle)
	return 0, true
}

// idle is how long the server may go uncalled.
func (s *server) idle() time.Duration { return orDuration(s.spec.Idle, defaultIdle) }

// unused returns the timer after which to look whether c is of use; it never
// fires for a server that is kept running.
func (s *server) unused() *time.Timer {
	t := time.NewTimer(min(s.idle(), linger))
	if !s.spec.stops() {
		t.Stop()
	}
	return t
}

// idleText words why a server was stopped.
func (s *server) idleText(c *conn) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used.IsZero() {
		return "its tools are listed"
	}
	return fmt.Sprintf("no call for %v", s.idle())
}
