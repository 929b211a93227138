package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// watch lists the tools again whenever it is time to, until the connection is
// lost or in doubt.
func (s *server) watch(ctx context.Context, c *conn, fresh time.Duration) error {
	next := time.NewTimer(s.next(fresh, nil))
	defer next.Stop()
	unused := s.unused()
	defer unused.Stop()
	var settled <-chan time.Time
	var quiet quietTime
	again := func() error {
		settled = nil
		fresh, err := s.list(ctx, c)
		if err != nil && c.ctx.Err() == nil && ctx.Err() == nil {
			s.log.Warn("tools not listed", "error", err)
			s.life.change(func(m *moment) { m.status.Error = err.Error() })
		}
		if err == nil || errors.Is(err, upstream.ErrUnauthorized) {
			s.life.judge(err, true)
		}
		next.Reset(s.next(fresh, err))
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return c.cause()
		case err := <-c.suspect:
			return err
		case <-c.changed:
			if settled == nil {
				settled = time.After(quiet.next(time.Now()))
			}
		case <-settled:
			_ = again() // in the status already
		case <-next.C:
			_ = again() // in the status already
		case <-unused.C:
			left, yes := c.resting(s.idle())
			if yes {
				return errIdle
			}
			unused.Reset(left)
		case reply := <-s.relist:
			err := again()
			reply <- listed{s.life.at().listing, err}
		}
	}
}

// A quietTime is how long changes are awaited before a list, which gets longer
// for a server that never stops telling of them.
type quietTime struct {
	d    time.Duration
	last time.Time
}

func (q *quietTime) next(now time.Time) time.Duration {
	if now.Sub(q.last) < 10*q.d {
		q.d = min(2*q.d, longestDebounce)
	} else {
		q.d = debounce
	}
	q.last = now
	return q.d
}

// next is the time until the next listing.
func (s *server) next(fresh time.Duration, err error) time.Duration {
	d := orDuration(s.spec.Refresh, defaultRefresh)
	switch {
	case err != nil:
		return min(d, shortestRefresh)
	case fresh > 0:
		return min(d, max(fresh, shortestRefresh))
	}
	return d
}
