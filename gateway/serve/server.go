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
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/native"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/serve/heap"
	"github.com/tooldex/tooldex/gateway/serve/turnstile"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/direct"
	"github.com/tooldex/tooldex/gateway/surface/discover"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/surface/toolbox"
	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index/tool"
)

// surfaces are those that Options.Surface may name.
var surfaces = map[string]func(*gateway.Gateway, surface.Options) surface.Surface{
	"meta":     meta.New,
	"direct":   direct.New,
	"discover": discover.New,
	"toolbox":  toolbox.New,
}

// Surfaces are the names that Options.Surface may have.
func Surfaces() []string { return slices.Sorted(maps.Keys(surfaces)) }

// Options configure New. The zero value works.
type Options struct {
	Endpoint string // as the operator calls it
	Name     string // the server's name for clients; "" means "tooldex"
	Version  string // of this program; "" means "dev"

	Surface        string // "" means "meta"
	SurfaceOptions surface.Options
	View           view.View // what the endpoint shows
	// Narrow gives what the caller of a context sees of what the endpoint shows;
	// nil means that each sees all of it.
	Narrow func(ctx context.Context, endpoint string, shows view.View) view.View
	Native bool // list and call the tools themselves, too, as a surface without meta-tools does

	// OnCall is told of every call of a meta-tool when it has been answered, or
	// of a "native" tool, from several goroutines; nil means nobody.
	OnCall func(metaTool string, isError bool, took time.Duration)
	// Auditor is told of calls of tools that are hidden; nil means that they
	// are logged.
	Auditor Auditor

	Metrics *telemetry.Metrics // nil means ones of its own
	Tracer  *telemetry.Tracer  // nil traces nothing
	Logger  *slog.Logger       // nil discards
}

// A Server serves one surface. Its methods are safe for concurrent use.
type Server struct {
	surface surface.Surface
	offer   offer
	opts    Options
	log     *slog.Logger
	server  *mcp.Server
	metrics *telemetry.Metrics

	aborted context.Context // done when calls under way must end
	abort   context.CancelCauseFunc

	underWay turnstile.Gate // calls of meta-tools
	posts    turnstile.Gate // HTTP requests that carry them
	retired  atomic.Bool    // another has its place, or none
	handlers handlers       // of HTTP
	bodies   *bodies        // of its host
	sessions *sessions      // as above
	guard    Guard          // as above
	memories memories

	subscriptions *subscriptions

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
		surface: open(g, o.SurfaceOptions), opts: o, log: o.Logger, metrics: o.Metrics, subscriptions: newSubscriptions(),
	}
	s.offer.tools = native.New(g, s.log)
	s.offer.shown = o.Native || len(s.surface.Tools()) == 0
	s.offer.probes = probesOf(s)
	s.SetView(o.View)
	s.aborted, s.abort = context.WithCancelCause(context.Background())
	if err := s.openServer(); err != nil {
		return nil, err
	}
	s.handlers = newHandlers(s)
	if s.offer.shown {
		s.offer.watcher = s.offer.tools.Watch(func() view.View { return *s.offer.view.Load() }, func() { tellListChanged(s.server) })
	}
	return s, nil
}

// ListChanged tells every client that its list of tools may be another one,
// where tools are shown: grants have changed, of which the view knows nothing.
func (s *Server) ListChanged() {
	if s.offer.shown {
		tellListChanged(s.server)
	}
}

// tellListChanged has the SDK tell every session and subscription: it does so
// only for tools of its own, and once for both changes here.
func tellListChanged(server *mcp.Server) {
	t := &mcp.Tool{Name: "changed-" + rand.Text(), InputSchema: json.RawMessage(`{"type":"object"}`)}
	server.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("there is no such tool")
	})
	server.RemoveTools(t.Name)
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
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics(nil, nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SurfaceOptions.Logger == nil {
		o.SurfaceOptions.Logger = o.Logger
	}
	return o
}

// SetView changes what the endpoint shows.
func (s *Server) SetView(v view.View) { s.offer.setView(v) }

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
	if !s.underWay.Enter() {
		return surface.ErrorAnswer(fmt.Sprintf("%s: %v and takes no further calls", c.Tool, s.whyEnded()), "reconnect and call again")
	}
	defer s.underWay.Leave()
	heap.Enter()
	defer heap.Leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.aborted, func() { cancel(context.Cause(s.aborted)) })()
	began := time.Now()
	c.View = viewOf(ctx, s)
	answer, name, traced := s.surface.Answer, c.Tool, c.Tool
	switch {
	case s.offer.names[name]:
	case s.offer.has(c.View, name):
		answer, name = s.offer.tools.Answer, "native" // there are many
	default:
		name, traced = "unknown", "" // callers choose the names
	}
	from := origin(ctx, s, c)
	ctx, ended := s.traced(ctx, telemetry.Request{Method: "tools/call", Tool: traced, Protocol: c.Protocol, Meta: c.Client.Meta}, from)
	a := answer(gateway.From(ctx, from), c)
	ended(codeOf(a), a.IsError)
	took := time.Since(began)
	s.metrics.MetaCall(name, a.IsError, took)
	if s.opts.OnCall != nil {
		s.opts.OnCall(name, a.IsError, took)
	}
	return a
}

// origin is where a call comes from.
func origin(ctx context.Context, s *Server, c surface.Call) gateway.Origin {
	from := gateway.Origin{Endpoint: s.opts.Endpoint, Request: c.Request}
	if who := auth.Of(ctx); who != nil {
		from.Principal, from.Token = who.Name, upstream.CallerToken(who.Token())
	}
	if c.Session != nil {
		from.Session = c.Session()
	}
	return from
}

// Drain refuses calls from now on and returns when those under way have
// ended. When ctx ends first they are cancelled, and Drain returns ctx's
// error once they have ended.
func (s *Server) Drain(ctx context.Context) error {
	s.subscriptions.end()
	defer s.offer.end()
	if err := s.underWay.Drain(ctx); err != nil {
		s.abort(s.whyEnded())
		<-s.underWay.Shut()
		return fmt.Errorf("drain calls under way: %w", err)
	}
	return nil
}

// whyEnded is why calls end, or are refused, that Drain does not let go on.
func (s *Server) whyEnded() error {
	if s.retired.Load() {
		return retirement{}
	}
	return gateway.ErrShutdown
}

// A retirement is gateway.ErrShutdown of one endpoint.
type retirement struct{}

func (retirement) Error() string        { return "the virtual server was changed or removed" }
func (retirement) Is(target error) bool { return target == gateway.ErrShutdown }

// implementation is what the server says of itself.
func (s *Server) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: s.opts.Name, Version: s.opts.Version}
}

// openServer makes the MCP server of the surface. The list of meta-tools is
// constant: alone it promises no list_changed and lets clients keep it for an
// hour.
func (s *Server) openServer() error {
	s.server = mcp.NewServer(s.implementation(), &mcp.ServerOptions{
		Instructions: s.surface.Instructions(),
		Logger:       quiet(s.log),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: s.offer.shown}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 3_600_000 },
	})
	s.offer.names = map[string]bool{}
	for _, t := range s.surface.Tools() {
		if s.opts.SurfaceOptions.ReadOnly && t.RunsTools {
			t.Effect = tool.Read
		}
		served := toolOf(t)
		s.server.AddTool(served, s.handle)
		definition, err := rawjson.Marshal(served)
		if err != nil {
			return fmt.Errorf("meta-tool %s: %w", t.Name, err)
		}
		s.offer.names[t.Name], s.offer.definitions = true, append(s.offer.definitions, definition)
	}
	s.server.AddReceivingMiddleware(receiving(s))
	return nil
}

// toolOf is a meta-tool as the SDK serves it.
func toolOf(t surface.Tool) *mcp.Tool {
	reads, openWorld := !t.RunsTools || t.Effect == tool.Read, t.RunsTools
	a := &mcp.ToolAnnotations{Title: t.Title, ReadOnlyHint: reads, IdempotentHint: reads, OpenWorldHint: &openWorld}
	if t.RunsTools {
		destructive := t.Effect != tool.Read && t.Effect != tool.Write
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
