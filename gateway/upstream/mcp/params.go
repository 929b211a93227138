package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// exactly is a sending middleware that gives requests the parameters of their
// sinks.
func exactly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ours := req.GetSession().(*mcp.ClientSession)
		if s := wire.SinkFrom(ctx); ours && s != nil && len(s.Params) > 0 {
			req = &mcp.ClientRequest[mcp.Params]{Session: session, Params: exactParams{req.GetParams(), s.Params}}
		}
		return next(ctx, method, req)
	}
}

// exactParams are the SDK's parameters with some of them replaced.
type exactParams struct {
	mcp.Params
	exact []rawjson.Member
}

// MarshalJSON implements json.Marshaler.
func (p exactParams) MarshalJSON() ([]byte, error) {
	made, err := json.Marshal(p.Params)
	if err != nil {
		return nil, err
	}
	all, err := rawjson.Members(made)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m rawjson.Member) bool {
		return slices.ContainsFunc(p.exact, func(e rawjson.Member) bool { return e.Key == m.Key })
	})
	return rawjson.Object(append(all, p.exact...)), nil
}
