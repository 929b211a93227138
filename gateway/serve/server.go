// Package serve puts a surface on the wire: over stdio and streamable HTTP, for
// both eras of MCP (handshake up to 2025-11-25, stateless from 2026-07-28).
//
// Protocol errors are for malformed requests only; whatever goes wrong in a
// meta-tool is a result. Results keep their bytes.
//
// Limits: the surface is fixed for the life of a Server.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/discover"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/surface/toolbox"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
)

// surfaces are those that Options.Surface may name.
var surfaces = map[string]func(*gateway.Gateway, surface.Options) surface.Surface{
	"meta":     meta.New,
	"discover": discover.New,
	"toolbox":  toolbox.New,
}

// Surfaces are the names that Options.Surface may have.
func Surfaces() []string { return slices.Sorted(maps.Keys(surfaces)) }

// Options configure New. The zero value works.
type Options struct {
	Name    string // the server's name for clients; "" means "tooldex"
	Version string // of this program; "" means "dev"

	Surface        string // "" means "meta"
	SurfaceOptions surface.Options
	View           view.View // what callers see
	Off            bool      // serve only the endpoints that are mounted

	MaxSessions int      // most sessions, and most streams without one, over HTTP that clients keep open; 0 means 1,000
	Hosts       []string // Host names accepted beside the loopback ones

	// OnCall is told of every call of a meta-tool when it has been answered,
	// from several goroutines; nil means nobody.
	OnCall func(metaTool string, isError bool, took time.Duration)

	Metrics *Metrics     // nil means ones of its own
	Logger  *slog.Logger // nil discards
}

// A Server serves one surface. Its methods are safe for concurrent use.
type Server struct {
	surface surface.Surface
	names   map[string]bool // of its meta-tools
	opts    Options
	log     *slog.Logger
	server  *mcp.Server
	metrics *Metrics

	aborted context.Context // done when calls under way must end
	abort   context.CancelCauseFunc

	underWay turnstile // calls of meta-tools
	posts    turnstile // HTTP requests that carry them
	bodies   *bodies
	sessions *sessions
	memories memories
	mounted  map[string]*Server // other endpoints, by name
	view     atomic.Pointer[view.View]

	unreadTimeout time.Duration // 0 means the constant
}

// New returns a server of the surface over g; its error names a surface that
// does not exist.
func New(g *gateway.Gateway, o Options) (*Server, error) {
	o = o.withDefaults()
	open, ok := surfaces[o.Surface]
	if !ok {
		return nil, fmt.Errorf("there is no surface %q%s (there are %s)", o.Surface, words.DidYouMean(o.Surface, Surfaces()), words.Join(Surfaces()))
	}
	s := &Server{
		surface: open(g, o.SurfaceOptions), names: map[string]bool{}, opts: o, log: o.Logger, metrics: o.Metrics,
		sessions: newSessions(o.MaxSessions), bodies: newBodies(),
	}
	for _, t := range s.surface.Tools() {
		s.names[t.Name] = true
	}
	s.SetView(o.View)
	s.aborted, s.abort = context.WithCancelCause(context.Background())
	s.server = s.newServer()
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "tooldex"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Surface == "" {
		o.Surface = "meta"
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = maxSessions
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil, nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SurfaceOptions.Logger == nil {
		o.SurfaceOptions.Logger = o.Logger
	}
	return o
}

// SetView changes what callers see.
func (s *Server) SetView(v view.View) { s.view.Store(&v) }

// Mount serves other on /servers/NAME/mcp as long as s is served. It is called
// before that.
func (s *Server) Mount(name string, other *Server) {
	if s.mounted == nil {
		s.mounted = map[string]*Server{}
	}
	s.mounted[name] = other
}

// all are s and the endpoints mounted on it.
func (s *Server) all() []*Server {
	return append([]*Server{s}, slices.Collect(maps.Values(s.mounted))...)
}

// Call answers one call of a meta-tool exactly as the MCP server does for a
// client of the newest protocol without elicitation. Whatever goes wrong is
// an Answer with IsError.
func (s *Server) Call(ctx context.Context, tool string, args json.RawMessage) *surface.Answer {
	answer := s.call(ctx, surface.Call{Tool: tool, Arguments: args, Protocol: gateway.StatelessEra})
	answer.Done()
	return answer
}

// call answers one call through the view of this server.
func (s *Server) call(ctx context.Context, c surface.Call) *surface.Answer {
	if !s.underWay.enter() {
		return surface.ErrorAnswer(c.Tool+": this gateway is shutting down and takes no further calls", "reconnect and call again")
	}
	defer s.underWay.leave()
	memory.enter()
	defer memory.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.aborted, func() { cancel(context.Cause(s.aborted)) })()
	began := time.Now()
	c.View = *s.view.Load()
	if c.Session != nil {
		ctx = gateway.InSession(ctx, c.Session())
	}
	answer := s.surface.Answer(ctx, c)
	name := c.Tool
	if !s.names[name] {
		name = "unknown" // callers choose the names
	}
	took := time.Since(began)
	s.metrics.metaCall(name, answer.IsError, took)
	if s.opts.OnCall != nil {
		s.opts.OnCall(name, answer.IsError, took)
	}
	return answer
}

// Drain refuses calls from now on and returns when those under way have
// ended. When ctx ends first they are cancelled, and Drain returns ctx's
// error once they have ended.
func (s *Server) Drain(ctx context.Context) error {
	if err := s.underWay.drain(ctx); err != nil {
		s.abort(gateway.ErrShutdown)
		<-s.underWay.shut()
		return fmt.Errorf("drain calls under way: %w", err)
	}
	return nil
}

// implementation is what the server says of itself.
func (s *Server) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: s.opts.Name, Version: s.opts.Version}
}

// newServer makes the MCP server of the surface. Its list is constant, so it
// promises no list_changed and lets clients keep the list for an hour.
func (s *Server) newServer() *mcp.Server {
	server := mcp.NewServer(s.implementation(), &mcp.ServerOptions{
		Instructions: s.surface.Instructions(),
		Logger:       quiet(s.log),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
	})
	for _, t := range s.surface.Tools() {
		server.AddTool(toolOf(t), s.handle)
	}
	server.AddReceivingMiddleware(rawResults)
	return server
}

// toolOf is a meta-tool as the SDK serves it.
func toolOf(t surface.Tool) *mcp.Tool {
	openWorld := t.RunsTools
	a := &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: !t.RunsTools, IdempotentHint: !t.RunsTools, OpenWorldHint: &openWorld}
	if t.RunsTools {
		destructive := true
		a.DestructiveHint = &destructive
	}
	return &mcp.Tool{
		// Clients with a tool search of their own would hide these, and with
		// them everything behind.
		Meta:        mcp.Meta{"anthropic/alwaysLoad": true},
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		InputSchema: t.Schema,
		Annotations: a,
	}
}
