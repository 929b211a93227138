// Package turnstile counts what is under way, and waits for its end.
package turnstile

import (
	"context"
	"sync"
)

// A Gate counts what is under way and can be shut. The zero value is open. It is
// safe for concurrent use.
type Gate struct {
	mu   sync.Mutex // guards the fields below
	n    int
	idle chan struct{} // nil while open; closed when shut and n is 0
}

// Enter counts one in, unless the gate is shut.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		return false
	}
	g.n++
	return true
}

// Leave counts one out that Enter has let in.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.idle != nil && g.n == 0 {
		close(g.idle)
	}
}

// Shut lets nobody in any more; its channel is closed when nobody is left.
func (g *Gate) Shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == nil {
		g.idle = make(chan struct{})
		if g.n == 0 {
			close(g.idle)
		}
	}
	return g.idle
}

// IsShut says whether nobody is let in any more.
func (g *Gate) IsShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.idle != nil
}

// Drain shuts the gate and waits until nobody is left, or for ctx.
func (g *Gate) Drain(ctx context.Context) error {
	select {
	case <-g.Shut():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
