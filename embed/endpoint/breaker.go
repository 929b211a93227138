package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// ErrUnavailable reports a call refused because the server failed several
// times in a row and the next try is not due.
var ErrUnavailable = errors.New("endpoint unavailable")

const (
	threshold = 3 // failures in a row that open the breaker
	minPause  = time.Second
	maxPause  = 30 * time.Second
	maxAsked  = 10 * time.Minute // of a Retry-After
)

// A breaker refuses calls after several failures in a row, or one call that
// waited in vain. It opens for a pause that doubles with every failed try, or
// for as long as the server asked for; what tries is a probe in the
// background, so that no caller waits for it.
type breaker struct {
	mu       sync.Mutex // guards the fields below
	failures int
	until    time.Time
	pause    time.Duration
	cause    error
	probing  bool
}

// allow returns nil, or why the call may not be made. The words stay the same
// while the server is down, so that callers can tell a new reason.
func (b *breaker) allow() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < threshold {
		return nil
	}
	return fmt.Errorf("%w, tried again in the background: %w", ErrUnavailable, b.cause)
}

// due reports whether an open breaker's pause is over.
func (b *breaker) due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures < threshold || !now.Before(b.until)
}

// begin claims the one probe of an open breaker that is due.
func (b *breaker) begin(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing || b.failures >= threshold && now.Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

func (b *breaker) finish() {
	b.mu.Lock()
	b.probing = false
	b.mu.Unlock()
}

func (b *breaker) succeed() {
	b.mu.Lock()
	b.failures, b.pause, b.cause = 0, 0, nil
	b.mu.Unlock()
}

func (b *breaker) fail(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if errors.Is(err, context.DeadlineExceeded) { // each would cost a caller its whole deadline
		b.failures = max(b.failures, threshold)
	}
	b.cause = err
	if b.failures < threshold {
		return
	}
	b.pause = min(max(2*b.pause, minPause), maxPause)
	// Up to a fifth less, so that many processes do not come back together.
	b.until = now.Add(b.pause - rand.N(b.pause/5))
	var s *StatusError
	if errors.As(err, &s) && s.RetryAfter > b.pause {
		b.until = now.Add(min(s.RetryAfter, maxAsked))
	}
}

// state is "ok", or what is wrong.
func (b *breaker) state() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < threshold {
		return "ok"
	}
	return fmt.Sprintf("not asked after %d failures, tried again in the background: %v", b.failures, b.cause)
}

// probeSoon learns the identity again in the background, one at a time,
// unless an open breaker is not due. Queries never wait for it.
func (e *Endpoint) probeSoon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || !e.breaker.begin(time.Now()) {
		return
	}
	e.probes.Go(func() {
		defer e.breaker.finish()
		ctx, cancel := context.WithTimeout(e.life, e.opts.Timeout)
		defer cancel()
		select {
		case e.identifying <- struct{}{}:
			defer func() { <-e.identifying }()
		case <-ctx.Done():
			return
		}
		// A failure shows in the breaker's state and in the next call's error.
		_ = e.learn(ctx)
	})
}
