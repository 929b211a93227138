// Package sessions keeps sessions with MCP servers for each caller of its own:
// with servers that are called with a token in place of the caller's (RFC 8693),
// so that they know who calls.
//
// A [Set] opens a session with a caller's first call, keeps so many, and closes
// those that nobody uses. The tools of such a server are listed by the mcp.Set
// that all servers are in; what a session of a caller's lists is dropped.
package sessions

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/gateway/upstream/queue"
)

// Options are the settings that all sessions share. The zero value is ready to
// use.
type Options struct {
	MCP  mcp.Options   // of each session; what concerns listings is not looked at
	Most int           // sessions with one server; 0 means 200
	Idle time.Duration // a session that was not used for this long is closed; 0 means 10 min
}

const (
	defaultMost = 200
	defaultIdle = 10 * time.Minute
)

// A Set keeps the sessions with a number of servers. Its methods are safe for
// concurrent use.
type Set struct {
	o Options

	mu      sync.Mutex // guards the fields below, and those of server and session
	servers map[string]*server
	ctx     context.Context // of Run; nil before and after

	running sync.WaitGroup
}

// A server is one of those that each caller has a session of its own with.
type server struct {
	spec     mcp.Spec
	calls    *queue.Queue // of all sessions
	sessions map[string]*session
}

// A session is that of one caller with one server.
type session struct {
	set     *mcp.Set // of the one server
	subject *login.Subject
	end     context.CancelFunc // nil until it runs
	users   int                // calls under way: when it is dropped, it ends with the last
	used    time.Time          // when the last call ended
}

// New returns a Set without servers.
func New(o Options) *Set {
	if o.Most <= 0 {
		o.Most = defaultMost
	}
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	o.MCP.OnList, o.MCP.Stored = nil, nil
	return &Set{o: o, servers: map[string]*server{}}
}

// own reports a server that each caller has a session of its own with.
func own(sp mcp.Spec) bool {
	return sp.Auth.Type == login.TokenExchange && sp.Disabled == "" && sp.LogsIn()
}

// Apply makes those of specs that are called so the servers of the Set. The
// sessions with servers that are changed or gone end with their last calls.
// Specs are checked by the mcp.Set that lists their tools.
func (s *Set) Apply(specs []mcp.Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.servers
	s.servers = map[string]*server{}
	for _, sp := range specs {
		if !own(sp) {
			continue
		}
		srv := before[sp.Name]
		if srv == nil || !reflect.DeepEqual(srv.spec, sp) {
			srv = &server{spec: sp, calls: upstream.NewQueue(sp.Concurrency, sp.Queue), sessions: map[string]*session{}}
		}
		s.servers[sp.Name] = srv
	}
	for name, srv := range before {
		if s.servers[name] == srv {
			continue
		}
		for caller, se := range srv.sessions {
			srv.drop(caller, se)
		}
	}
}

// Has reports a server of that name.
func (s *Set) Has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[name] != nil
}

// Run closes sessions that nobody uses until ctx ends, and then all. It returns
// when they are closed. A Set takes calls while it runs.
func (s *Set) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	every := time.NewTicker(s.o.Idle / 10)
	defer every.Stop()
	for ctx.Err() == nil {
		select {
		case <-every.C:
			s.sweep()
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.ctx = nil // no session begins any more: the last ones can be waited for
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// sweep closes the sessions that were not used for a while.
func (s *Set) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, srv := range s.servers {
		for caller, se := range srv.sessions {
			if se.users == 0 && time.Since(se.used) >= s.o.Idle {
				srv.drop(caller, se)
			}
		}
	}
}

// Call makes one tools/call in the session of the caller, as [mcp.Set.Call] does.
func (s *Set) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	fail := func(err error) (upstream.Result, error) {
		return upstream.Result{}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Err: err}
	}
	if r.Token == "" || r.Caller == "" {
		return fail(upstream.ErrNoToken)
	}
	srv, se, err := s.take(r)
	if err != nil {
		return fail(err)
	}
	defer s.release(srv, r.Caller, se)
	leave, err := upstream.Enter(ctx, srv.calls, r.Caller, r.Server)
	if err != nil {
		return fail(err)
	}
	defer leave()
	ctx = login.OnBehalfOf(ctx, string(r.Token))
	if err := se.set.Authorize(ctx, r.Server); err != nil {
		return fail(err)
	}
	se.subject.Set(string(r.Token))
	if err := s.begin(se); err != nil {
		return fail(err)
	}
	res, err := se.set.Call(ctx, r)
	if err != nil && !connected(se) { // the next call tries anew, maybe with another token
		s.mu.Lock()
		srv.drop(r.Caller, se)
		s.mu.Unlock()
	}
	return res, err
}

// connected reports a session that is open, or is not known not to be.
func connected(se *session) bool {
	return !slices.ContainsFunc(se.set.Status(), func(st upstream.Status) bool {
		return st.State == upstream.Backoff || st.State == upstream.NeedsLogin
	})
}

// take is the session of the caller, for a call that release ends.
func (s *Set) take(r upstream.Request) (*server, *session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	srv := s.servers[r.Server]
	switch {
	case srv == nil:
		return nil, nil, upstream.ErrUnknownServer
	case s.ctx == nil || s.ctx.Err() != nil:
		return nil, nil, upstream.ErrStopped
	}
	se := srv.sessions[r.Caller]
	if se == nil {
		if len(srv.sessions) >= s.o.Most && !srv.makeRoom() {
			return nil, nil, fmt.Errorf("%w: %d callers have calls of server %s under way", upstream.ErrQueueFull, len(srv.sessions), r.Server)
		}
		set, err := mcp.NewSet([]mcp.Spec{srv.spec}, s.o.MCP)
		if err != nil {
			return nil, nil, err
		}
		se = &session{set: set, subject: &login.Subject{}}
		srv.sessions[r.Caller] = se
	}
	se.users++
	return srv, se, nil
}

// makeRoom drops the session that was not used for the longest time, if there
// is one.
func (srv *server) makeRoom() bool {
	oldest := ""
	for caller, se := range srv.sessions {
		if se.users == 0 && (oldest == "" || se.used.Before(srv.sessions[oldest].used)) {
			oldest = caller
		}
	}
	if oldest == "" {
		return false
	}
	srv.drop(oldest, srv.sessions[oldest])
	return true
}

// begin runs a session for which there is a token.
func (s *Set) begin(se *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx == nil || s.ctx.Err() != nil:
		return upstream.ErrStopped
	case se.end != nil:
		return nil
	}
	ctx, end := context.WithCancel(login.OnBehalf(s.ctx, se.subject))
	se.end = end
	s.running.Go(func() { _ = se.set.Run(ctx) }) // which fails only when it runs already
	return nil
}

// release ends a call.
func (s *Set) release(srv *server, caller string, se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	se.users--
	se.used = time.Now()
	dropped, tokenless := srv.sessions[caller] != se, se.end == nil
	if se.users == 0 && (dropped || tokenless) {
		srv.drop(caller, se)
	}
}

// drop takes a session away from its caller, and ends it when no call is under
// way in it: the last one drops it again.
func (srv *server) drop(caller string, se *session) {
	if srv.sessions[caller] == se {
		delete(srv.sessions, caller)
	}
	if se.users == 0 && se.end != nil {
		se.end()
	}
}

// Add adds to the status of a server what its sessions are doing.
func (s *Set) Add(st *upstream.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if srv := s.servers[st.Name]; srv != nil {
		st.Sessions, st.InFlight = len(srv.sessions), st.InFlight+srv.calls.Taken()
	}
}
