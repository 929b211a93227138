package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// pid is the process that serves a stdio server.
func pid(t *testing.T, s *Set, server string) int {
	t.Helper()
	var got struct{ StructuredContent struct{ PID int } }
	if err := json.Unmarshal(mustCall(t, s, server, "pid").Raw, &got); err != nil || got.StructuredContent.PID == 0 {
		t.Fatalf("pid of %s: %+v, %v", server, got, err)
	}
	return got.StructuredContent.PID
}

// Servers come, change and go while the others work on; a call under way on
// one that changes ends as it would have.
func TestApply(t *testing.T) {
	t.Parallel()
	named := func(name string) Spec {
		sp := stdioSpec(t, &rawServer{Version: wire.Handshake})
		sp.Name = name
		return sp
	}
	same, changed, removed := named("same"), named("changed"), named("removed")
	s := start(t, Options{}, same, changed, removed)
	before := map[string]int{"same": pid(t, s, "same"), "changed": pid(t, s, "changed")}

	hanging, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan struct{}), make(chan error, 2)
	go func() {
		_, err := s.Call(hanging, upstream.Request{Server: "changed", Tool: "hang", Progress: func(upstream.Progress) { close(begun) }})
		ended <- err
	}()
	next(t, begun, "call under way")

	changed.Timeout = hangTime
	got, err := s.Apply([]Spec{same, named("added"), changed})
	if err != nil || !slices.Equal(got.Added, []string{"added"}) || !slices.Equal(got.Changed, []string{"changed"}) || !slices.Equal(got.Removed, []string{"removed"}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if now := pid(t, s, "same"); now != before["same"] {
		t.Errorf("an unchanged server was replaced: %d, %d", before["same"], now)
	}
	if now := pid(t, s, "changed"); now == before["changed"] {
		t.Error("a changed server is still the old one")
	}
	pid(t, s, "added")
	if _, err := s.Call(t.Context(), upstream.Request{Server: "removed", Tool: "pid"}); !errors.Is(err, upstream.ErrUnknownServer) {
		t.Errorf("a removed server: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("a call on the server that changed ended: %v", err)
	default:
	}
	cancel()
	if err := next(t, ended, "end of the call"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	names := []string{}
	for _, st := range s.Status() {
		names = append(names, st.Name)
	}
	if !slices.Equal(names, []string{"same", "added", "changed"}) {
		t.Errorf("status of %v", names)
	}
}

// A call that waits for a server which does not start goes on with the one
// that takes its place.
func TestApplyMendsWaitingCall(t *testing.T) {
	t.Parallel()
	broken := stdioSpec(t, &rawServer{Start: "silent"})
	s := start(t, Options{}, broken)
	answered := make(chan error, 1)
	go func() {
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
		answered <- err
	}()
	next(t, waitFor(t, func() bool { return s.Status()[0].InFlight == 1 }), "call that waits")
	if _, err := s.Apply([]Spec{stdioSpec(t, &rawServer{Version: wire.Handshake})}); err != nil {
		t.Fatal(err)
	}
	if err := next(t, answered, "answer"); err != nil {
		t.Error(err)
	}
}

// What is wrong with one spec leaves all servers as they are.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, good(t))
	_, err := s.Apply([]Spec{{Name: "x"}, {Name: "y", Command: "c"}, {Name: "y", Command: "c"}})
	wantError(t, err, "x", "configured twice")
	mustCall(t, s, "good", "exact")
}
