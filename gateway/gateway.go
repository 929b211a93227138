// Package gateway is what a caller can do with the tools of many servers:
// search, list, describe and execute them, count their categories and find
// similar ones.
//
// A [Gateway] joins an [Index], which finds tools, to a [Caller], which runs
// them. Each operation is a method that takes a [view.View], which is what the
// caller sees of the catalog, and a request, and returns typed values. What
// the view hides is answered exactly as what does not exist. A failure that
// concerns the caller is an [Error]: what is wrong with which thing, and what
// to do next, in the caller's own [Vocabulary]. [Gateway.Sync] is the other
// direction: it stores what a server listed.
//
// The packages around it, each of which imports only those after it: serve
// puts surfaces on the wire, in both eras of MCP; surface turns the arguments
// of meta-tools into operations and results into JSON; this package; view;
// arguments checks arguments; upstream keeps connections to servers.
//
// Limits: prompts and resources of servers are not served.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/gateway/arguments"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// StatelessEra is the first protocol version without a handshake. Versions
// are dates and compare as text.
const StatelessEra = "2026-07-28"

// ErrShutdown is the cause with which the contexts of operations end when the
// process does.
var ErrShutdown = errors.New("the gateway is shutting down")

// A Caller runs one tool on its server; package upstream/mcp has one. Its error means that there is no
// result; a tool's own failure is a result with isError. Call honours ctx's
// deadline and cancellation, and is safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, r upstream.Request) (upstream.Result, error)
}

// An Index holds the catalog. [index.Index] is one.
type Index interface {
	Finder
	Catalog
	Counter
}

// A Finder ranks tools.
type Finder interface {
	Search(ctx context.Context, q index.Query) (*index.Results, error)
	Similar(ctx context.Context, id string, f index.Filter, limit int) ([]index.Neighbor, error)
}

// A Catalog reads and replaces the tools of servers.
type Catalog interface {
	Names
	Reader
	Replace(ctx context.Context, server string, tools []index.Tool) (index.Diff, error)
}

// Names finds tools by name among those that scope allows.
type Names interface {
	Resolve(name string, scope *index.Scope) []index.Hit
	Suggest(name string, scope *index.Scope, n int) []index.Hit
}

// A Reader reads some tools or all.
type Reader interface {
	Lister
	Enumerator
}

// A Lister reads tools in order, their labels, and what servers sent.
type Lister interface {
	List(l index.Listing) (hits []index.Hit, total int)
	Categories(f index.Filter) (categories, tags, servers []index.CategoryCount, total int)
	Raw(id string) (json.RawMessage, error)
}

// An Enumerator tells of all tools at once, and when there may be others.
type Enumerator interface {
	Entries(scope *index.Scope) ([]index.Entry, index.State)
	State() index.State
	Watch(changed func()) (stop func())
}

// A Counter counts the executions of tools.
type Counter interface {
	Record(id string, ok bool, took time.Duration)
	Metrics(id string) index.Metrics
}

var (
	_ Index = (*index.Index)(nil)
)

// Options configure New. The zero value works.
type Options struct {
	Timeout        time.Duration // of a call that asks for none; 0 means 30 s
	MaxTimeout     time.Duration // most that a call may ask for; 0 means 300 s
	Retries        int           // repeats of a call that allows them; 0 means none
	SkipValidation bool          // do not check arguments against the tool's schema

	Servers map[string]Server // what the operator says of each server, by name

	LogCalls bool         // log every execution at level info, else debug
	Logger   *slog.Logger // nil discards
	// Executed is called after each execution; nil is not called.
	Executed func(server string, ok bool, took time.Duration)
	// Learner is told of searches and of what follows; nil is none.
	Learner Learner
	Audit   Audit
	// Limits bound what callers ask for; nil bounds nothing.
	Limits Limiter
}

// A Gateway does what callers ask for. Its methods are safe for concurrent
// use.
type Gateway struct {
	ix      Index
	calls   Caller
	opts    Options
	log     *slog.Logger
	objects *objectCache
	checker *arguments.Checker
	about   aboutServers
	servers atomic.Pointer[map[string]Server] // Options.Servers, or what SetServers put in their place
}

// New returns a gateway over ix. With a nil calls every Execute is an error;
// everything else works.
func New(ix Index, calls Caller, o Options) *Gateway {
	o = o.withDefaults()
	g := &Gateway{ix: ix, calls: calls, opts: o, log: o.Logger, objects: newObjectCache(), checker: arguments.NewChecker()}
	g.servers.Store(&o.Servers)
	return g
}

func (o Options) withDefaults() Options {
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 300 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = min(30*time.Second, o.MaxTimeout)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Limits == nil {
		o.Limits = unlimited{}
	}
	if o.Executed == nil {
		o.Executed = func(string, bool, time.Duration) {}
	}
	return o
}

// Timeouts are how long a call may take that does not say, and at most.
func (g *Gateway) Timeouts() (otherwise, most time.Duration) {
	return g.opts.Timeout, g.opts.MaxTimeout
}
