package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

const (
	defaultRefresh     = 15 * time.Minute
	defaultConcurrency = 16
	defaultQueue       = 64

	shortestRefresh = 30 * time.Second       // whatever ttlMs a server gives
	debounce        = 250 * time.Millisecond // from list_changed to the list, doubled while changes go on
	longestDebounce = 30 * time.Second
	startSlot       = 2 * time.Second  // a server that is slower than this lets the next one start
	steady          = 10 * time.Second // a connection that lasted this long begins a new back-off
	patience        = 5 * time.Second  // a call waits for an attempt to connect that is nearer than this
	retireTime      = time.Minute      // calls under way may go on this long on a connection in doubt
)

// A server supervises one server: one goroutine, run, connects, lists and
// watches it; calls come from others.
type server struct {
	spec    Spec
	o       Options
	log     *slog.Logger
	queue   int
	mask    mask.Masker
	places  chan struct{} // calls under way
	waiting atomic.Int64  // calls that wait for a place
	starts  chan struct{} // shared by all servers of the Set
	wake    chan struct{} // ends a back-off
	relist  chan chan<- listed
	gone    chan struct{} // closed when run has ended
	end     func()        // ends run; set before it
	leaving atomic.Bool   // another server has its name: lists are dropped
	life    *life

	retiring sync.WaitGroup // connections whose last calls are under way
}

type listed struct {
	listing upstream.Listing
	err     error
}

func newServer(sp Spec, o Options, starts chan struct{}) *server {
	secrets := mask.New(sp.Headers, sp.Env, sp.URL)
	s := &server{
		spec: sp, o: o, log: secrets.Log(o.Logger.With("server", sp.Name)), mask: secrets, starts: starts,
		queue:  defaultQueue,
		wake:   make(chan struct{}, 1),
		relist: make(chan chan<- listed),
		gone:   make(chan struct{}),
	}
	if sp.Queue > 0 {
		s.queue = sp.Queue
	}
	places := defaultConcurrency
	if sp.Concurrency > 0 {
		places = sp.Concurrency
	}
	s.places = make(chan struct{}, places)
	st := upstream.Status{Name: sp.Name, State: upstream.Idle, Why: "not started yet"}
	if sp.Disabled != "" {
		st.State, st.Why, st.Error = upstream.Disabled, sp.Disabled, sp.Disabled
	}
	if all, err := sp.transports(); err == nil {
		st.Transport = all[0]
	}
	s.life = newLife(st)
	return s
}

// run keeps the server connected until ctx ends.
func (s *server) run(ctx context.Context) {
	defer close(s.gone)
	if s.spec.Disabled != "" {
		return
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.Multiplier = 2
	known := s.o.Memory.Recall(s.spec.Name, s.spec.Source())
	for ctx.Err() == nil {
		lasted, err := s.once(ctx, &known)
		if ctx.Err() != nil {
			break
		}
		if lasted >= steady {
			pauses.Reset()
			s.log.Warn("connection lost, connecting again", "error", err)
			s.life.change(func(m *moment) {
				m.enter(upstream.Connecting, "the connection was lost")
				m.status.Error, m.failure = err.Error(), err
			})
			continue
		}
		d := pauses.NextBackOff()
		s.log.Warn("not connected", "error", err, "retry", d.Round(time.Millisecond))
		s.life.change(func(m *moment) {
			m.enter(stateAfter(err), err.Error())
			m.status.Error, m.failure, m.status.NextTry = err.Error(), err, time.Now().Add(d)
		})
		s.rest(ctx, d)
	}
	s.life.change(func(m *moment) {
		m.enter(upstream.Idle, "stopped")
		m.stopped = true
	})
	s.retiring.Wait()
}

// stateAfter is where a failed attempt to connect leads.
func stateAfter(err error) upstream.State {
	if errors.Is(err, upstream.ErrUnauthorized) {
		return upstream.NeedsLogin
	}
	return upstream.Backoff
}

// rest pauses for d, until somebody asks for the server or ctx ends.
func (s *server) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-ctx.Done():
	}
}

// once connects, lists, and watches until the connection is lost. It returns
// how long the server was ready.
func (s *server) once(ctx context.Context, known *Era) (time.Duration, error) {
	s.life.change(func(m *moment) {
		m.enter(upstream.Connecting, m.status.Why)
		m.attempts++
	})
	c, fresh, err := s.connect(ctx, known)
	if err != nil {
		return 0, err
	}
	since := time.Now()
	s.life.change(func(m *moment) {
		m.enter(upstream.Ready, "")
		m.status.Error, m.failure, m.conn = "", nil, c
	})
	s.log.Info("connected", "transport", c.transport, "protocol", c.version(), "peer", c.peer())
	err = s.watch(ctx, c, fresh)
	s.life.change(func(m *moment) { m.conn = nil; m.status.Restarts++ })
	if ctx.Err() == nil && c.ctx.Err() == nil {
		s.retiring.Go(func() {
			within, cancel := context.WithTimeout(ctx, retireTime)
			defer cancel()
			c.retire(within)
		})
	} else {
		c.close()
	}
	return time.Since(since), err
}

// connect returns a connection whose tools have been listed.
func (s *server) connect(ctx context.Context, known *Era) (*conn, time.Duration, error) {
	select {
	case s.starts <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	free := sync.OnceFunc(func() { <-s.starts })
	timer := time.AfterFunc(startSlot, free)
	defer func() { timer.Stop(); free() }()
	d := dialer{
		spec: s.spec, log: s.log, client: s.o.Client, garbage: s.noteGarbage,
		connectTimeout: orDuration(s.spec.StartTimeout, s.o.ConnectTimeout), discoverTimeout: s.o.DiscoverTimeout,
		listenPause: s.o.listenPause, start: stdio.Start, mask: s.mask, room: s.o.room,
	}
	c, err := d.dial(ctx, *known)
	if err != nil {
		known.Version = "" // what it was before need not be what keeps it away
		return nil, 0, err
	}
	s.learn(c, known)
	fresh, err := s.list(ctx, c)
	if err != nil {
		c.close()
		return nil, 0, err
	}
	return c, fresh, nil
}

// learn remembers what worked, so that the next connection tries only that.
// A server that has another version since may speak a newer protocol, and one
// that was only slow or unable to answer server/discover does.
func (s *server) learn(c *conn, known *Era) {
	was, now := *known, Era{Transport: c.transport, Server: c.peer()}
	switch same := was.Server == "" || was.Server == now.Server; {
	case c.version() >= wire.Stateless:
		now.Version = wire.Stateless
	case same && c.link.Certain():
		now.Version = wire.Handshake
	}
	*known = now
	if now != was {
		s.o.Memory.Remember(s.spec.Name, s.spec.Source(), now)
	}
	s.life.change(func(m *moment) {
		m.status.Transport, m.status.Protocol, m.status.Server = c.transport, c.version(), c.peer()
	})
}

// list has the tools listed and hands them on.
func (s *server) list(ctx context.Context, c *conn) (time.Duration, error) {
	within, cancel := context.WithTimeoutCause(ctx, s.o.ListTimeout,
		fmt.Errorf("tools/list: not complete within %v", s.o.ListTimeout))
	defer cancel()
	l, fresh, err := c.list(within)
	if noTools(err) {
		l, err = upstream.Listing{Warnings: []string{"the server does not know tools/list"}}, nil
	}
	if err != nil {
		if c.ctx.Err() != nil {
			err = fmt.Errorf("tools/list: %w", c.cause())
		}
		return 0, err
	}
	if s.leaving.Load() {
		return 0, upstream.ErrStopped
	}
	s.o.OnList(ctx, s.spec.Name, l)
	s.life.change(func(m *moment) {
		m.listing = l
		m.listings++
		m.status.Tools, m.status.Listed, m.status.Error = len(l.Tools), time.Now(), ""
	})
	return fresh, nil
}

// status describes the server for others than itself.
func (s *server) status() upstream.Status {
	now := s.life.at()
	st := now.status
	st.Error = mask.Cut(s.mask.Text(st.Error), mask.Longest)
	st.Why = mask.Cut(s.mask.Text(st.Why), mask.Longest)
	st.InFlight = len(s.places)
	st.Warnings = slices.Clone(now.listing.Warnings)
	if text := s.life.firstGarbage(); text != "" {
		st.Warnings = append(st.Warnings, "wrote on stdout what is no MCP: "+s.mask.Text(text))
	}
	return st
}

// noteGarbage logs text on stdout that is no MCP: loud once, then quietly.
func (s *server) noteGarbage(text string) {
	level := slog.LevelDebug
	if s.life.noteGarbage(text) {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "text on stdout that is no MCP", "text", text)
}
