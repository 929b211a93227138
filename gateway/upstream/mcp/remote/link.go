package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// headerTimeout bounds the wait for the head of a stream that the SDK opens
// beside the calls, and goodbyeTimeout that for the end of a session.
const (
	headerTimeout  = 10 * time.Second
	goodbyeTimeout = time.Second
)

// maxIdleConns is how many connections to a server are kept for the next
// calls; the transport closes those that wait long.
const maxIdleConns = 32

var errSilent = errors.New("no answer in time")

// A Link is the way to a server over HTTP, streamable or legacy SSE. It is the
// RoundTripper under the SDK's transports: it adds the configured headers,
// bounds and taps bodies, and turns answers that would end the SDK's session
// into errors of the one request.
type Link struct {
	o      Options
	tap    *wire.Tap
	origin *url.URL
	base   *http.Transport
	ctx    context.Context // of every request
	cancel context.CancelFunc

	initStatus atomic.Int32 // HTTP status of the answer to initialize
	undialled  atomic.Bool  // the last request did not reach the server
	refused    atomic.Bool  // server/discover was answered by an error
	unclear    atomic.Bool  // server/discover failed in a way that tells nothing of the era
	final      atomic.Bool  // cause is one that no other era mends

	mu    sync.Mutex // guards cause
	cause error
}

// Options say which server a link leads to.
type Options struct {
	URL         string            // that parses
	Headers     map[string]string // of every request
	Signer      Signer            // of every request; nil for none
	Secret      bool              // the Signer adds what the operator wrote
	SSE         bool              // legacy HTTP+SSE: answers come on the stream of the one GET
	Patience    time.Duration     // with the answer to server/discover; 0 waits for it alone
	ListenPause time.Duration     // before a stream of changes is opened again
	Changed     func()            // called when the list of tools may have changed
	Doubt       func(error)       // called when the session should be opened again
}

// NewLink returns a link whose messages t sees.
func NewLink(t *wire.Tap, o Options) *Link {
	l := &Link{o: o, tap: t}
	l.origin, _ = url.Parse(o.URL)
	l.base = http.DefaultTransport.(*http.Transport).Clone()
	// The default of 2 would have most of many calls at once dial anew.
	l.base.MaxIdleConnsPerHost = maxIdleConns
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Transport returns the SDK's transport over the link.
func (l *Link) Transport() mcp.Transport {
	client := &http.Client{Transport: l}
	if l.o.SSE {
		return &mcp.SSEClientTransport{Endpoint: l.o.URL, HTTPClient: client, MaxEventSize: -1}
	}
	return &mcp.StreamableClientTransport{Endpoint: l.o.URL, HTTPClient: client, MaxEventSize: -1}
}

// Stop ends the link at once.
func (l *Link) Stop() {
	l.cancel()
	l.base.CloseIdleConnections()
}

// Err says why the link ended, nil while unknown.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *Link) ended(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.cause = err
	}
}

// An exchange is one HTTP request under way.
type exchange struct {
	req    *http.Request    // as the SDK made it
	method string           // of the message it carries, "" if it carries none
	call   *jsonrpc.Request // the message, if it is a call
	sink   *wire.Sink
	ctx    context.Context // of the request that is sent
	cancel context.CancelCauseFunc
	detach func()      // unties the exchange from the SDK's context
	timer  *time.Timer // until the answer, or until its head
	why    error       // of the Signer, about an answer 401 or 403
}

// opens reports a request that begins a session.
func (x *exchange) opens() bool { return x.method == "server/discover" || x.method == "initialize" }

// silent reports whether the exchange ended as no answer came in time.
func (x *exchange) silent() bool { return context.Cause(x.ctx) == errSilent }

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(req *http.Request) (*http.Response, error) {
	x, out, err := l.prepare(req)
	if err != nil {
		return nil, err
	}
	if err = l.astray(out.URL); err == nil && l.o.Signer != nil {
		err = l.o.Signer.Sign(out)
	}
	if err != nil {
		x.cancel(err)
		switch {
		case x.sink != nil:
			x.sink.Refused.Store(true)
			x.sink.Fail(err)
		case x.opens(), l.o.SSE && req.Method == http.MethodGet:
			l.giveUp(err)
		}
		return nil, err
	}
	if err := l.Err(); err != nil && x.method == "initialize" {
		x.cancel(err)
		return nil, err
	}
	l.limit(x)
	resp, err := l.send(x, out)
	whole := x.method == "server/discover" && err == nil // its body may stall as well
	if x.timer != nil && !whole && !x.timer.Stop() {
		if err == nil {
			resp.Body.Close()
		}
		resp, err = nil, errSilent
	}
	if err != nil {
		defer x.cancel(err)
		return l.failed(x, err)
	}
	l.undialled.Store(false)
	if x.method == "initialize" {
		l.initStatus.Store(int32(resp.StatusCode))
	}
	return l.receive(x, out, resp)
}

// prepare makes the request that is sent from the SDK's.
func (l *Link) prepare(req *http.Request) (*exchange, *http.Request, error) {
	x := &exchange{req: req}
	if req.Method == http.MethodPost && req.GetBody != nil {
		m, err := head(req)
		if err != nil {
			return nil, nil, fmt.Errorf("read request: %w", err)
		}
		x.sink = l.tap.Outgoing(req.Context(), m)
		x.carries(m)
	}
	if x.sink == nil {
		x.sink = wire.SinkFrom(req.Context())
	}
	ctx := x.tie(req.Context(), l.ctx)
	x.ctx = ctx
	if x.sink != nil && req.Method == http.MethodPost {
		s := x.sink
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { s.Sent.Store(true) },
		})
	}
	out := req.Clone(ctx)
	out.Header.Del("Referer") // of a redirect: it holds the query
	for name, value := range l.o.Headers {
		out.Header.Set(name, value)
	}
	if host := l.o.Headers["Host"]; host != "" {
		out.Host = host
	}
	return x, out, nil
}

// head reads what a request of the SDK carries, without its parameters or
// result.
func head(req *http.Request) (jsonrpc.Message, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return nil, err
	}
	if m.Method == "" {
		return &jsonrpc.Response{ID: id}, nil
	}
	return &jsonrpc.Request{ID: id, Method: m.Method}, nil
}

func (x *exchange) carries(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok {
		x.method = r.Method
		if r.IsCall() {
			x.call = r
		}
	}
}

// tie returns a context with the values of ctx that ends with it, until the
// exchange is detached, and with link.
func (x *exchange) tie(ctx, link context.Context) context.Context {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { cancel(ctx.Err()) })
	unlink := context.AfterFunc(link, func() { cancel(wire.ErrNotNeeded) })
	x.detach = func() { unhook() }
	x.cancel = func(err error) {
		unhook()
		unlink()
		cancel(err)
	}
	return own
}

// failed answers for a request that got no answer.
func (l *Link) failed(x *exchange, err error) (*http.Response, error) {
	if cause := context.Cause(x.ctx); cause == errSilent || cause == wire.ErrStalled {
		err = cause
	}
	switch {
	case x.method == "server/discover" && err == errSilent:
		l.discovered(x, nil)
		return l.respond(x, wire.NotSupported(x.call.ID))
	case x.method == "subscriptions/listen" && err == errSilent:
		return l.respond(x, wire.ErrorResponse(x.call.ID, err.Error()))
	case x.req.Method == http.MethodGet && err == errSilent && !l.o.SSE:
		return plain(x.req, http.StatusMethodNotAllowed), nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the server closed the connection before it had answered")
	}
	if x.sink != nil && l.ctx.Err() == nil && x.req.Context().Err() == nil {
		x.sink.Fail(fmt.Errorf("%w: %w", upstream.ErrGone, err))
		l.o.Doubt(err)
	}
	if x.method == "initialize" {
		l.ended(err)
	}
	l.undialled.Store(true)
	return nil, err
}

// respond makes an HTTP answer that carries m.
func (l *Link) respond(x *exchange, m jsonrpc.Message) (*http.Response, error) {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	resp := plain(x.req, http.StatusOK)
	resp.Header.Set("Content-Type", "application/json")
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	return resp, nil
}

func plain(req *http.Request, status int) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// receive taps the answer to a request.
func (l *Link) receive(x *exchange, out *http.Request, resp *http.Response) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	good := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case good && kind == "text/event-stream" && x.method == "subscriptions/listen":
		resp.Body = newListenStream(l, x, out, resp.Body)
		return resp, nil
	case good && kind == "text/event-stream":
		events := newEventStream(l.tap, x, resp.Body)
		events.bare, events.doubt = l.o.SSE, l.o.Doubt
		if x.method == "server/discover" {
			events.discovered = l.discovered
		}
		resp.Body = events
		return resp, nil
	case x.method == "subscriptions/listen" && !isRedirect(resp):
		// Some servers answer with JSON that never ends. Changes are seen at
		// the next listing then.
		defer x.cancel(nil)
		resp.Body.Close()
		l.tap.Log.Debug("the server gives no stream of changes", "status", resp.Status, "type", kind)
		return l.respond(x, wire.ErrorResponse(x.call.ID, "no stream of changes"))
	case isRedirect(resp):
		resp.Body = &boundedBody{Reader: io.LimitReader(resp.Body, wire.MaxMessage), body: resp.Body, x: x}
		return resp, nil
	case l.o.SSE:
		if !good && x.sink != nil {
			x.notRun(resp.StatusCode)
			err := fmt.Errorf("HTTP %s", resp.Status)
			if turnedAway(resp.StatusCode) {
				err = l.unauthorized(x, resp.Status)
			}
			x.sink.Fail(err)
		}
		resp.Body = &boundedBody{Reader: io.LimitReader(resp.Body, wire.MaxMessage), body: resp.Body, x: x}
		return resp, nil
	case x.call == nil:
		if !good && x.req.Method == http.MethodPost && x.method != "notifications/initialized" {
			// The SDK would end the session over a notification.
			l.tap.Log.Debug("message turned away", "method", x.method, "status", resp.Status)
			resp.StatusCode, resp.Status = http.StatusAccepted, "202 Accepted"
		}
		resp.Body = &boundedBody{Reader: io.LimitReader(resp.Body, wire.MaxMessage), body: resp.Body, x: x}
		return resp, nil
	}
	defer x.cancel(nil)
	room := wire.NewIntake(l.tap, x.ctx, func() { x.cancel(wire.ErrStalled) })
	defer room.End()
	data, err := room.ReadAll(resp.Body)
	resp.Body.Close()
	x.detach()
	if err != nil && !wire.IsRefused(err) {
		return l.failed(x, err)
	}
	room.Pass(x.sink, len(data))
	return l.answer(x, resp, data, err)
}

// answer passes on the body of an answer to a call, or an error in its place
// that fails the call alone.
func (l *Link) answer(x *exchange, resp *http.Response, data []byte, err error) (*http.Response, error) {
	var m jsonrpc.Message
	if err == nil {
		m, err = l.tap.Read(data)
	}
	x.notRun(resp.StatusCode)
	r, ok := m.(*jsonrpc.Response)
	if err == nil && ok && x.opens() && r.Error != nil && !r.ID.IsValid() {
		r.ID = x.call.ID // of a request that the server did not look into
	}
	if x.method == "server/discover" {
		l.judge(x, resp.StatusCode, r)
	}
	denied := turnedAway(resp.StatusCode)
	if err == nil && ok && r.ID == x.call.ID && !l.final.Load() && !(denied && x.opens()) {
		if resp.StatusCode >= 300 && r.Error == nil {
			r.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: resp.Status}
		}
		if denied && x.sink != nil {
			x.sink.Fail(fmt.Errorf("%w (%w)", l.unauthorized(x, resp.Status), r.Error))
		}
		return l.pass(x, resp, l.tap.Incoming(r))
	}
	switch {
	case denied:
		err = l.unauthorized(x, resp.Status+excerpt(data))
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		err = fmt.Errorf("HTTP %s to %s: use that as url if you trust it", resp.Status, resp.Header.Get("Location"))
	case resp.StatusCode >= 400:
		err = fmt.Errorf("HTTP %s%s", resp.Status, excerpt(data))
	case !wire.IsRefused(err):
		err = fmt.Errorf("the answer is not of MCP (%s)%s", resp.Header.Get("Content-Type"), excerpt(data))
	}
	switch {
	case x.method == "initialize":
		l.ended(err)
	case x.method == "server/discover" && denied:
		l.giveUp(err)
	}
	if l.sessionGone(x, resp) {
		err = fmt.Errorf("%w: the server no longer knows the session: %w", upstream.ErrGone, err)
		l.o.Doubt(err)
	}
	if x.sink != nil {
		x.sink.Fail(err)
	}
	return l.respond(x, wire.ErrorResponse(x.call.ID, err.Error()))
}

// notRun notes a status that says that the call has not been looked at.
func (x *exchange) notRun(status int) {
	if x.sink != nil && (turnedAway(status) || status == http.StatusTooManyRequests) {
		x.sink.Refused.Store(true)
	}
}

func isRedirect(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
}

// pass encodes m as the body of the server's own answer, to keep its headers.
func (l *Link) pass(x *exchange, resp *http.Response, m jsonrpc.Message) (*http.Response, error) {
	made, err := l.respond(x, m)
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = made.Body, made.ContentLength
	resp.Header.Del("Content-Length")
	resp.Header.Set("Content-Type", "application/json")
	return resp, nil
}

// sessionGone reports a server that turns away the session of a request, as
// after a restart: it answers 404, or 400 as many do, and not with the
// request's id. The call has then not been looked at.
func (l *Link) sessionGone(x *exchange, resp *http.Response) bool {
	if x.req.Header.Get("Mcp-Session-Id") == "" || x.sink == nil ||
		resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusBadRequest {
		return false
	}
	x.sink.Refused.Store(true)
	return true
}

func excerpt(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return ""
	}
	return ": " + string(wire.Clip(data, 200))
}

// A boundedBody ends after 32 MiB, and its exchange with it.
type boundedBody struct {
	io.Reader
	body io.Closer
	x    *exchange
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.x.cancel(nil)
	return b.body.Close()
}
