package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// An execution is one call of execute_tool, resolved and checked.
type execution struct {
	hit       index.Hit
	name      string // qualified
	arguments json.RawMessage
	timeout   time.Duration
	untouched bool // include_metadata is false
	retryable bool // may run twice, by annotations of a trusted server
}

func (g *Gateway) executeTool(ctx context.Context, raw json.RawMessage, c caller) (*Answer, error) {
	x, err := g.prepare(ctx, raw)
	if err != nil {
		return nil, err
	}
	if g.calls == nil {
		return nil, &callError{
			msg:  fmt.Sprintf("execute_tool %s: this gateway runs no servers", x.name),
			hint: "start it with \"tooldex serve\", or use \"tooldex call\"",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	began := time.Now()
	res, err := g.calls.Call(ctx, g.request(x, c))
	took := time.Since(began)
	if err != nil {
		return nil, g.callFailed(ctx, x, res, err, took)
	}
	answer, err := mapResult(res, x, c, took)
	if err != nil {
		res.Release()
		g.finished(x, false, took, err)
		return nil, &callError{
			msg:  fmt.Sprintf("execute_tool %s: server %s: %v", x.name, x.hit.Tool.Server, err),
			hint: "the server does not keep to the protocol; see its log",
		}
	}
	answer.release = res.Release
	if !answer.needsInput {
		g.finished(x, !answer.IsError, took, nil)
	}
	return answer, nil
}

// prepare reads the arguments of execute_tool, finds the tool and checks its
// arguments.
func (g *Gateway) prepare(ctx context.Context, raw json.RawMessage) (*execution, error) {
	a := readArgs("execute_tool", raw, "tool_name", "arguments", "options")
	name := a.required("tool_name", `give a tool as search_tools names it, "server/tool" or its id`)
	arguments := a.toolArguments()
	options := a.nested("options", "timeout_ms", "include_metadata")
	most := int(g.opts.MaxTimeout.Milliseconds())
	ms := options.integer("timeout_ms", span{1, most, 0})
	x := &execution{arguments: arguments, untouched: !options.flag("include_metadata", true)}
	if err := a.failure(); err != nil {
		return nil, a.misplaced(raw, err)
	}
	hit, err := g.resolve("execute_tool", name)
	if err != nil {
		return nil, err
	}
	x.hit, x.name = hit, shownName(&hit.Tool)
	x.timeout = g.timeout(hit.Tool.Server, ms)
	if why := hit.Tool.Inexecutable; why != "" {
		return nil, &callError{
			msg:  fmt.Sprintf("execute_tool %s: it cannot be executed: %s", x.name, why),
			hint: "get_similar_tools may know an alternative",
		}
	}
	obj, err := g.object(hit)
	if err != nil {
		return nil, err
	}
	x.retryable = g.opts.Servers[hit.Tool.Server].Trusted && obj.repeatable()
	if g.opts.SkipValidation {
		return x, nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	return x, g.check(ctx, x.name, obj, arguments)
}

func (g *Gateway) timeout(server string, ms int) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	if own := g.opts.Servers[server].Timeout; own > 0 {
		return min(own, g.opts.MaxTimeout)
	}
	return g.opts.Timeout
}

// toolArguments reads the key "arguments": an object, or a string that parses
// to one, as models send.
func (a *args) toolArguments() json.RawMessage {
	const hint = "give arguments as an object by the tool's input schema, {} when it takes none"
	raw, ok := a.values["arguments"]
	if !ok || jsonKind(raw) == "null" {
		a.fail("arguments is missing", hint)
		return nil
	}
	switch jsonKind(raw) {
	case "object":
		return raw
	case "string":
		var s string
		if json.Unmarshal(raw, &s) == nil && json.Valid([]byte(s)) && jsonKind([]byte(s)) == "object" {
			return json.RawMessage(s)
		}
	}
	a.fail(fmt.Sprintf("arguments: expected an object, got %s %s", jsonKind(raw), excerpt(raw)), hint)
	return nil
}

// misplaced adds to an error about an unknown key that a tool's own arguments
// belong one level down.
func (a *args) misplaced(raw json.RawMessage, err error) error {
	e, ok := err.(*callError)
	if !ok || !strings.Contains(e.msg, "unknown argument") {
		return err
	}
	return &callError{msg: e.msg, hint: e.hint + `; the tool's own arguments go inside "arguments"`}
}

func (g *Gateway) request(x *execution, c caller) upstream.Request {
	return upstream.Request{
		Server: x.hit.Tool.Server, Tool: x.hit.Tool.Name, Arguments: x.arguments,
		Meta: forwardedMeta(c.meta), Elicitation: c.elicitation,
		InputResponses: c.responses, RequestState: c.state,
		Idempotent: x.retryable, Retries: g.opts.Retries, Progress: c.progress,
	}
}

// protocolPrefix begins the _meta keys that belong to one hop.
const protocolPrefix = "io.modelcontextprotocol/"

// forwardedMeta is a caller's _meta without what belongs to its hop.
func forwardedMeta(meta map[string]any) map[string]any {
	var out map[string]any
	for key, value := range meta {
		if key == "progressToken" || strings.HasPrefix(key, protocolPrefix) {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[key] = value
	}
	return out
}

// callFailed accounts for a call without a result and says why there is none.
func (g *Gateway) callFailed(ctx context.Context, x *execution, res upstream.Result, err error, took time.Duration) error {
	e := &callError{hint: "what it did until then may have taken effect"}
	switch {
	case errors.Is(context.Cause(ctx), errShutdown):
		e.msg = fmt.Sprintf("execute_tool %s: cancelled as %v", x.name, errShutdown)
	case errors.Is(ctx.Err(), context.Canceled):
		e.msg = fmt.Sprintf("execute_tool %s: cancelled by the caller", x.name)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && res.Sent && !errors.Is(err, upstream.ErrNoRoom):
		g.finished(x, false, took, err)
		e.msg = fmt.Sprintf("execute_tool %s: server %s gave no result within %d ms; the call was cancelled",
			x.name, x.hit.Tool.Server, x.timeout.Milliseconds())
		e.hint += fmt.Sprintf("; options.timeout_ms may be up to %d", g.opts.MaxTimeout.Milliseconds())
	default:
		g.finished(x, false, took, err)
		e.msg = fmt.Sprintf("execute_tool %s: server %s: %v", x.name, x.hit.Tool.Server, causeOf(err))
		e.hint = failureHint(x.hit.Tool.Server, res, err)
	}
	return e
}

// causeOf is err without the server's and tool's names, which the message has.
func causeOf(err error) error {
	var call *upstream.CallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// failureHint says what to do about a call without a result.
func failureHint(server string, res upstream.Result, err error) string {
	var answer *jsonrpc.Error
	switch {
	case errors.Is(err, upstream.ErrUnauthorized):
		return fmt.Sprintf("the tool did not run: server %s refused our credentials; check its token or headers in the configuration", server)
	case errors.As(err, &answer):
		return "the server refused the call with this error; describe_tool shows what the tool expects"
	case errors.Is(err, upstream.ErrTooLarge):
		return "ask the tool for less at a time; it has run"
	case errors.Is(err, upstream.ErrNoRoom):
		return "the tool has run; ask it for less at a time, or when other calls have ended"
	case errors.Is(err, upstream.ErrQueueFull):
		return "the tool did not run; call again when others have ended"
	case res.Sent:
		return "the tool may have run; check before calling it again"
	case errors.Is(err, upstream.ErrNotConnected):
		return fmt.Sprintf("the tool did not run; %q says what keeps server %s away, get_similar_tools may know an alternative", "tooldex status", server)
	}
	return "the tool did not run; try again later, or find another with get_similar_tools"
}

// finished counts and logs one execution.
func (g *Gateway) finished(x *execution, ok bool, took time.Duration, err error) {
	g.ix.Record(x.hit.ID, ok, took)
	g.metrics.toolCall(x.hit.Tool.Server, ok, took)
	log := g.log.Debug
	if g.opts.LogCalls {
		log = g.log.Info
	}
	attrs := []any{"tool", x.name, "ok", ok, "ms", took.Milliseconds()}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	log("tool executed", attrs...)
}
