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
	leave, err := upstream.Enter(ctx, s.calls, r.Caller, s.spec.Name)
	if err != nil {
		return fail(upstream.Result{}, err)
	}
	defer leave()
	for try, relisted := 0, false; ; try++ {
		listings := s.life.at().listings
		res, err := s.attempt(ctx, r)
		if err == nil {
			return res, nil
		}
		if headersDiffer(err) && !relisted && s.listedSince(ctx, listings) {
			relisted = true
			continue
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

// headersDiffer reports an answer that says that the headers of a call, which
// the last listing told us to make, do not fit what it carries.
func headersDiffer(err error) bool {
	var answer *jsonrpc.Error
	return errors.As(err, &answer) && answer.Code == mcp.CodeHeaderMismatch
}

// listedSince has the tools listed again, unless they were after the listings
// given, and reports whether they are.
func (s *server) listedSince(ctx context.Context, listings int) bool {
	if s.life.at().listings > listings {
		return true
	}
	_, err := s.refresh(ctx)
	return err == nil
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

// attempt makes the call once.
func (s *server) attempt(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return upstream.Result{}, err
	}
	defer c.release()
	res, err := c.call(ctx, r)
	if answered := new(jsonrpc.Error); err == nil || errors.As(err, &answered) || errors.Is(err, upstream.ErrUnauthorized) {
		s.life.judge(err, false)
	}
	return res, err
}

// call makes one tools/call over this connection.
func (c *conn) call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	k := &wire.Sink{}
	if r.Progress != nil {
		k.Token = fmt.Sprintf("tooldex-%d", tokens.Add(1))
		k.Progress = make(chan upstream.Progress, progressBuffer)
	}
	params := c.params(r, k)
	bound, cancel := c.bind(ctx)
	defer cancel(nil)
	defer c.tap.Forget(k)
	err := c.exchange(wire.WithSink(bound, k), params, r.Progress, k)
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
func (c *conn) exchange(ctx context.Context, params *mcp.CallToolParams, report func(upstream.Progress), k *wire.Sink) error {
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
			report(p)
		case err := <-done:
			for len(k.Progress) > 0 {
				report(<-k.Progress)
			}
			return err
		}
	}
}

// params makes the parameters of a call, those that the SDK would change in k.
// Of the caller's _meta the protocol's own keys stay behind: they speak of the
// caller's session, not of ours.
func (c *conn) params(r upstream.Request, k *wire.Sink) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: r.Tool, Arguments: json.RawMessage(`{}`), Meta: mcp.Meta{}}
	if len(r.Arguments) > 0 {
		p.Arguments = r.Arguments
	}
	for key, value := range r.Meta {
		if key != "progressToken" && !strings.HasPrefix(key, wire.Reserved) {
			p.Meta[key] = value
		}
	}
	if k.Token != "" {
		p.Meta["progressToken"] = k.Token
	}
	if c.version() < wire.Stateless {
		return p
	}
	if r.Capabilities != nil {
		p.Meta[mcp.MetaKeyClientCapabilities] = r.Capabilities
	}
	if r.RequestState != nil {
		k.Params = append(k.Params, rawjson.Member{Key: "requestState", Value: r.RequestState})
	}
	if r.InputResponses != nil {
		k.Params = append(k.Params, rawjson.Member{Key: "inputResponses", Value: r.InputResponses})
	}
	return p
}
