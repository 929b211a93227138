package serve

import (
	"context"
	"sync"
)

// A turnstile counts what is under way and can be shut. The zero value is
// open.
type turnstile struct {
	mu   sync.Mutex // guards the fields below
	n    int
	idle chan struct{} // nil while open; closed when shut and n is 0
}

// enter counts one in, unless the turnstile is shut.
func (t *turnstile) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle != nil {
		return false
	}
	t.n++
	return true
}

func (t *turnstile) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.idle != nil && t.n == 0 {
		close(t.idle)
	}
}

// shut lets nobody in any more; its channel is closed when nobody is left.
func (t *turnstile) shut() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idle == nil {
		t.idle = make(chan struct{})
		if t.n == 0 {
			close(t.idle)
		}
	}
	return t.idle
}

func (t *turnstile) isShut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle != nil
}

// drain shuts the turnstile and waits until nobody is left, or for ctx.
func (t *turnstile) drain(ctx context.Context) error {
	select {
	case <-t.shut():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
