package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
	"github.com/tooldex/tooldex/gateway/upstream/supervise"
)

// Options are the settings that all servers of a Set share. The zero value is
// ready to use.
type Options struct {
	// OnList is called with each complete list of a server's tools, one at a
	// time for one server; nil drops them. Its ctx ends with Run's. It may
	// take its time, which only that server's next list waits for.
	OnList func(ctx context.Context, server string, l upstream.Listing)

	// Memory keeps which protocol each server speaks for the next process;
	// nil forgets.
	Memory Memory

	Logger          *slog.Logger        // nil discards
	Client          *mcp.Implementation // what we call ourselves; nil means tooldex
	DefaultTimeout  time.Duration       // of a call whose ctx has no deadline; 0 means 30 s
	ConnectTimeout  time.Duration       // from start to handshake where a Spec has no StartTimeout; 0 means 60 s
	DiscoverTimeout time.Duration       // for an answer to server/discover, on stdio from the first output on; 0 means 10 s
	ListTimeout     time.Duration       // of one listing, all pages; 0 means 1 min
	Starts          int                 // programs started at the same moment; 0 means one a core

	// Stored tells what is known of a server's tools from before: how many
	// there are, and when they were listed, zero if never. It decides when a
	// server that nobody calls is started to list them. Nil knows nothing.
	Stored func(server string) (tools int, listed time.Time)

	// Logins keeps the logins to servers over HTTP; nil keeps none.
	Logins login.Store

	listenPause time.Duration    // before a stream of changes is opened again; 0 means 1 s
	lookAgain   time.Duration    // as the constant; 0 means that
	secrets     *secret.Resolver // that its Specs refer to
	room        *wire.Room       // for large messages; nil means that of the process

	useless func() *wire.Allowance // what a connection may write for nothing; nil means wire.NewAllowance

	startProcess func(stdio.Command, *slog.Logger) (*stdio.Process, error) // nil means stdio.Start
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = &mcp.Implementation{Name: "tooldex", Version: "dev"}
	}
	if o.OnList == nil {
		o.OnList = func(context.Context, string, upstream.Listing) {}
	}
	if o.Memory == nil {
		o.Memory = forgetful{}
	}
	o.DefaultTimeout = orDuration(o.DefaultTimeout, 30*time.Second)
	o.ConnectTimeout = orDuration(o.ConnectTimeout, time.Minute)
	o.DiscoverTimeout = orDuration(o.DiscoverTimeout, 10*time.Second)
	o.ListTimeout = orDuration(o.ListTimeout, time.Minute)
	o.listenPause = orDuration(o.listenPause, time.Second)
	if o.Starts <= 0 {
		o.Starts = runtime.NumCPU()
	}
	o.lookAgain = orDuration(o.lookAgain, lookAgain)
	o.secrets = &secret.Resolver{}
	if o.startProcess == nil {
		o.startProcess = stdio.Start
	}
	return o
}

func orDuration(d, or time.Duration) time.Duration {
	if d <= 0 {
		return or
	}
	return d
}

// A Set keeps the connections to a number of servers, which Apply may change
// at any time. Its methods are safe for concurrent use.
type Set struct {
	o      Options
	starts gate // shared by all programs
	dials  gate // shared by all servers over HTTP

	servers *supervise.Supervisor[Spec, *server]
}

// NewSet checks the specs, all of them, and returns a Set that Run brings to
// life.
func NewSet(specs []Spec, o Options) (*Set, error) {
	o = o.withDefaults()
	s := &Set{o: o, starts: newGate(o.Starts), dials: newGate(maxDials)}
	s.servers = supervise.New(func(sp Spec) string { return sp.Name }, func(sp Spec) *server { return newServer(sp, o, s.gateOf(sp)) })
	_, err := s.Apply(specs)
	return s, err
}

// Run connects to the servers as they are needed, and to those that are Eager
// at once, until ctx ends. It returns nil once every session, process and goroutine has stopped. A Set
// runs once.
func (s *Set) Run(ctx context.Context) error { return s.servers.Run(ctx) }

// gateOf is where a server waits for its turn to be connected.
func (s *Set) gateOf(sp Spec) gate {
	if sp.Command == "" {
		return s.dials
	}
	return s.starts
}

// named is the server of this name, nil if there is none.
func (s *Set) named(name string) *server { return s.servers.Named(name) }

// Call makes one tools/call and waits for its result, for a server that is
// connecting too, until ctx ends or the server's timeout has passed when ctx
// has no deadline. Errors are of type *CallError and wrap one of this package
// or the server's *jsonrpc.Error. The Result says even then whether the call
// may have run.
func (s *Set) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	for {
		srv := s.named(r.Server)
		if srv == nil {
			return upstream.Result{}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Err: upstream.ErrUnknownServer}
		}
		res, err := srv.callWithin(ctx, r)
		if res.Sent || !errors.Is(err, upstream.ErrStopped) || s.named(r.Server) == srv {
			return res, err
		}
		// It was replaced while the call waited for it.
	}
}

// Refresh has a server list its tools now and returns the list, after OnList
// has had it. It ends a pause between two attempts to connect.
func (s *Set) Refresh(ctx context.Context, server string) (upstream.Listing, error) {
	srv := s.named(server)
	if srv == nil {
		return upstream.Listing{}, fmt.Errorf("refresh %s: %w", server, upstream.ErrUnknownServer)
	}
	l, err := srv.refresh(ctx)
	if err != nil {
		return upstream.Listing{}, fmt.Errorf("refresh %s: %w", server, srv.mask.Error(err))
	}
	return l, nil
}

// Authorize has a token ready with which a server is called on behalf of whom
// ctx says, and says why there is none.
func (s *Set) Authorize(ctx context.Context, server string) error {
	srv := s.named(server)
	if srv == nil {
		return upstream.ErrUnknownServer
	}
	if g, ok := srv.signer.(*signer); ok && g.login != nil {
		return g.login.Check(ctx)
	}
	return nil
}

// Status describes all servers, in the order of their specs.
func (s *Set) Status() []upstream.Status {
	servers := s.servers.All()
	all := make([]upstream.Status, 0, len(servers))
	for _, srv := range servers {
		all = append(all, srv.status())
	}
	return all
}

// Source is the Source of the Spec of this name, "" if there is none.
func (s *Set) Source(name string) string {
	if srv := s.named(name); srv != nil {
		return srv.spec.Source()
	}
	return ""
}
