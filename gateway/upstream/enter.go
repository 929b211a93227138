package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tooldex/tooldex/gateway/upstream/queue"
)

const (
	defaultConcurrency = 16
	defaultWaiting     = 64
)

// NewQueue is a queue of the calls of a server, so many under way and so many
// that wait; 0 means 16 and 64.
func NewQueue(concurrency, waiting int) *queue.Queue {
	return queue.New(cmp.Or(concurrency, defaultConcurrency), cmp.Or(waiting, defaultWaiting))
}

// Enter waits in q for a place among the calls of a server. Its error wraps
// ErrQueueFull, ErrStopped, or the cause of ctx's end.
func Enter(ctx context.Context, q *queue.Queue, caller, server string) (leave func(), err error) {
	leave, err = q.Enter(ctx, caller)
	switch {
	case err == nil:
		return leave, nil
	case errors.Is(err, queue.ErrFull):
		return nil, fmt.Errorf("%w: %d calls under way and %d waiting: try again later, or raise concurrency or queue of server %s",
			ErrQueueFull, q.Places(), q.Waiting(), server)
	case errors.Is(err, queue.ErrClosed):
		return nil, ErrStopped
	}
	return nil, fmt.Errorf("waiting for one of %d calls under way: %w", q.Places(), err)
}
