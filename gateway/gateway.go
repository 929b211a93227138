// Package gateway serves a catalog of tools to MCP clients through six
// meta-tools: search_tools, list_tools, describe_tool, execute_tool,
// get_tool_categories and get_similar_tools.
//
// A [Gateway] joins an [index.Index], which finds tools, to a [Caller], which
// runs them. [Gateway.Call] answers one meta-tool call in process;
// [Gateway.Server], [Gateway.Handler], [Gateway.Serve] and
// [Gateway.ServeStdio] put the same answers on the wire for both eras of the
// protocol (handshake up to 2025-11-25, stateless from 2026-07-28).
// [Gateway.Sync] is the other direction: it stores what an upstream listed.
//
// Whatever goes wrong in a meta-tool is a result with isError and one JSON
// object {"error", "hint"}; protocol errors are for malformed requests only.
// What the scope hides is answered exactly as what does not exist.
//
// Limits: the surface is fixed for the life of a Gateway; the upstreams'
// prompts and resources are not served; a caller's inputResponses and _meta
// go upstream through the SDK's types, so integers there beyond 2^53 round.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// A Caller runs one tool on its server. Its error means that there is no
// result; a tool's own failure is a result with isError. Call honours ctx's
// deadline and cancellation, and is safe for concurrent use.
type Caller interface {
	Call(ctx context.Context, r upstream.Request) (upstream.Result, error)
}

var _ Caller = (*upstream.Set)(nil)

// Options configure New. The zero value works.
type Options struct {
	Name    string // the server's name for clients; "" means "tooldex"
	Version string // of this program; "" means "dev"

	DefaultLimit int // rows of search_tools without a limit; 0 means 10
	MaxLimit     int // most rows of search_tools; 0 means 50

	Timeout        time.Duration // of a call without timeout_ms; 0 means 30 s
	MaxTimeout     time.Duration // most that timeout_ms may ask for; 0 means 300 s
	Retries        int           // repeats of a call that allows them; 0 means none
	SkipValidation bool          // do not check arguments against the tool's schema

	// Off names meta-tools that answer only that they are turned off, with
	// the setting that says so. They stay listed: the surface is constant.
	Off map[string]string

	MaxSessions int // most sessions over HTTP that clients keep open; 0 means 1,000

	MetricsInSearch bool // add each tool's metrics to the rows of search_tools
	LogCalls        bool // log every execution at level info, else debug

	Servers map[string]Server        // what the operator says of each server, by name
	Scope   func(*index.Tool) bool   // the tools that callers may see; nil allows all
	Status  func() []upstream.Status // for /metrics and /readyz; nil means no upstreams
	Hosts   []string                 // Host names accepted beside the loopback ones
	Logger  *slog.Logger             // nil discards
}

// A Gateway answers the meta-tools. Its methods are safe for concurrent use.
type Gateway struct {
	ix      *index.Index
	calls   Caller
	opts    Options
	log     *slog.Logger
	tools   map[string]metaTool
	server  *mcp.Server
	objects *objectCache
	heavy   lane // for checks of arguments that take long
	metrics *metrics
	about   aboutServers

	aborted context.Context // done when calls under way must end
	abort   context.CancelCauseFunc

	underWay turnstile // calls of meta-tools
	posts    turnstile // HTTP requests that carry them
	bodies   *bodies
	sessions *sessions
}

// A metaTool answers the calls of one meta-tool.
type metaTool func(ctx context.Context, args json.RawMessage, c caller) (*Answer, error)

// New returns a gateway over ix. A nil calls makes every execute_tool an
// error; everything else works.
func New(ix *index.Index, calls Caller, o Options) *Gateway {
	o = o.withDefaults()
	g := &Gateway{
		ix: ix, calls: calls, opts: o, log: o.Logger,
		objects: newObjectCache(), heavy: make(lane, 1), sessions: newSessions(o.MaxSessions), bodies: newBodies(),
	}
	g.aborted, g.abort = context.WithCancelCause(context.Background())
	g.metrics = newMetrics(ix, o.Status)
	g.tools = map[string]metaTool{
		"search_tools":        g.searchTools,
		"list_tools":          g.listTools,
		"describe_tool":       g.describeTool,
		"execute_tool":        g.executeTool,
		"get_tool_categories": g.toolCategories,
		"get_similar_tools":   g.similarTools,
	}
	g.server = g.newServer()
	return g
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "tooldex"
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.MaxLimit <= 0 {
		o.MaxLimit = 50
	}
	if o.DefaultLimit <= 0 {
		o.DefaultLimit = min(10, o.MaxLimit)
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = maxSessions
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 300 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = min(30*time.Second, o.MaxTimeout)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server is the MCP server that offers the meta-tools.
func (g *Gateway) Server() *mcp.Server { return g.server }

// Call answers one call of a meta-tool exactly as the MCP server does for a
// client of the newest protocol without elicitation. Whatever goes wrong is
// an Answer with IsError.
func (g *Gateway) Call(ctx context.Context, tool string, args json.RawMessage) *Answer {
	answer := g.call(ctx, tool, args, caller{protocol: statelessEra})
	answer.done()
	return answer
}

func (g *Gateway) call(ctx context.Context, tool string, args json.RawMessage, c caller) *Answer {
	if !g.underWay.enter() {
		return errorAnswer(&callError{
			msg:  tool + ": this gateway is shutting down and takes no further calls",
			hint: "reconnect and call again",
		})
	}
	defer g.underWay.leave()
	memory.enter()
	defer memory.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.aborted, func() { cancel(context.Cause(g.aborted)) })()
	began := time.Now()
	answer, err := g.answer(ctx, tool, args, c)
	if err != nil {
		answer = errorAnswer(g.told(tool, err))
	}
	g.metrics.metaCall(tool, answer.IsError, time.Since(began))
	return answer
}

// told is err as callers are told it. Failures that are none of the caller's
// are logged too.
func (g *Gateway) told(tool string, err error) *callError {
	var e *callError
	if errors.As(err, &e) {
		return e
	}
	g.log.Error("meta-tool failed", "meta_tool", tool, "error", err)
	return &callError{
		msg:  tool + ": " + strings.TrimPrefix(err.Error(), tool+": "),
		hint: "this is a failure of the gateway; \"tooldex doctor\" looks for its cause",
	}
}

func (g *Gateway) answer(ctx context.Context, tool string, args json.RawMessage, c caller) (*Answer, error) {
	run, ok := g.tools[tool]
	if !ok {
		names := metaToolNames()
		return nil, &callError{
			msg:  fmt.Sprintf("unknown meta-tool %q%s", excerptText(tool), didYouMean(tool, names)),
			hint: "the meta-tools are " + join(names),
		}
	}
	if setting, off := g.opts.Off[tool]; off {
		return nil, &callError{msg: tool + ": the operator turned it off (" + setting + ")", hint: "use search_tools or list_tools"}
	}
	return run(ctx, args, c)
}

var errShutdown = errors.New("the gateway is shutting down")

// Drain refuses calls from now on and returns when those under way have
// ended. When ctx ends first they are cancelled, and Drain returns ctx's
// error once they have ended.
func (g *Gateway) Drain(ctx context.Context) error {
	if err := g.underWay.drain(ctx); err != nil {
		g.abort(errShutdown)
		<-g.underWay.shut()
		return fmt.Errorf("drain calls under way: %w", err)
	}
	return nil
}
