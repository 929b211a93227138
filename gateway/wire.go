package gateway

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's CallToolResult loses bytes (it escapes HTML, sorts keys and drops
// what it does not know). So a handler leaves its Answer in a slot of the
// call's context, and the middleware rawResults sends that in place of the
// handler's empty result.
type slotKey struct{}

type slot struct{ answer *Answer }

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
		out := &wireResult{answer: s.answer}
		if call.ProtocolVersion() >= statelessEra {
			out.resultType = s.answer.resultType()
		}
		return out, nil
	}
}

// A wireResult is an Answer as a result of the SDK, which may add to its
// _meta.
type wireResult struct {
	mcp.ResultBase
	answer     *Answer
	resultType string
}

// MarshalJSON writes the answer and the _meta of the protocol after that of
// the answer.
func (r *wireResult) MarshalJSON() ([]byte, error) {
	var extra []member
	for _, key := range sortedKeys(r.Meta) {
		value, err := marshal(r.Meta[key])
		if err != nil {
			return nil, err
		}
		extra = append(extra, member{key, value})
	}
	return r.answer.result(r.resultType, extra)
}

// handle is the SDK's handler of all six meta-tools.
func (g *Gateway) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := g.call(ctx, req.Params.Name, req.Params.Arguments, callerOf(ctx, req))
	defer answer.done()
	if s, ok := ctx.Value(slotKey{}).(*slot); ok {
		s.answer = answer
	}
	return &mcp.CallToolResult{}, nil
}

func callerOf(ctx context.Context, req *mcp.CallToolRequest) caller {
	c := caller{protocol: req.ProtocolVersion(), meta: req.Params.GetMeta()}
	if token := req.Params.GetProgressToken(); token != nil {
		c.progress = func(progress, total float64, message string) {
			// A caller that has gone away misses its progress; its call is
			// cancelled by other means.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: progress, Total: total, Message: message,
			})
		}
	}
	if c.protocol < statelessEra {
		return c
	}
	c.readCapabilities()
	if req.Params.InputResponses != nil {
		c.responses = encoded(req.Params.InputResponses)
	}
	if req.Params.RequestState != "" {
		c.state = quote(req.Params.RequestState)
	}
	return c
}

// readCapabilities reads what the era without a handshake says in _meta.
func (c *caller) readCapabilities() {
	if caps, ok := c.meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok {
		c.elicitation = encoded(caps["elicitation"])
	}
}

// encoded is v as JSON; nil for a nil v and for what JSON cannot hold.
func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := marshal(v)
	if err != nil {
		return nil
	}
	return b
}
