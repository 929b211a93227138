package gateway

import (
	"context"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// A Learner is told what was searched for, and which tools were executed with
// success; package learn has one. It must not block.
type Learner interface {
	Searched(ctx context.Context, query string, found []index.Hit)
	Executed(ctx context.Context, id string)
}

// An Origin is where a call comes from, as far as the process that answers it
// knows. The zero value is a call in process.
type Origin struct {
	Endpoint  string               // that it came through
	Principal string               // who calls; "" is the operator
	Token     upstream.CallerToken // by which the principal came, where an issuer gave it; "" for none
	Request   string               // its JSON-RPC id, as JSON; "" where the transport keeps it to itself
	Session   any                  // any comparable value that stands for the session; nil for none
}

type originKey struct{}

// From is ctx for a call that comes from o.
func From(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is where a call comes from.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
