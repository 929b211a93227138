package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream"
)

const (
	endpointKey = attribute.Key("tooldex.endpoint") // virtual server
	serverKey   = attribute.Key("tooldex.server")   // whose tool runs
)

var w3c propagation.TraceContext

// A Request is one of a client.
type Request struct {
	Method    string // of MCP
	Tool      string // that is called; "" for none, or for one that there is not
	Endpoint  string
	Principal string         // "" is the operator
	Protocol  string         // version of MCP
	ID        string         // of the JSON-RPC request, as JSON
	Meta      map[string]any // _meta of its parameters
}

type headerKey struct{}

// Arrived is ctx of a request that came over HTTP with these headers.
func (t *Tracer) Arrived(ctx context.Context, h http.Header) context.Context {
	if t == nil || h == nil {
		return ctx
	}
	return context.WithValue(ctx, headerKey{}, h)
}

// Serving is ctx of a request that is served, until ended is called with what
// it came to: a JSON-RPC error's code, 0 for none, or a result with isError.
func (t *Tracer) Serving(ctx context.Context, r Request) (_ context.Context, ended func(code int64, failed bool)) {
	if t == nil {
		return ctx, func(int64, bool) {}
	}
	header, overHTTP := ctx.Value(headerKey{}).(http.Header)
	measured := []attribute.KeyValue{endpointKey.String(r.Endpoint), semconv.McpProtocolVersion(r.Protocol)}
	if overHTTP {
		measured = append(measured, semconv.NetworkTransportTCP, semconv.NetworkProtocolName("http"))
	} else {
		measured = append(measured, semconv.NetworkTransportPipe)
	}
	name := r.Method
	if r.Tool != "" {
		name += " " + r.Tool
		measured = append(measured, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(r.Tool))
	}
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(measured...),
		trace.WithAttributes(semconv.McpMethodNameKey.String(r.Method)),
	}
	if r.ID != "" {
		options = append(options, trace.WithAttributes(semconv.JSONRPCRequestID(strings.Trim(r.ID, `"`))))
	}
	if r.Principal != "" {
		options = append(options, trace.WithAttributes(semconv.EnduserID(r.Principal)))
	}
	parent, link := caller(ctx, r.Meta, header)
	if link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: link}))
	}
	ctx, span := t.tracer.Start(parent, name, options...)
	began := time.Now()
	return ctx, func(code int64, failed bool) {
		why := failure(code, failed)
		end(span, code, why)
		if why != "" {
			measured = append(measured, t.served.AttrErrorType(mcpconv.ErrorTypeAttr(why)))
		}
		t.served.Record(ctx, time.Since(began).Seconds(), mcpconv.MethodNameAttr(r.Method), measured...)
	}
}

// caller is ctx with the span of a client: the one that _meta names, with a
// link to that of its HTTP request, or that.
func caller(ctx context.Context, meta map[string]any, h http.Header) (parent context.Context, link trace.SpanContext) {
	names := propagation.MapCarrier{}
	for _, key := range w3c.Fields() {
		names[key] = text(meta[key])
	}
	parent = w3c.Extract(ctx, names)
	if h == nil {
		return parent, trace.SpanContext{}
	}
	beside := w3c.Extract(ctx, propagation.HeaderCarrier(h))
	if !trace.SpanContextFromContext(parent).IsRemote() {
		return beside, trace.SpanContext{}
	}
	return parent, trace.SpanContextFromContext(beside)
}

// text is a value of _meta, which may be as it was sent; "" unless it is text.
func text(value any) (s string) {
	switch v := value.(type) {
	case string:
		return v
	case json.RawMessage:
		_ = json.Unmarshal(v, &s) // what is no text stays ""
	}
	return s
}

// failure is the type of the error that a request ended with, "" for none.
func failure(code int64, failed bool) string {
	switch {
	case code != 0:
		return strconv.FormatInt(code, 10)
	case failed:
		return "tool_error"
	}
	return ""
}

// end ends a span with the type of its error.
func end(span trace.Span, code int64, why string) {
	if code != 0 {
		span.SetAttributes(semconv.RPCResponseStatusCode(strconv.FormatInt(code, 10)))
	}
	if why != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(why))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Run has call run a tool, at a REST API or on an MCP server, which is told of
// the span in _meta.
func (t *Tracer) Run(ctx context.Context, r upstream.Request, rest bool, call func(context.Context, upstream.Request) (upstream.Result, error)) (upstream.Result, error) {
	if t == nil {
		return call(ctx, r)
	}
	measured := []attribute.KeyValue{serverKey.String(r.Server), semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(r.Tool)}
	name, attributes := "tools/call "+r.Tool, append(measured, semconv.McpMethodNameToolsCall)
	if rest {
		name, attributes = "execute_tool "+r.Tool, measured
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	r.Meta = told(ctx, r.Meta)
	began := time.Now()
	res, err := call(ctx, r)
	code, why := endOf(ctx, res, err)
	if !rest && res.Protocol != "" {
		measured = append(measured, semconv.McpProtocolVersion(res.Protocol))
		span.SetAttributes(semconv.McpProtocolVersion(res.Protocol))
	}
	end(span, code, why)
	if !rest {
		if why != "" {
			measured = append(measured, t.called.AttrErrorType(mcpconv.ErrorTypeAttr(why)))
		}
		t.called.Record(ctx, time.Since(began).Seconds(), mcpconv.MethodNameToolsCall, measured...)
	}
	return res, err
}

// told is _meta with the span of ctx in place of the caller's.
func told(ctx context.Context, meta map[string]any) map[string]any {
	names, out := propagation.MapCarrier{}, map[string]any{}
	w3c.Inject(ctx, names)
	maps.Copy(out, meta)
	for _, key := range w3c.Fields() {
		if delete(out, key); names[key] != "" {
			out[key] = names[key]
		}
	}
	return out
}

// kinds are the types of errors that calls end with.
var kinds = []struct {
	err  error
	kind string
}{
	{upstream.ErrNeedsLogin, "needs_login"}, {upstream.ErrUnauthorized, "unauthorized"}, {upstream.ErrNoToken, "unauthorized"}, {upstream.ErrDisabled, "disabled"},
	{upstream.ErrQueueFull, "queue_full"}, {upstream.ErrTooLarge, "too_large"}, {upstream.ErrNoRoom, "no_room"},
	{upstream.ErrNotConnected, "not_connected"}, {upstream.ErrGone, "connection_lost"},
	{context.DeadlineExceeded, "timeout"}, {context.Canceled, "cancelled"},
}

// endOf is the code of the server's error, 0 for none, and the type of the
// error, "" for none.
func endOf(ctx context.Context, res upstream.Result, err error) (code int64, why string) {
	if err == nil {
		rawjson.Each(res.Raw, func(key string, value json.RawMessage) {
			if key == "isError" && string(value) == "true" {
				why = "tool_error"
			}
		})
		return 0, why
	}
	if refused := new(upstream.CallError); errors.As(err, &refused) && refused.Refused {
		return refused.Code, failure(refused.Code, true)
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) || errors.Is(ctx.Err(), k.err) {
			return 0, k.kind
		}
	}
	return 0, string(mcpconv.ErrorTypeOther)
}
