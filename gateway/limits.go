package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/tooldex/tooldex/gateway/limit"
)

// A Limiter bounds what callers ask for; package limit has one.
type Limiter interface {
	Search(u limit.Use) error
	Call(u limit.Use) (done func(), err error)
}

// unlimited is what stands for no Limiter.
type unlimited struct{}

func (unlimited) Search(limit.Use) error         { return nil }
func (unlimited) Call(limit.Use) (func(), error) { return func() {}, nil }

// used is what a caller from ctx asks for: a call of a server's tool, or a
// search.
func used(ctx context.Context, server string) limit.Use {
	from := OriginOf(ctx)
	return limit.Use{Principal: from.Principal, Endpoint: from.Endpoint, Server: server}
}

// beyond is err as callers are told it.
func beyond(tool string, err error) error {
	var e *limit.Exceeded
	if err == nil || !errors.As(err, &e) {
		return err
	}
	again := max(e.After.Milliseconds(), 1)
	return &Error{
		Tool: tool, Problem: e.Error(), Next: say(fmt.Sprintf("nothing ran; ask again in %d ms", again)),
		Err: fmt.Errorf("%w: %w", ErrLimit, err), Again: e.After,
	}
}
