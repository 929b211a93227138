package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// TryLock takes the lock file name of the folder dir without waiting. It
// returns nil when another process or goroutine has it. The system releases
// a lock when its process ends, however it ends.
func TryLock(dir, name string) (unlock func(), err error) {
	l := flock.New(filepath.Join(dir, name))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	if !ok {
		return nil, nil
	}
	return func() { _ = l.Unlock() }, nil // closing the file releases it in any case
}

// lock waits for the lock that guards the store's file itself.
func (f *folder) lock(ctx context.Context) (unlock func(), err error) {
	deadline := time.Now().Add(f.o.WriteWait)
	for {
		unlock, err := TryLock(f.dir, "store.lock")
		if err != nil || unlock != nil {
			return unlock, err
		}
		if err := pause(ctx, deadline); err != nil {
			return nil, err
		}
	}
}

// pause waits a random moment, 1 to 5 ms, so that those who wait for one lock
// do not all come back at once. Past the deadline, or that of ctx, it returns
// ErrBusy.
func pause(ctx context.Context, deadline time.Time) error {
	if !time.Now().Before(deadline) {
		return ErrBusy
	}
	select {
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
		}
		return ctx.Err()
	case <-time.After(time.Millisecond + rand.N(4*time.Millisecond)):
		return nil
	}
}
