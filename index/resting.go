package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// restTime is how long an embedder is left alone after a query waited for it
// in vain: without it every search would wait as long.
const restTime = 10 * time.Second

// resting remembers the embedders that are left alone, by identity. The zero
// value remembers none.
type resting struct {
	mu    sync.Mutex // guards until
	until map[string]rest
}

type rest struct {
	end time.Time
	why error
}

// check returns why an embedder is not to be asked, or nil.
func (r *resting) check(model string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rest, ok := r.until[model]; ok && time.Now().Before(rest.end) {
		return fmt.Errorf("%w (not asked again for %v)", rest.why, restTime)
	}
	return nil
}

// note takes the outcome of a query: only a wait in vain matters, as a quick
// failure costs nothing.
func (r *resting) note(model string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(err, context.DeadlineExceeded) {
		delete(r.until, model)
		return
	}
	if r.until == nil {
		r.until = map[string]rest{}
	}
	r.until[model] = rest{time.Now().Add(restTime), err}
}
