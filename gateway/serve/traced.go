package serve

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/telemetry"
)

// arrived is ctx of a request with these headers; over stdio there is at most
// the one that is ours.
func (s *Server) arrived(ctx context.Context, h http.Header) context.Context {
	if len(h) <= 1 {
		return ctx
	}
	return s.opts.Tracer.Arrived(ctx, h)
}

// traced is ctx of a request from there, until ended is called.
func (s *Server) traced(ctx context.Context, r telemetry.Request, from gateway.Origin) (_ context.Context, ended func(code int64, failed bool)) {
	r.Endpoint, r.Principal, r.ID = from.Endpoint, from.Principal, from.Request
	return s.opts.Tracer.Serving(ctx, r)
}

// tracedBySDK is ctx of a request that the SDK answers, or a list of ours.
func (s *Server) tracedBySDK(ctx context.Context, method string, req mcp.Request) (_ context.Context, ended func(error)) {
	if method == "subscriptions/listen" || strings.HasPrefix(method, "notifications/") {
		return ctx, func(error) {}
	}
	r := telemetry.Request{Method: method}
	if versioned, ok := req.(interface{ ProtocolVersion() string }); ok {
		r.Protocol = versioned.ProtocolVersion()
	}
	if p := req.GetParams(); p != nil && !reflect.ValueOf(p).IsNil() { // which a request without parameters has
		r.Meta = p.GetMeta()
	}
	c := surface.Call{}
	if x := req.GetExtra(); x != nil {
		c.Request = x.Header.Get(requestHeader)
	}
	ctx, end := s.traced(ctx, r, origin(ctx, s, c))
	return ctx, func(err error) { end(codeOfError(err), err != nil) }
}

// codeOf is the code of the error that answers a call, 0 for none.
func codeOf(a *surface.Answer) int64 {
	if a.Refused == nil {
		return 0
	}
	return a.Refused.Code
}

// codeOfError is the code that the SDK answers an error with.
func codeOfError(err error) int64 {
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &answer):
		return answer.Code
	}
	return jsonrpc.CodeInternalError
}
