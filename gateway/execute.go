package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway/arguments"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// An ExecuteRequest asks for one run of a tool.
type ExecuteRequest struct {
	Name      string          // as in a DescribeRequest
	Arguments json.RawMessage // an object
	Effect    string          // that the tool must have; "" means any
	Unchecked bool            // leave the arguments to the server
	Timeout   time.Duration   // 0 means the server's, else Options.Timeout
	Client    Client
}

// A Client is what a server is told of the client on whose behalf its tool
// runs. The zero value is one that can nothing but call.
type Client struct {
	Meta           map[string]any  // _meta of the call
	Capabilities   json.RawMessage // an object; nil for a client that speaks a protocol before StatelessEra
	InputResponses json.RawMessage // of the call, nil for none
	RequestState   json.RawMessage // of the call, nil for none
	Progress       func(upstream.Progress)
}

// An Execution is one run of a tool.
type Execution struct {
	Tool   index.Hit
	Took   time.Duration
	Result Result
	// Release makes room for other large results. It is called when this one
	// has been written.
	Release func()
}

// Execute runs one tool and returns its result. A tool's own failure is a
// Result with IsError.
func (g *Gateway) Execute(ctx context.Context, v view.View, r ExecuteRequest) (Execution, error) {
	x, err := g.prepare(ctx, v, r)
	if err != nil {
		g.opts.Audit.denied(ctx, r, err)
		if errors.Is(err, ErrUnknownTool) {
			g.opts.Audit.unknown(ctx, r, g.ix.Resolve)
		}
		return Execution{}, err
	}
	if g.calls == nil {
		return Execution{}, &Error{
			Tool: x.name, Problem: "this gateway runs no servers",
			Next: func(v Vocabulary) string { return "it can search; to run tools, start them with " + v.Start },
		}
	}
	release, err := g.opts.Limits.Call(used(ctx, x.hit.Tool.Server))
	if err != nil {
		return Execution{}, beyond(x.name, err)
	}
	defer release()
	if err := g.opts.Audit.intend(ctx, x); err != nil {
		return Execution{}, err
	}
	began := time.Now()
	done, err := x.run(ctx, g)
	g.opts.Audit.executed(ctx, x, done.Result, err, time.Since(began))
	return done, err
}

// run runs the tool.
func (x *prepared) run(ctx context.Context, g *Gateway) (Execution, error) {
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	began := time.Now()
	sent, err := g.calls.Call(ctx, x.request(OriginOf(ctx), g.opts.Retries))
	took := time.Since(began)
	if err != nil {
		return Execution{}, g.callFailed(ctx, x, sent, err, took)
	}
	res, err := readResult(sent.Raw)
	if err != nil {
		sent.Release()
		g.finished(x, false, took, err)
		return Execution{}, &Error{
			Tool: x.name, Problem: fmt.Sprintf("server %s: %v", x.hit.Tool.Server, err),
			Next: say("the server does not keep to the protocol; see its log"),
		}
	}
	if res.NeedsInput {
		if missing := unanswerable(res.InputRequests, x.asked.Client.Capabilities, sent.Protocol); missing != "" {
			sent.Release()
			return Execution{}, &Error{
				Tool: x.name,
				Problem: fmt.Sprintf("server %s asks for input from the user, which only a client on protocol %s with %s can give",
					x.hit.Tool.Server, StatelessEra, missing),
				Next: say("give all the input in arguments, or use such a client"),
			}
		}
	} else {
		g.finished(x, !res.IsError, took, nil)
		if g.opts.Learner != nil && !res.IsError {
			g.opts.Learner.Executed(ctx, x.hit.ID)
		}
	}
	return Execution{Tool: x.hit, Took: took, Result: res, Release: sent.Release}, nil
}

// A prepared call is resolved and checked.
type prepared struct {
	asked     ExecuteRequest
	hit       index.Hit
	name      string // qualified
	timeout   time.Duration
	retryable bool // may run twice, by annotations of a trusted server
}

// prepare finds the tool and checks its arguments.
func (g *Gateway) prepare(ctx context.Context, v view.View, r ExecuteRequest) (*prepared, error) {
	hit, err := g.Resolve(v, r.Name)
	if err != nil {
		return nil, err
	}
	x := &prepared{asked: r, hit: hit, name: words.ToolName(hit.Tool.Server, hit.Tool.Name), timeout: g.timeout(hit.Tool.Server, r.Timeout)}
	if !v.Runs(&hit.Tool) { // before anything else is said about the call
		return nil, &Error{
			Tool: x.name, Problem: "you may see this tool but not run it; it did not run",
			Next: say("running it needs a grant of role use, which the operator of this gateway can give"),
			Near: []index.Hit{hit}, Err: ErrNotRunnable,
		}
	}
	if has := g.operator(hit.Tool.Server).effect(&hit.Tool); r.Effect != "" && has != r.Effect {
		return nil, &Error{
			Tool: x.name, Problem: fmt.Sprintf("it did not run: its effect is %s, not %s", has, r.Effect),
			Next: say("run it as what it is"), Effect: has, Near: []index.Hit{hit}, Err: ErrOtherEffect,
		}
	}
	if why := hit.Tool.Inexecutable; why != "" {
		return nil, &Error{
			Tool: x.name, Problem: "it cannot be executed: " + why,
			Next: func(v Vocabulary) string { return v.Similar + " may know an alternative" },
		}
	}
	obj, err := g.object(hit)
	if err != nil {
		return nil, err
	}
	x.retryable = g.operator(hit.Tool.Server).Trusted && obj.repeatable()
	if g.opts.SkipValidation || r.Unchecked {
		return x, nil
	}
	return x, g.check(ctx, x, obj.input, r.Arguments)
}

func (g *Gateway) timeout(server string, asked time.Duration) time.Duration {
	own := g.operator(server).Timeout
	switch {
	case asked > 0:
		return min(asked, g.opts.MaxTimeout)
	case own > 0:
		return min(own, g.opts.MaxTimeout)
	}
	return g.opts.Timeout
}

// check reports how the arguments break the tool's schema.
func (g *Gateway) check(ctx context.Context, x *prepared, schema *arguments.Schema, given json.RawMessage) error {
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	err := g.checker.Check(ctx, x.name, schema, given)
	var wrong *arguments.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &Error{Tool: x.name, Problem: wrong.Problem, Next: say(wrong.Hint), Err: err}
	case errors.Is(err, ErrShutdown):
		return &Error{
			Tool: x.name, Problem: fmt.Sprintf("cancelled as %v", context.Cause(ctx)),
			Next: say("the tool did not run; reconnect and call again"), Err: err,
		}
	case ctx.Err() != nil:
		return &Error{
			Tool: x.name, Problem: "the time was up before its arguments were checked",
			Next: say("the tool did not run; call it again"), Err: err,
		}
	}
	g.log.Debug("arguments not validated", "tool", x.name, "error", err)
	return nil
}

// request is what goes to the server.
func (x *prepared) request(from Origin, retries int) upstream.Request {
	r, c := x.asked, x.asked.Client
	return upstream.Request{
		Server: x.hit.Tool.Server, Tool: x.hit.Tool.Name, Arguments: r.Arguments,
		Meta: forwardedMeta(c.Meta), Caller: from.Principal, Token: from.Token, Capabilities: inputCapabilities(c.Capabilities),
		InputResponses: c.InputResponses, RequestState: c.RequestState,
		Idempotent: x.retryable, Retries: retries, Progress: c.Progress,
	}
}

// protocolPrefix begins the _meta keys that belong to one hop.
const protocolPrefix = "io.modelcontextprotocol/"

// forwardedMeta is a client's _meta without what belongs to its hop.
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
func (g *Gateway) callFailed(ctx context.Context, x *prepared, res upstream.Result, err error, took time.Duration) error {
	const mayHaveRun = "what it did until then may have taken effect"
	e := &Error{Tool: x.name, Next: say(mayHaveRun), Near: []index.Hit{x.hit}, Err: err}
	switch {
	case errors.Is(context.Cause(ctx), ErrShutdown):
		e.Problem = fmt.Sprintf("cancelled as %v", context.Cause(ctx))
	case errors.Is(ctx.Err(), context.Canceled):
		e.Problem = "cancelled by the caller"
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && res.Sent && !errors.Is(err, upstream.ErrNoRoom):
		g.finished(x, false, took, err)
		e.Problem = fmt.Sprintf("server %s gave no result within %d ms; the call was cancelled", x.hit.Tool.Server, x.timeout.Milliseconds())
		e.Next = func(v Vocabulary) string {
			return fmt.Sprintf("%s; %s may be up to %d ms", mayHaveRun, v.Timeout, g.opts.MaxTimeout.Milliseconds())
		}
	default:
		g.finished(x, false, took, err)
		e.Problem = words.OfServer(x.hit.Tool.Server, causeOf(err))
		e.Next = failureAdvice(x.hit.Tool.Server, res, err)
		if errors.Is(err, upstream.ErrNotConnected) && !res.Sent {
			e.Err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return e
}

// causeOf is err without the server's and tool's names, which the message has.
func causeOf(err error) string {
	var call *upstream.CallError
	if errors.As(err, &call) {
		return call.Cause()
	}
	return err.Error()
}

// failureAdvice says what to do about a call without a result.
func failureAdvice(server string, res upstream.Result, err error) Advice {
	var call *upstream.CallError
	switch {
	case errors.Is(err, upstream.ErrNeedsLogin):
		return say("the tool did not run; call it again when its operator has run that command, which opens a browser")
	case errors.Is(err, upstream.ErrUnauthorized):
		return say(fmt.Sprintf("the tool did not run: our credentials for server %s were refused; check its auth, token or headers in the configuration", server))
	case errors.Is(err, upstream.ErrNoToken):
		return say("the tool did not run; connect over HTTP with a token of the issuer that auth.oauth of the configuration names")
	case errors.As(err, &call) && call.Refused:
		return func(v Vocabulary) string {
			return "the server refused the call with this error; " + v.Describe + " shows what the tool expects"
		}
	case errors.Is(err, upstream.ErrTooLarge):
		return say("ask the tool for less at a time; it has run")
	case errors.Is(err, upstream.ErrNoRoom):
		return say("the tool has run; ask it for less at a time, or when other calls have ended")
	case errors.Is(err, upstream.ErrQueueFull):
		return say("the tool did not run; call again when others have ended")
	case res.Sent:
		return say("the tool may have run; check before calling it again")
	case errors.Is(err, upstream.ErrNotConnected):
		return func(v Vocabulary) string {
			return fmt.Sprintf("the tool did not run; %s says what keeps server %s away, %s may know an alternative", v.Status, server, v.Similar)
		}
	}
	return func(v Vocabulary) string {
		return "the tool did not run; try again later, or find another with " + v.Similar
	}
}

// finished counts and logs one execution.
func (g *Gateway) finished(x *prepared, ok bool, took time.Duration, err error) {
	g.ix.Record(x.hit.ID, ok, took)
	g.opts.Executed(x.hit.Tool.Server, ok, took)
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
