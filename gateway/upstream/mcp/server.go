package mcp

import (
	"context"
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

	mu       sync.Mutex      // guards the fields below
	st       upstream.Status // without what status computes
	conn     *conn           // only when ready
	stopped  bool
	listing  upstream.Listing
	listings int           // how many there were
	attempts int           // to connect, how many there were
	news     chan struct{} // closed and replaced on every change
	garbage  string        // the first text on stdout that was no MCP
	retiring sync.WaitGroup
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
		news:   make(chan struct{}),
	}
	if sp.Queue > 0 {
		s.queue = sp.Queue
	}
	places := defaultConcurrency
	if sp.Concurrency > 0 {
		places = sp.Concurrency
	}
	s.places = make(chan struct{}, places)
	s.st = upstream.Status{Name: sp.Name, State: upstream.Idle}
	if sp.Disabled != "" {
		s.st.State, s.st.Error = upstream.Disabled, sp.Disabled
	}
	if all, err := sp.transports(); err == nil {
		s.st.Transport = all[0]
	}
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
			s.set(func() { s.st.State, s.st.Error = upstream.Connecting, err.Error() })
			continue
		}
		d := pauses.NextBackOff()
		s.log.Warn("not connected", "error", err, "retry", d.Round(time.Millisecond))
		s.set(func() {
			s.st.State, s.st.Error, s.st.RetryAt = upstream.Backoff, err.Error(), time.Now().Add(d)
		})
		s.rest(ctx, d)
	}
	s.set(func() { s.st.State, s.st.RetryAt, s.stopped = upstream.Idle, time.Time{}, true })
	s.retiring.Wait()
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

// set changes the state and tells everyone who waits for a change.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.news)
	s.news = make(chan struct{})
}

// once connects, lists, and watches until the connection is lost. It returns
// how long the server was ready.
func (s *server) once(ctx context.Context, known *Era) (time.Duration, error) {
	s.set(func() { s.st.State, s.st.RetryAt, s.attempts = upstream.Connecting, time.Time{}, s.attempts+1 })
	c, fresh, err := s.connect(ctx, known)
	if err != nil {
		return 0, err
	}
	since := time.Now()
	s.set(func() { s.st.State, s.st.Error, s.conn = upstream.Ready, "", c })
	s.log.Info("connected", "transport", c.transport, "protocol", c.version(), "peer", c.peer())
	err = s.watch(ctx, c, fresh)
	s.set(func() { s.conn = nil; s.st.Restarts++ })
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
	s.set(func() {
		s.st.Transport, s.st.Protocol, s.st.Server = c.transport, c.version(), c.peer()
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
	s.set(func() {
		s.listing = l
		s.listings++
		s.st.Tools, s.st.Listed, s.st.Error = len(l.Tools), time.Now(), ""
	})
	return fresh, nil
}

// watch lists the tools again whenever it is time to, until the connection is
// lost or in doubt.
func (s *server) watch(ctx context.Context, c *conn, fresh time.Duration) error {
	next := time.NewTimer(s.next(fresh, nil))
	defer next.Stop()
	var settled <-chan time.Time
	var quiet quietTime
	again := func() error {
		settled = nil
		fresh, err := s.list(ctx, c)
		if err != nil && c.ctx.Err() == nil && ctx.Err() == nil {
			s.log.Warn("tools not listed", "error", err)
			s.set(func() { s.st.Error = err.Error() })
		}
		next.Reset(s.next(fresh, err))
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return c.cause()
		case err := <-c.suspect:
			return err
		case <-c.changed:
			if settled == nil {
				settled = time.After(quiet.next(time.Now()))
			}
		case <-settled:
			_ = again() // in the status already
		case <-next.C:
			_ = again() // in the status already
		case reply := <-s.relist:
			err := again()
			reply <- listed{s.listing, err}
		}
	}
}

// A quietTime is how long changes are awaited before a list, which gets longer
// for a server that never stops telling of them.
type quietTime struct {
	d    time.Duration
	last time.Time
}

func (q *quietTime) next(now time.Time) time.Duration {
	if now.Sub(q.last) < 10*q.d {
		q.d = min(2*q.d, longestDebounce)
	} else {
		q.d = debounce
	}
	q.last = now
	return q.d
}

// next is the time until the next listing.
func (s *server) next(fresh time.Duration, err error) time.Duration {
	d := orDuration(s.spec.Refresh, defaultRefresh)
	switch {
	case err != nil:
		return min(d, shortestRefresh)
	case fresh > 0:
		return min(d, max(fresh, shortestRefresh))
	}
	return d
}

// refresh has the tools listed now and returns them.
func (s *server) refresh(ctx context.Context) (upstream.Listing, error) {
	if why := s.spec.Disabled; why != "" {
		return upstream.Listing{}, fmt.Errorf("%w: %s", upstream.ErrDisabled, why)
	}
	reply := make(chan listed, 1)
	for {
		s.mu.Lock()
		news, state, stopped := s.news, s.st.State, s.stopped
		attempts, listings := s.attempts, s.listings
		s.mu.Unlock()
		switch {
		case stopped:
			return upstream.Listing{}, upstream.ErrStopped
		case state == upstream.Connecting:
			return s.nextList(ctx, attempts-1, listings)
		case state != upstream.Ready:
			select {
			case s.wake <- struct{}{}:
			default:
			}
			return s.nextList(ctx, attempts, listings)
		}
		select {
		case s.relist <- reply:
			select {
			case got := <-reply:
				return got.listing, got.err
			case <-ctx.Done():
				return upstream.Listing{}, context.Cause(ctx)
			}
		case <-news:
		case <-ctx.Done():
			return upstream.Listing{}, context.Cause(ctx)
		}
	}
}

// nextList waits for the listing that a new connection begins with, or for an
// attempt to connect to fail. The attempts and listings given do not count.
func (s *server) nextList(ctx context.Context, attempts, listings int) (upstream.Listing, error) {
	for {
		s.mu.Lock()
		news, st, l, stopped := s.news, s.st, s.listing, s.stopped
		failed, done := s.attempts > attempts, s.listings > listings
		s.mu.Unlock()
		switch {
		case stopped:
			return upstream.Listing{}, upstream.ErrStopped
		case done && st.State == upstream.Ready:
			return l, nil
		case failed && st.State == upstream.Backoff:
			return upstream.Listing{}, fmt.Errorf("%w: %s", upstream.ErrNotConnected, st.Error)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return upstream.Listing{}, fmt.Errorf("%w: %w", upstream.ErrNotConnected, context.Cause(ctx))
		}
	}
}

// connected returns the connection, which the caller must release, and waits
// for one that is being made.
func (s *server) connected(ctx context.Context) (*conn, error) {
	if why := s.spec.Disabled; why != "" {
		return nil, fmt.Errorf("%w: %s", upstream.ErrDisabled, why)
	}
	for {
		s.mu.Lock()
		c, news, st, stopped := s.conn, s.news, s.st, s.stopped
		s.mu.Unlock()
		switch {
		case stopped:
			return nil, upstream.ErrStopped
		case c != nil && c.use():
			return c, nil
		case st.State == upstream.Backoff && !soon(ctx, st.RetryAt):
			return nil, fmt.Errorf("%w: %s; the next attempt is in %v", upstream.ErrNotConnected, st.Error, time.Until(st.RetryAt).Round(100*time.Millisecond))
		}
		select {
		case <-news:
		case <-ctx.Done():
			err := fmt.Errorf("%w: still %s: %w", upstream.ErrNotConnected, st.State, context.Cause(ctx))
			if st.Error != "" {
				err = fmt.Errorf("%w; the attempt before it: %s", err, st.Error)
			}
			return nil, err
		}
	}
}

// soon reports whether an attempt to connect at t is worth waiting for.
func soon(ctx context.Context, t time.Time) bool {
	end, ok := ctx.Deadline()
	return time.Until(t) <= patience && (!ok || t.Before(end))
}

func (s *server) status() upstream.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	st.Error = mask.Cut(s.mask.Text(st.Error), mask.Longest)
	st.InFlight = len(s.places)
	st.Warnings = slices.Clone(s.listing.Warnings)
	if s.garbage != "" {
		st.Warnings = append(st.Warnings, "wrote on stdout what is no MCP: "+s.mask.Text(s.garbage))
	}
	return st
}

// noteGarbage logs text on stdout that is no MCP: loud once, then quietly.
func (s *server) noteGarbage(text string) {
	s.mu.Lock()
	first := s.garbage == ""
	if first {
		s.garbage = text
	}
	s.mu.Unlock()
	level := slog.LevelDebug
	if first {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "text on stdout that is no MCP", "text", text)
}
