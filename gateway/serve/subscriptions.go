package serve

import (
	"context"
	"net/http"
	"sync/atomic"
)

// subscriptions are requests that stay open until their clients leave, or
// this server does.
type subscriptions struct {
	most   int64         // over HTTP at once
	open   *atomic.Int64 // over HTTP, at all endpoints of the host
	ending context.Context
	end    context.CancelFunc
}

func newSubscriptions() *subscriptions {
	s := &subscriptions{}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// last is ctx for a subscription, until the caller calls ended.
func (s *subscriptions) last(ctx context.Context) (_ context.Context, ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() { stop(); cancel() }
}

// begin counts one in over HTTP, with so large a body, until the caller calls
// ended. It is not ok when it is refused.
func (s *subscriptions) begin(w http.ResponseWriter, body int) (ended func(), ok bool) {
	if body > freeBody { // which would be kept as long
		refuseBody(w, errBodyTooLarge)
		return nil, false
	}
	if s.open.Add(1) > s.most {
		s.open.Add(-1)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many subscriptions; close one, or try again", http.StatusServiceUnavailable)
		return nil, false
	}
	return func() { s.open.Add(-1) }, true
}
