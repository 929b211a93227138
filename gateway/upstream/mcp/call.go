package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// reserved begins the _meta keys that belong to the protocol.
const reserved = "io.modelcontextprotocol/"

// progressBuffer is how many progress notifications may wait for a slow
// caller before more are dropped.
const progressBuffer = 64

var tokens atomic.Int64

// callWithin is call within the server's timeout when ctx has no deadline.
func (s *server) callWithin(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, orDuration(s.spec.Timeout, s.o.DefaultTimeout))
		defer cancel()
	}
	return s.call(ctx, r)
}

// call runs one tools/call with the retries that r allows.
func (s *server) call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	fail := func(res upstream.Result, err error) (upstream.Result, error) {
		failed := &upstream.CallError{Server: r.Server, Tool: r.Tool, Sent: res.Sent, Err: s.mask.Error(err)}
		if answer := new(jsonrpc.Error); errors.As(err, &answer) {
			failed.Refused, failed.Code, failed.Data = true, answer.Code, answer.Data
		}
		return res, failed
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return fail(upstream.Result{}, err)
	}
	defer leave()
	for try := 0; ; try++ {
		res, err := s.attempt(ctx, r)
		if err == nil {
			return res, nil
		}
		if try >= r.Retries || ctx.Err() != nil || !repeatable(r, res, err) {
			return fail(res, err)
		}
		s.log.Info("call is repeated", "tool", r.Tool, "error", err)
		if !pause(ctx, retryPause<<min(try, 5)) {
			return fail(res, err)
		}
	}
}

// retryPause is the pause before the first repeat, doubled for each further.
const retryPause = 100 * time.Millisecond

// repeatable reports whether a failed call may be made again: it cannot have
// run, or the caller says that running twice does no harm. What the server
// itself answered stands, and a connection has been waited for already.
func repeatable(r upstream.Request, res upstream.Result, err error) bool {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) || errors.Is(err, upstream.ErrUnauthorized) || wire.IsRefused(err) || errors.Is(err, upstream.ErrStopped) || errors.Is(err, upstream.ErrNotConnected) {
		return false
	}
	return !res.Sent || r.Idempotent
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// enter waits for a place among the calls under way.
func (s *server) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-s.places }
	select {
	case s.places <- struct{}{}:
		return leave, nil
	default:
	}
	if n := s.waiting.Add(1); n > int64(s.queue) {
		s.waiting.Add(-1)
		return nil, fmt.Errorf("%w: %d calls under way and %d waiting: try again later, or raise concurrency or queue of server %s",
			upstream.ErrQueueFull, cap(s.places), s.queue, s.spec.Name)
	}
	defer s.waiting.Add(-1)
	select {
	case s.places <- struct{}{}:
		return leave, nil
	case <-s.gone:
		return nil, upstream.ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for one of %d calls under way: %w", cap(s.places), context.Cause(ctx))
	}
}

// attempt makes the call once.
func (s *server) attempt(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return upstream.Result{}, err
	}
	defer c.release()
	res, err := c.call(ctx, r)
	if answered := new(jsonrpc.Error); err == nil || errors.As(err, &answered) || errors.Is(err, upstream.ErrUnauthorized) {
		s.life.judge(err)
	}
	return res, err
}

// call makes one tools/call over this connection.
func (c *conn) call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	k := &wire.Sink{}
	if r.Progress != nil {
		k.Token = fmt.Sprintf("tooldex-%d", tokens.Add(1))
		k.Progress = make(chan wire.Progress, progressBuffer)
	}
	params, err := c.params(r, k.Token)
	if err != nil {
		return upstream.Result{}, err
	}
	bound, cancel := c.bind(ctx)
	defer cancel(nil)
	defer c.tap.Forget(k)
	err = c.exchange(wire.WithSink(bound, k), params, r.Progress, k)
	raw, fault := k.Outcome()
	res := upstream.Result{Raw: raw, Protocol: c.version(), Sent: k.Sent.Load() && !k.Refused.Load()}
	switch {
	case fault == nil && raw != nil: // which the SDK is told as an error
		if err = checkType(res); err == nil {
			res.Released = c.tap.RoomOf(k).Release
			return res, nil
		}
	case fault != nil:
		err = fault
	case ctx.Err() != nil && k.Held.Load():
		err = fmt.Errorf("%w: %w", upstream.ErrNoRoom, context.Cause(ctx))
	case ctx.Err() != nil:
		err = fmt.Errorf("%w while waiting for the answer", context.Cause(ctx))
	case c.link.Err() != nil || c.ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", upstream.ErrGone, c.cause())
	case err == nil:
		err = errors.New("the answer was not seen")
	default:
		err = fmt.Errorf("%w: %w", upstream.ErrGone, err)
		c.doubt(err)
	}
	res.Raw = nil
	return res, err
}

// checkType returns an error for a result of a type that the protocol does not
// have: it would be taken for a success without content.
func checkType(res upstream.Result) error {
	if res.Protocol < wire.Stateless || !bytes.Contains(res.Raw, []byte(`"resultType"`)) {
		return nil
	}
	var kind json.RawMessage
	rawjson.Each(res.Raw, func(key string, value json.RawMessage) {
		if key == "resultType" {
			kind = value
		}
	})
	switch string(kind) {
	case "", "null", `"complete"`, `"input_required"`:
		return nil
	}
	return fmt.Errorf("the result is of the unknown type %s", wire.Clip(kind, 40))
}

// exchange has the SDK make the call, and meanwhile hands on its progress.
func (c *conn) exchange(ctx context.Context, params *mcp.CallToolParams, report func(progress, total float64, message string), k *wire.Sink) error {
	if report == nil {
		_, err := c.session.CallTool(ctx, params)
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.session.CallTool(ctx, params)
		done <- err
	}()
	for {
		select {
		case p := <-k.Progress:
			report(p.Progress, p.Total, p.Message)
		case err := <-done:
			for len(k.Progress) > 0 {
				p := <-k.Progress
				report(p.Progress, p.Total, p.Message)
			}
			return err
		}
	}
}

// params makes the parameters of a call. Of the caller's _meta the protocol's
// own keys stay behind: they speak of the caller's session, not of ours.
func (c *conn) params(r upstream.Request, token string) (*mcp.CallToolParams, error) {
	p := &mcp.CallToolParams{Name: r.Tool, Arguments: json.RawMessage(`{}`), Meta: mcp.Meta{}}
	if len(r.Arguments) > 0 {
		p.Arguments = r.Arguments
	}
	for key, value := range r.Meta {
		if key != "progressToken" && !strings.HasPrefix(key, reserved) {
			p.Meta[key] = value
		}
	}
	if token != "" {
		p.Meta["progressToken"] = token
	}
	if c.version() < wire.Stateless {
		return p, nil
	}
	if r.Capabilities != nil {
		p.Meta[mcp.MetaKeyClientCapabilities] = r.Capabilities
	}
	if r.RequestState != nil {
		if err := json.Unmarshal(r.RequestState, &p.RequestState); err != nil {
			return nil, fmt.Errorf("requestState: not a string: %w", wire.Plain(err))
		}
	}
	if r.InputResponses != nil {
		var answers map[string]json.RawMessage
		if err := json.Unmarshal(r.InputResponses, &answers); err != nil {
			return nil, fmt.Errorf("inputResponses: not an object: %w", wire.Plain(err))
		}
		p.InputResponses = mcp.InputResponseMap{}
		for id, raw := range answers {
			p.InputResponses[id] = inputResponse{raw: raw}
		}
	}
	return p, nil
}

// An inputResponse goes to the server as the caller sent it.
type inputResponse struct {
	mcp.InputResponse // nil; makes this one of the SDK's
	raw               json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (r inputResponse) MarshalJSON() ([]byte, error) { return r.raw, nil }
