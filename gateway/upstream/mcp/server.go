package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/remote"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
	"github.com/tooldex/tooldex/gateway/upstream/queue"
)

const (
	defaultRefresh = 15 * time.Minute

	shortestRefresh = 30 * time.Second       // whatever ttlMs a server gives
	debounce        = 250 * time.Millisecond // from list_changed to the list, doubled while changes go on
	longestDebounce = 30 * time.Second
	steady          = 10 * time.Second // a connection that lasted this long begins a new back-off
	patience        = 5 * time.Second  // a call waits for an attempt to connect that is nearer than this
	longestPause    = 15 * time.Minute // between two attempts that nobody waits for
	retireTime      = time.Minute      // calls under way may go on this long on a connection in doubt
)

// A server supervises one server: one goroutine, run, connects, lists and
// watches it; calls come from others.
type server struct {
	spec    Spec
	o       Options
	log     *slog.Logger
	mask    mask.Masker
	calls   *queue.Queue  // those under way, and those that wait for a place
	starts  gate          // shared by all servers of its kind in the Set
	wake    chan struct{} // somebody needs the server: ends a rest or a back-off
	relist  chan chan<- listed
	gone    chan struct{} // closed when Run has ended
	leaving atomic.Bool   // another server has its name: lists are dropped
	life    *life
	signer  remote.Signer // of requests over HTTP; nil for none
	refers  bool          // its program or address has secrets in it

	retiring sync.WaitGroup // connections whose last calls are under way
}

type listed struct {
	listing upstream.Listing
	err     error
}

func newServer(sp Spec, o Options, starts gate) *server {
	env := maps.Clone(sp.Variables)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, sp.Env)
	secrets := mask.New(sp.Headers, env, sp.URL)
	s := &server{
		spec: sp, o: o, log: secrets.Log(o.Logger.With("server", sp.Name)), mask: secrets, starts: starts,
		wake:   make(chan struct{}, 1),
		relist: make(chan chan<- listed),
		gone:   make(chan struct{}),
		refers: sp.refers(), signer: newSigner(sp, o, secrets),
	}
	s.calls = upstream.NewQueue(sp.Concurrency, sp.Queue)
	st := upstream.Status{Name: sp.Name, State: upstream.Idle, Why: "not needed yet"}
	if sp.Disabled != "" {
		st.State, st.Why, st.Error = upstream.Disabled, sp.Disabled, sp.Disabled
	}
	if all, err := sp.transports(); err == nil {
		st.Transport = all[0]
	}
	s.life = newLife(st)
	return s
}

// Entry implements [supervise.Child].
func (s *server) Entry() Spec { return s.spec }

// Run connects the server when it is needed, or keeps it connected, until ctx
// ends.
func (s *server) Run(ctx context.Context) {
	defer close(s.gone)
	defer s.calls.Close()
	if s.spec.Disabled != "" {
		return
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.Multiplier = 2
	if s.spec.stops() {
		pauses.MaxInterval = longestPause
	}
	known := s.o.Memory.Recall(s.spec.Name, s.spec.Source())
	if s.o.Stored != nil {
		tools, listed := s.o.Stored(s.spec.Name)
		s.life.change(func(m *moment) { m.status.Tools, m.status.Listed = tools, listed })
	}
	for kept, called := s.spec.Eager, false; ctx.Err() == nil; {
		if !kept && !called {
			if called = s.awaitNeed(ctx); ctx.Err() != nil {
				break
			}
		}
		lasted, err := s.once(ctx, &known, kept || called)
		if ctx.Err() != nil {
			break
		}
		kept, called = kept || lasted > 0 && !s.spec.stops(), false
		switch {
		case err == errIdle:
			pauses.Reset()
		case lasted >= steady:
			pauses.Reset()
			s.lost(err, kept)
		default:
			called = s.backOff(ctx, err, pauses.NextBackOff())
		}
	}
	s.life.change(func(m *moment) {
		m.enter(upstream.Idle, "stopped")
		m.stopped = true
	})
	s.retiring.Wait()
}

// lost notes that a steady connection has ended.
func (s *server) lost(err error, again bool) {
	s.log.Warn("connection lost", "error", err, "again", again)
	s.settle(func(m *moment) {
		state, why := upstream.Idle, "the connection was lost"
		if again {
			state = upstream.Connecting
		}
		m.enter(state, why)
		m.status.Error, m.failure = err.Error(), err
	})
}

// stateAfter is where a failed attempt to connect leads.
func stateAfter(err error) upstream.State {
	if errors.Is(err, upstream.ErrUnauthorized) {
		return upstream.NeedsLogin
	}
	return upstream.Backoff
}

// backOff pauses for d after a failure, until somebody asks for the server,
// which it returns, or ctx ends.
func (s *server) backOff(ctx context.Context, err error, d time.Duration) (called bool) {
	s.log.Warn("not connected", "error", err, "retry", d.Round(time.Millisecond))
	s.settle(func(m *moment) {
		m.enter(stateAfter(err), err.Error())
		m.status.Error, m.status.Failed, m.failure, m.status.NextTry = err.Error(), true, err, time.Now().Add(d)
	})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
		called = true
	case <-ctx.Done():
		return false
	}
	s.life.change(func(m *moment) { m.enter(upstream.Idle, "to be tried again when it is needed") })
	return called
}

// once connects, lists, and watches until the connection is lost. It returns
// how long the server was ready.
func (s *server) once(ctx context.Context, known *Era, called bool) (time.Duration, error) {
	s.life.change(func(m *moment) {
		m.enter(upstream.Connecting, m.status.Why)
		m.attempts++
	})
	c, fresh, err := s.connect(ctx, known, called)
	if err != nil {
		return 0, err
	}
	since := time.Now()
	c.opened = since
	s.settle(func(m *moment) {
		m.enter(upstream.Ready, "")
		m.status.Error, m.status.Failed, m.failure, m.conn, m.denied = "", false, nil, c, denial{}
	})
	s.log.Info("connected", "transport", c.transport, "protocol", c.version(), "peer", c.peer())
	err = s.watch(ctx, c, fresh)
	if err == errIdle {
		why := s.idleText(c)
		s.life.change(func(m *moment) { m.conn = nil })
		c.close() // two of one program might fight over its files
		s.log.Info("stopped", "reason", why)
		s.settle(func(m *moment) { m.enter(upstream.Idle, why) })
		return time.Since(since), err
	}
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
func (s *server) connect(ctx context.Context, known *Era, called bool) (*conn, time.Duration, error) {
	leave, err := s.starts.enter(ctx, called, s.wake)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	sp, err := s.reveal(ctx)
	if err != nil {
		return nil, 0, err
	}
	d := dialer{
		spec: sp, signer: s.signer, log: s.log, client: s.o.Client, garbage: s.noteGarbage,
		connectTimeout: orDuration(s.spec.StartTimeout, s.o.ConnectTimeout), discoverTimeout: s.o.DiscoverTimeout,
		listenPause: s.o.listenPause, start: s.o.startProcess, mask: s.mask, room: s.o.room, useless: s.o.useless,
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
	st := now.shown()
	st.Error = mask.Cut(s.mask.Text(st.Error), mask.Longest)
	st.Why = mask.Cut(s.mask.Text(st.Why), mask.Longest)
	st.InFlight = s.calls.Taken()
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
