package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/semaphore"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/gateway/upstream/login/dpop"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
	"github.com/tooldex/tooldex/gateway/upstream/rest/web"
)

// protocolVersion is that of MCP which the results are written in: structured
// content may be any JSON.
const protocolVersion = "2026-07-28"

// call runs one tool.
func (a *api) call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	fail := func(sent bool, err error) (upstream.Result, error) {
		return upstream.Result{Sent: sent}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Sent: sent, Err: a.mask.Error(err)}
	}
	if a.spec.Disabled != "" {
		return fail(false, fmt.Errorf("%w: %s", upstream.ErrDisabled, a.spec.Disabled))
	}
	if a.login != nil {
		ctx = login.OnBehalfOf(ctx, string(r.Token))
	}
	have, op, err := a.operation(ctx, r.Tool)
	switch {
	case err != nil:
		return fail(false, fmt.Errorf("%w: %w", upstream.ErrNotConnected, err))
	case op == nil:
		return fail(false, errors.New("its document has no such operation any more"))
	}
	leave, err := upstream.Enter(ctx, a.calls, r.Caller, a.spec.Name)
	if err != nil {
		return fail(false, err)
	}
	defer leave()
	x := &exchange{api: a, op: op}
	if x.base, x.trusted = a.where(have, op); x.base == "" {
		return fail(false, fmt.Errorf("it is not known where calls go: set base_url of server %s", r.Server))
	}
	raw, err := x.repeat(ctx, r)
	var argument *call.ArgumentError
	if errors.As(err, &argument) {
		raw, err = call.Failure(argument.Error()), nil
	}
	if err != nil {
		x.release()
		return fail(x.sent.Load(), x.mask().Error(a.mask.Error(err)))
	}
	return upstream.Result{Raw: a.mask.JSON(x.mask().JSON(raw)), Protocol: protocolVersion, Sent: x.sent.Load(), Released: x.release}, nil
}

// where is the base of an operation, and whether the operator meant it, who
// may mean a private address.
func (a *api) where(have *loaded, op *openapi.Operation) (base string, trusted bool) {
	if op.Server == "" {
		return have.base, have.trusted
	}
	host := hostOf(op.Server)
	own := slices.ContainsFunc(a.spec.Singles, func(s openapi.Single) bool { return s.Name == op.Name })
	listed := slices.ContainsFunc(a.spec.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
	return op.Server, own || listed || have.trusted && host == hostOf(have.base)
}

// An exchange is one request with its repeats.
type exchange struct {
	api     *api
	op      *openapi.Operation
	base    string
	trusted bool
	sent    atomic.Bool // a request may have reached the API
	secrets map[string]string
	share   atomic.Int64 // of room
	denied  error        // why the API takes no token of a login
}

// room bounds the bytes of large replies in memory, as package mcp bounds its
// own.
var room = semaphore.NewWeighted(2 * call.MaxReply)

// takeRoom waits for room for a large reply.
func (x *exchange) takeRoom(ctx context.Context) error {
	if x.share.Load() > 0 {
		return nil
	}
	if err := room.Acquire(ctx, call.MaxReply); err != nil {
		return fmt.Errorf("%w: %w", upstream.ErrNoRoom, context.Cause(ctx))
	}
	x.share.Store(call.MaxReply)
	return nil
}

// release makes room for other replies.
func (x *exchange) release() { room.Release(x.share.Swap(0)) }

// mask hides what was sent as a secret.
func (x *exchange) mask() mask.Masker { return mask.New(x.secrets, nil, x.api.spec.Document) }

const (
	retryPause = 100 * time.Millisecond // before the first repeat, doubled for each further
	maxAfter   = 30 * time.Second       // Retry-After that is waited for
)

// repeat makes the request, and again as often as r allows: when it cannot
// have run, or when running twice does no harm.
func (x *exchange) repeat(ctx context.Context, r upstream.Request) ([]byte, error) {
	renewed := 0 // a token may have been taken back, and the next one lack the server's nonce
	for try := 0; ; try++ {
		res, body, address, err := x.once(ctx, r)
		after := retryPause << min(try, 5)
		switch {
		case ctx.Err() != nil:
		case err != nil && !errors.Is(err, web.ErrPrivate) && try < r.Retries && (!x.sent.Load() || r.Idempotent) && repeatable(err):
			if pause(ctx, after) {
				continue
			}
		case err == nil && turnedAway(res.StatusCode) && (renewed == 0 || renewed == 1 && dpop.WantsNonce(res)) && x.refused(res):
			renewed++
			continue
		case err == nil && busy(res.StatusCode) && r.Idempotent && try < r.Retries:
			if wait := max(after, retryAfter(res)); wait <= maxAfter && pause(ctx, wait) {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		x.judge(res)
		if x.denied != nil && turnedAway(res.StatusCode) {
			return nil, fmt.Errorf("%w (HTTP %s)", x.denied, res.Status)
		}
		return call.Result(res, body, address), nil
	}
}

// repeatable reports an error of the connection.
func repeatable(err error) bool {
	var argument *call.ArgumentError
	return !errors.As(err, &argument) && (errors.Is(err, upstream.ErrNotConnected) || errors.Is(err, upstream.ErrGone))
}

// turnedAway reports replies that want other credentials.
func turnedAway(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// busy reports replies that ask to come again.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

func retryAfter(res *http.Response) time.Duration {
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
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

// once makes the request once and reads the whole reply.
func (x *exchange) once(ctx context.Context, r upstream.Request) (res *http.Response, body []byte, address string, err error) {
	var wrote atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true); x.sent.Store(true) }})
	req, err := call.Build(traced, x.op, x.base, r.Arguments)
	if err != nil {
		return nil, nil, "", err
	}
	for name, text := range x.api.spec.Headers {
		value, values, err := x.api.auth.Secrets.Resolve(ctx, text)
		if err == nil && !httpguts.ValidHeaderFieldValue(value) {
			err = errors.New("its secret has characters that no header may have")
		}
		if err != nil {
			return nil, nil, "", fmt.Errorf("header %s: %w", name, err)
		}
		x.remember(values)
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header)) // nothing, unless calls are traced
	address = req.URL.Redacted()
	secrets, err := x.api.auth.Apply(req)
	if err != nil {
		return nil, nil, "", err
	}
	x.remember(secrets)
	if x.api.login != nil {
		if err := x.api.login.Sign(req); err != nil {
			return nil, nil, "", err
		}
	}
	res, err = x.api.client(x.base, x.trusted).Do(req)
	if err != nil {
		return nil, nil, "", lost(ctx, web.Cause(err), wrote.Load())
	}
	defer res.Body.Close()
	if body, err = call.ReadBody(res, func() error { return x.takeRoom(ctx) }); err != nil {
		switch {
		case errors.Is(err, call.ErrTooLarge):
			err = upstream.ErrTooLarge
		case errors.Is(err, upstream.ErrNoRoom):
		default:
			err = lost(ctx, err, true)
		}
		return nil, nil, "", err
	}
	return res, body, address, nil
}

// refused reports whether other credentials may be had than those that an
// answer refuses.
func (x *exchange) refused(res *http.Response) (again bool) {
	if x.api.login == nil {
		return res.StatusCode == http.StatusUnauthorized && x.api.auth.Refused(res.Request)
	}
	again, x.denied = x.api.login.Refused(res.Request, res)
	return again
}

// remember keeps secrets that were sent, to hide them.
func (x *exchange) remember(secrets []string) {
	if x.secrets == nil {
		x.secrets = map[string]string{}
	}
	for _, s := range secrets {
		x.secrets[strconv.Itoa(len(x.secrets))] = s
	}
}

// lost words an error of the connection.
func lost(ctx context.Context, err error, sent bool) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w while waiting for the answer", context.Cause(ctx))
	case errors.Is(err, web.ErrPrivate):
		return err
	case sent:
		return fmt.Errorf("%w: %w", upstream.ErrGone, err)
	}
	return fmt.Errorf("%w: %w", upstream.ErrNotConnected, err)
}

// judge notes whether the API takes our credentials.
func (x *exchange) judge(res *http.Response) {
	refused := res.StatusCode == http.StatusUnauthorized || x.denied != nil && turnedAway(res.StatusCode)
	if refused && x.api.spec.Login.Type == login.TokenExchange {
		return // says nothing of other callers
	}
	x.api.change(func(st *upstream.Status) {
		switch {
		case refused:
			st.State = upstream.NeedsLogin
			st.Why = "it answered 401 Unauthorized to " + x.op.Method + " " + x.op.Path + ": check auth in the configuration"
			if x.denied != nil {
				st.Why = x.denied.Error()
			}
			st.Error = st.Why
		case st.State == upstream.NeedsLogin && res.StatusCode < 400:
			st.State, st.Why, st.Error = upstream.Ready, "", ""
		}
	})
}
