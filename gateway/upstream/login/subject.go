package login

import (
	"context"
	"sync/atomic"
)

// A Subject is the newest token of a caller's, in whose place others are had.
// It is safe for concurrent use.
type Subject struct{ token atomic.Pointer[string] }

// Set puts a newer token in place of the one before.
func (s *Subject) Set(token string) { s.token.Store(&token) }

type subjectCtxKey struct{}

// OnBehalf is ctx for requests on behalf of a caller.
func OnBehalf(ctx context.Context, s *Subject) context.Context {
	return context.WithValue(ctx, subjectCtxKey{}, s)
}

// OnBehalfOf is ctx for a request with one token of a caller's.
func OnBehalfOf(ctx context.Context, token string) context.Context {
	s := &Subject{}
	s.Set(token)
	return OnBehalf(ctx, s)
}

// nobody reports a request that is to go out without a token: one that lists
// the tools of a server that is called with its callers'.
func (s *Source) nobody(ctx context.Context) bool {
	return s.o.Config.Type == TokenExchange && s.o.Config.ListAs == None && s.subjectOf(ctx) == ""
}

// subjectOf is the token of the caller on whose behalf ctx is, "" for nobody,
// and where nothing is exchanged.
func (s *Source) subjectOf(ctx context.Context) string {
	if caller, ok := ctx.Value(subjectCtxKey{}).(*Subject); ok && s.o.Config.Type == TokenExchange {
		if token := caller.token.Load(); token != nil {
			return *token
		}
	}
	return ""
}
