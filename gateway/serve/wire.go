package serve

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// The SDK's CallToolResult loses bytes (it escapes HTML, sorts keys and drops
// what it does not know). So a handler leaves its Answer in a slot of the
// call's context, and the middleware rawResults sends that in place of the
// handler's empty result.
type slotKey struct{}

type slot struct{ answer *surface.Answer }

// rawResults is the receiving middleware that sends Answers as they are.
func rawResults(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		var s slot
		res, err := next(context.WithValue(ctx, slotKey{}, &s), method, req)
		if err != nil || s.answer == nil {
			return res, err
		}
		return answerResult(s.answer, call.ProtocolVersion()), nil
	}
}

// A wireResult is a result of the SDK that we encode. The SDK may add to its
// _meta, which is handed to encode.
type wireResult struct {
	mcp.ResultBase
	encode func(meta []rawjson.Member) (json.RawMessage, error)
}

// answerResult is an Answer for a client of the protocol version.
func answerResult(a *surface.Answer, protocol string) *wireResult {
	kind := ""
	if protocol >= gateway.StatelessEra {
		kind = a.ResultType()
	}
	return &wireResult{encode: func(meta []rawjson.Member) (json.RawMessage, error) { return a.Result(kind, meta) }}
}

// MarshalJSON writes the result with the _meta of the protocol.
func (r *wireResult) MarshalJSON() ([]byte, error) {
	var extra []rawjson.Member
	for _, key := range slices.Sorted(maps.Keys(r.Meta)) {
		value, err := rawjson.Marshal(r.Meta[key])
		if err != nil {
			return nil, err
		}
		extra = append(extra, rawjson.Member{Key: key, Value: value})
	}
	return r.encode(extra)
}

// handle is the SDK's handler of all meta-tools.
func (s *Server) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx = callerOf(ctx, req.Extra)
	answer := s.call(ctx, s.callOf(ctx, req))
	defer answer.Done()
	if left, ok := ctx.Value(slotKey{}).(*slot); ok {
		left.answer = answer
	}
	return &mcp.CallToolResult{}, nil
}

// callOf is a call that came through the SDK, whose parameters forSDK may have
// kept from it.
func (s *Server) callOf(ctx context.Context, req *mcp.CallToolRequest) surface.Call {
	c := surface.Call{
		Tool: req.Params.Name, Arguments: req.Params.Arguments, Protocol: req.ProtocolVersion(),
		Session: s.memories.session(req.Session, req.ProtocolVersion()),
	}
	if req.Extra != nil {
		c.Request = req.Extra.Header.Get(requestHeader)
	}
	meta := map[string]json.RawMessage{}
	for key, value := range req.Params.GetMeta() {
		if raw, err := rawjson.Marshal(value); err == nil {
			meta[key] = raw
		}
	}
	var kept map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text(meta, paramsKey)), &kept) // nothing was kept
	if raw := kept["_meta"]; raw != nil {
		_ = json.Unmarshal(raw, &meta) // which was read before
	}
	if kept == nil { // over a transport that does not go through forSDK
		kept = map[string]json.RawMessage{}
		if req.Params.InputResponses != nil {
			kept["inputResponses"], _ = rawjson.Marshal(req.Params.InputResponses)
		}
		if req.Params.RequestState != "" {
			kept["requestState"] = rawjson.Quote(req.Params.RequestState)
		}
	}
	c.Client = clientOf(kept, meta, c.Protocol)
	if token := req.Params.GetProgressToken(); token != nil {
		c.Client.Progress = func(p upstream.Progress) {
			// A caller that has gone away misses its progress; its call is
			// cancelled by other means.
			_ = req.Session.NotifyProgress(ctx, progressParams(token, p))
		}
	}
	return c
}

// progressParams tell the caller that gave token of p.
func progressParams(token any, p upstream.Progress) *mcp.ProgressNotificationParams {
	told := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: p.Progress, Total: p.Total, Message: p.Message}
	for key, value := range p.Meta {
		if told.Meta == nil {
			told.Meta = mcp.Meta{}
		}
		told.Meta[key] = value
	}
	return told
}
