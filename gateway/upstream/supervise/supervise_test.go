package supervise

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

type entry struct{ name, text string }

// A child says what happens to it.
type child struct {
	entry entry
	state atomic.Value // "made", "runs", "leaves" or "ended"
	busy  chan struct{}
}

func (c *child) Entry() entry { return c.entry }

func (c *child) Run(ctx context.Context) {
	c.state.Store("runs")
	<-ctx.Done()
	c.state.Store("ended")
}

func (c *child) Leave(ctx context.Context) func() {
	c.state.Store("leaves")
	if c.busy == nil {
		return nil
	}
	return func() {
		select {
		case <-c.busy:
		case <-ctx.Done():
		}
	}
}

func (c *child) is(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := c.state.Load(); got != want {
		t.Errorf("%s/%s %v, want %s", c.entry.name, c.entry.text, got, want)
	}
}

// children have calls under way where their text says "busy".
func children() *Supervisor[entry, *child] {
	return New(func(e entry) string { return e.name }, func(e entry) *child {
		c := &child{entry: e}
		c.state.Store("made")
		if e.text == "busy" {
			c.busy = make(chan struct{})
		}
		return c
	})
}

func want(t *testing.T, got, want Changes) {
	t.Helper()
	if !slices.Equal(got.Added, want.Added) || !slices.Equal(got.Changed, want.Changed) || !slices.Equal(got.Removed, want.Removed) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := children()
		want(t, s.Apply([]entry{{"c", "1"}, {"a", "1"}, {"b", "busy"}}), Changes{Added: []string{"a", "b", "c"}})
		a, b, c := s.Named("a"), s.Named("b"), s.Named("c")
		a.is(t, "made")
		want(t, s.Apply([]entry{{"a", "1"}, {"b", "busy"}, {"c", "2"}}), Changes{Changed: []string{"c"}})
		c.is(t, "made") // it never ran, and never will
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		c = s.Named("c")
		for _, one := range []*child{a, b, c} {
			one.is(t, "runs")
		}
		if err := s.Run(ctx); err == nil {
			t.Error("it runs twice")
		}
		want(t, s.Apply([]entry{{"d", "1"}, {"a", "1"}, {"b", "2"}}), Changes{Added: []string{"d"}, Changed: []string{"b"}, Removed: []string{"c"}})
		if s.Named("a") != a || s.Named("b") == b || s.Named("c") != nil || len(s.All()) != 3 || s.All()[0] != s.Named("d") {
			t.Errorf("got %v", s.All())
		}
		a.is(t, "runs")
		c.is(t, "ended")
		b.is(t, "leaves") // with a call under way
		s.Named("b").is(t, "runs")
		close(b.busy)
		b.is(t, "ended")
		want(t, s.Apply([]entry{{"a", "busy"}}), Changes{Changed: []string{"a"}, Removed: []string{"b", "d"}})
		want(t, s.Apply(nil), Changes{Removed: []string{"a"}})
		a.is(t, "ended")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want(t, s.Apply([]entry{{"e", "1"}}), Changes{Added: []string{"e"}})
		s.Named("e").is(t, "made")
	})
}

func TestAnd(t *testing.T) {
	both := Changes{Added: []string{"b"}, Removed: []string{"x"}}.And(Changes{Added: []string{"a"}, Changed: []string{"c"}})
	want(t, both, Changes{Added: []string{"a", "b"}, Changed: []string{"c"}, Removed: []string{"x"}})
}
