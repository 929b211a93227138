package gateway

import (
	"context"

	"github.com/tooldex/tooldex/index"
)

// A Learner is told what was searched for, and which tools were executed with
// success; package learn has one. It must not block.
type Learner interface {
	Searched(ctx context.Context, query string, found []index.Hit)
	Executed(ctx context.Context, id string)
}

type sessionKey struct{}

// InSession is ctx for a call in a session, which any comparable value stands
// for.
func InSession(ctx context.Context, session any) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// SessionOf is the session of a call, nil where there is none.
func SessionOf(ctx context.Context) any { return ctx.Value(sessionKey{}) }
