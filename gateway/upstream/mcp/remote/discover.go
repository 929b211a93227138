package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// Certain reports that the server does not know server/discover, as far as can
// be told.
func (l *Link) Certain() bool { return !l.unclear.Load() }

// giveUp ends the attempt to connect for a reason that initialize would meet
// again, or hide.
func (l *Link) giveUp(err error) {
	l.ended(err)
	l.final.Store(true)
}

// A WrongTransportError says that a URL does not serve streamable HTTP.
type WrongTransportError struct{ error }

// Unwrap returns the server's own answer.
func (e *WrongTransportError) Unwrap() error { return e.error }

// Classify says what an unsuccessful connection is worth trying next.
func (l *Link) Classify(err error) error {
	switch status := l.initStatus.Load(); {
	case l.final.Load():
		return err
	case !l.refused.Load() && wire.RefusesHandshake(err):
		return &wire.OtherEraError{Err: err, Version: wire.Stateless}
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return &WrongTransportError{err}
	case status == 0 && !l.undialled.Load():
		return &wire.OtherEraError{Err: err, Version: wire.Handshake}
	}
	return err
}

// limit starts the clock for requests whose answer the SDK would wait for
// without end.
func (l *Link) limit(x *exchange) {
	var d time.Duration
	switch {
	case x.method == "server/discover":
		if d = l.o.Patience; d <= 0 {
			return
		}
	case x.method == "subscriptions/listen", x.req.Method == http.MethodGet:
		d = headerTimeout
	case x.req.Method == http.MethodDelete:
		d = goodbyeTimeout
	default:
		return
	}
	x.timer = time.AfterFunc(d, func() { x.cancel(errSilent) })
}

// discovered takes note of the answer to server/discover, nil for none.
func (l *Link) discovered(x *exchange, r *jsonrpc.Response) {
	if x.timer != nil {
		x.timer.Stop()
	}
	if r == nil {
		l.unclear.Store(true)
		return
	}
	l.refused.Store(r.Error != nil)
	if err := wire.NoCommonVersion(r); err != nil {
		l.giveUp(err)
	}
}

// judge takes note of the whole answer to server/discover. A server that is
// overloaded or failing has not said what it knows.
func (l *Link) judge(x *exchange, status int, r *jsonrpc.Response) {
	switch {
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		r = nil
	case r == nil && status >= 400:
		r = wire.NotSupported(x.call.ID) // in words of its own
	}
	l.discovered(x, r)
}

// astray returns an error for a request to another place than the Spec names.
// Redirects and the endpoints of legacy SSE may send us there, where the
// arguments and the session would be given to whoever listens.
func (l *Link) astray(u *url.URL) error {
	if u.Scheme == l.origin.Scheme && u.Hostname() == l.origin.Hostname() && port(u) == port(l.origin) {
		return nil
	}
	return fmt.Errorf("the server sends its requests on to %s: use that as url if you trust it", u.Scheme+"://"+u.Host)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
