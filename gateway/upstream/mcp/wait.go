package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// refresh has the tools listed now and returns them.
func (s *server) refresh(ctx context.Context) (upstream.Listing, error) {
	if why := s.spec.Disabled; why != "" {
		return upstream.Listing{}, fmt.Errorf("%w: %s", upstream.ErrDisabled, why)
	}
	reply := make(chan listed, 1)
	for {
		now := s.life.at()
		switch {
		case now.stopped:
			return upstream.Listing{}, upstream.ErrStopped
		case now.status.State == upstream.Connecting:
			s.nudge()
			return s.nextList(ctx, now.attempts-1, now.listings)
		case now.status.State != upstream.Ready:
			s.nudge()
			return s.nextList(ctx, now.attempts, now.listings)
		}
		select {
		case s.relist <- reply:
			select {
			case got := <-reply:
				return got.listing, got.err
			case <-ctx.Done():
				return upstream.Listing{}, context.Cause(ctx)
			}
		case <-now.news:
		case <-ctx.Done():
			return upstream.Listing{}, context.Cause(ctx)
		}
	}
}

// nudge says that somebody waits for the server.
func (s *server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// nextList waits for the listing that a new connection begins with, or for an
// attempt to connect to fail. The attempts and listings given do not count.
func (s *server) nextList(ctx context.Context, attempts, listings int) (upstream.Listing, error) {
	for {
		now := s.life.at()
		switch {
		case now.stopped:
			return upstream.Listing{}, upstream.ErrStopped
		case now.listings > listings && now.status.State != upstream.Connecting:
			return now.listing, nil
		case now.attempts > attempts && now.failed():
			return upstream.Listing{}, now.refusal()
		}
		select {
		case <-now.news:
		case <-ctx.Done():
			return upstream.Listing{}, fmt.Errorf("%w: %w", upstream.ErrNotConnected, context.Cause(ctx))
		}
	}
}

// connected returns the connection, which the caller must release. It has one
// made if need be, and waits for it.
func (s *server) connected(ctx context.Context) (*conn, error) {
	if why := s.spec.Disabled; why != "" {
		return nil, fmt.Errorf("%w: %s", upstream.ErrDisabled, why)
	}
	for {
		now := s.life.at()
		switch {
		case now.stopped:
			return nil, upstream.ErrStopped
		case now.conn != nil && s.current(ctx, now.conn) && now.conn.use():
			return now.conn, nil
		case now.failed() && !soon(ctx, now.status.NextTry):
			if !s.spec.stops() || time.Since(now.status.Since) < retryCalled {
				next := time.Until(now.status.NextTry).Round(100 * time.Millisecond)
				return nil, fmt.Errorf("%w; the next attempt is in %v", now.refusal(), next)
			}
			s.nudge()
		case now.status.State == upstream.Idle, now.status.State == upstream.Connecting:
			s.nudge()
		}
		select {
		case <-now.news:
		case <-ctx.Done():
			return nil, now.late(context.Cause(ctx))
		}
	}
}

// failed reports that the last attempt to connect has failed and that no other
// is under way.
func (m moment) failed() bool {
	return m.status.State == upstream.Backoff || m.status.State == upstream.NeedsLogin
}

// refusal says why the last attempt to connect failed.
func (m moment) refusal() error {
	if m.status.State == upstream.NeedsLogin {
		return m.failure
	}
	return fmt.Errorf("%w: %s", upstream.ErrNotConnected, m.status.Error)
}

// late is the error of a call that waited in vain.
func (m moment) late(cause error) error {
	err := fmt.Errorf("%w: still %s: %w", upstream.ErrNotConnected, m.status.State, cause)
	if m.status.Error != "" {
		err = fmt.Errorf("%w; the attempt before it: %s", err, m.status.Error)
	}
	return err
}

// soon reports whether an attempt to connect at t is worth waiting for.
func soon(ctx context.Context, t time.Time) bool {
	end, ok := ctx.Deadline()
	return time.Until(t) <= patience && (!ok || t.Before(end))
}
