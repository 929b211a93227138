package mcp

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// TestRoomForLargeResults has one caller keep a large result: another waits
// for room until its deadline, or until the first is done.
func TestRoomForLargeResults(t *testing.T) {
	t.Parallel()
	connections(t, []string{wire.Stateless, "2025-11-25"}, func(t *testing.T, version string, spec func(r *rawServer) Spec) {
		room := wire.NewRoom(wire.MaxMessage)
		s := start(t, Options{room: room}, spec(&rawServer{Version: version}))
		mustCall(t, s, "raw", "exact")
		kept := mustCall(t, s, "raw", "large")
		if room.TryAcquire(wire.MaxMessage - 3<<20) {
			t.Fatal("a result in use has no part of the room")
		}

		ending, end := context.WithCancel(within(t, hangTime))
		go func() {
			<-waitFor(t, func() bool { return held(s.named("raw")) })
			end()
		}()
		res, err := s.Call(ending, upstream.Request{Server: "raw", Tool: "large", Retries: 3, Idempotent: true})
		wantError(t, err, "call raw/large: no room for the answer: other large answers are in memory")
		if !errors.Is(err, upstream.ErrNoRoom) || !res.Sent {
			t.Errorf("got %v, sent %v, want upstream.ErrNoRoom, true", err, res.Sent)
		}
		mustCall(t, s, "raw", "exact")

		got := make(chan error, 1)
		go func() {
			res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "large"})
			res.Release()
			got <- err
		}()
		kept.Release()
		kept.Release() // once is enough, twice no harm
		if err := next(t, got, "the result that waited for room"); err != nil {
			t.Error(err)
		}
		if !room.TryAcquire(wire.MaxMessage) {
			t.Error("room was not given back")
		}
		if n := s.Status()[0].Restarts; n != 0 {
			t.Errorf("got %d restarts, want none", n)
		}
	})
}

// held reports whether an answer of the server waits for room.
func held(s *server) bool {
	c := s.life.at().conn
	return c.tap.Holding() > 0
}

// TestRoomIsGivenBack ends calls in every other way.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	connections(t, []string{wire.Stateless, "2025-11-25"}, func(t *testing.T, version string, spec func(r *rawServer) Spec) {
		room := wire.NewRoom(wire.MaxMessage)
		s := start(t, Options{room: room}, spec(&rawServer{Version: version}))
		mustCall(t, s, "raw", "exact")
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "huge"})
		wantError(t, err, "answer larger than 32 MiB")
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			res, _ := s.Call(ctx, upstream.Request{Server: "raw", Tool: "large"}) // whichever comes first
			res.Release()
			cancel()
		}
		mustCall(t, s, "raw", "exact")
		if err := room.Acquire(within(t, hangTime), wire.MaxMessage); err != nil {
			t.Errorf("room was not given back: %v", err)
		}
	})
}
