package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// pass lets fake time pass, and what happens then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// A fleet counts the processes that run, in a bubble of fake time.
type fleet struct {
	kind   slowServer    // of each
	n      int           // servers
	listed time.Duration // ago; 0 is never

	mu                           sync.Mutex // guards the fields below
	started, now, starting, most int
}

func (f *fleet) start(c stdio.Command, log *slog.Logger) (*stdio.Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	f.now++
	f.starting++
	f.most = max(f.most, f.starting)
	time.AfterFunc(f.kind.delay-time.Millisecond, func() { // no longer than it takes
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starting--
	})
	one := f.kind
	one.ended = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.now--
	}
	return one.start(c, log)
}

// want compares how many processes were started and run.
func (f *fleet) want(t *testing.T, when string, started, now int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started != started || f.now != now {
		t.Errorf("%s: %d processes started, %d run; want %d, %d", when, f.started, f.now, started, now)
	}
}

// lazily runs a Set of such programs in a bubble of fake time, and f beside it.
func lazily(t *testing.T, fl *fleet, sp Spec, f func(t *testing.T, s *Set)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		before := time.Time{}
		if fl.listed > 0 {
			before = time.Now().Add(-fl.listed)
		}
		var specs []Spec
		for i := range fl.n {
			sp.Name, sp.Command = fmt.Sprintf("s%d", i), "slow"
			specs = append(specs, sp)
		}
		s, err := NewSet(specs, Options{
			Starts: 2, startProcess: fl.start,
			Stored: func(string) (int, time.Time) { return 7, before },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Run(ctx) }()
		synctest.Wait()
		f(t, s)
		cancel()
		<-done
		pass(time.Hour) // fake time: for what is left of ended processes
		fl.want(t, "at the end", fl.started, 0)
	})
}

// answered calls a server, whose answer is an error of its own.
func answered(t *testing.T, s *Set, server string) {
	t.Helper()
	res, err := s.Call(t.Context(), upstream.Request{Server: server, Tool: "x"})
	if !errors.As(err, new(*jsonrpc.Error)) || !res.Sent {
		t.Errorf("%s: got %v, sent %v, want the server's own error", server, err, res.Sent)
	}
}

func wantState(t *testing.T, s *Set, want upstream.State, why string) {
	t.Helper()
	if st := s.Status()[0]; st.State != want || st.Why != why || st.Since.IsZero() {
		t.Errorf("got %s (%s) since %v, want %s (%s)", st.State, st.Why, st.Since, want, why)
	}
}

// A program starts with its first call, and stops when none came for a while.
func TestLazyProgram(t *testing.T) {
	fl := &fleet{kind: slowServer{delay: time.Second, slow: 25 * time.Second}, n: 3, listed: time.Hour}
	lazily(t, fl, Spec{Idle: 20 * time.Second, Timeout: time.Hour}, func(t *testing.T, s *Set) {
		pass(time.Hour)
		fl.want(t, "before a call", 0, 0)
		wantState(t, s, upstream.Idle, "not needed yet")
		if st := s.Status()[0]; st.Tools != 7 || st.Listed.IsZero() {
			t.Errorf("what is stored is not told: %+v", st)
		}
		answered(t, s, "s0") // takes longer than it may be idle
		fl.want(t, "after a call", 1, 1)
		wantState(t, s, upstream.Ready, "")
		pass(10 * time.Second)
		answered(t, s, "s0")
		pass(19 * time.Second)
		fl.want(t, "while it is used", 1, 1)
		pass(10 * time.Second)
		fl.want(t, "once it is idle", 1, 0)
		wantState(t, s, upstream.Idle, "no call for 20s")
		if n := s.Status()[0].Restarts; n != 0 {
			t.Errorf("%d restarts for one that was stopped", n)
		}
		answered(t, s, "s0")
		fl.want(t, "called again", 2, 1)
	})
}

func TestEagerProgram(t *testing.T) {
	fl := &fleet{n: 1, listed: time.Hour}
	lazily(t, fl, Spec{Eager: true, Idle: time.Second}, func(t *testing.T, s *Set) {
		pass(time.Hour)
		fl.want(t, "after an hour without a call", 1, 1)
	})
}

// The stored time of the last listing says when the next is due, whenever this
// process began.
func TestListingsThatAreDue(t *testing.T) {
	for _, c := range []struct {
		name    string
		listed  time.Duration // ago; 0 is never
		refresh time.Duration
		after   time.Duration
		why     string
	}{
		{"never listed", 0, 0, 0, "its tools are listed"},
		{"long ago", 48 * time.Hour, 0, 0, "its tools are listed"},
		{"yesterday", 23 * time.Hour, 0, time.Hour, "its tools are listed"},
		{"as configured", 4 * time.Hour, 5 * time.Hour, time.Hour, "its tools are listed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fl := &fleet{kind: slowServer{delay: time.Second}, n: 1, listed: c.listed}
			lazily(t, fl, Spec{Refresh: c.refresh}, func(t *testing.T, s *Set) {
				if c.after > 0 {
					pass(c.after - time.Minute)
					fl.want(t, "before it is due", 0, 0)
					pass(time.Minute)
				}
				pass(2 * time.Second)
				fl.want(t, "when it is due", 1, 1)
				pass(linger)
				fl.want(t, "once it is listed", 1, 0)
				wantState(t, s, upstream.Idle, c.why)
			})
		})
	}
}

// Programs that only list their tools leave a place to one that is called.
func TestStartsAreBounded(t *testing.T) {
	fl := &fleet{kind: slowServer{delay: 4 * time.Second}, n: 9}
	lazily(t, fl, Spec{Idle: time.Millisecond}, func(t *testing.T, s *Set) {
		began := time.Now()
		answered(t, s, "s8")
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("a call waited %v behind listings", d)
		}
		pass(time.Minute)
		fl.want(t, "in the end", 9, 0)
		if fl.most > 2 {
			t.Errorf("%d programs started at the same moment, want at most 2", fl.most)
		}
	})
}

// Listings that somebody waits for, as reindex does, take every place.
func TestListingsThatAreAwaited(t *testing.T) {
	fl := &fleet{kind: slowServer{delay: 4 * time.Second}, n: 8}
	lazily(t, fl, Spec{Idle: time.Millisecond}, func(t *testing.T, s *Set) {
		began := time.Now()
		var wg sync.WaitGroup
		for i := range fl.n {
			wg.Go(func() {
				if _, err := s.Refresh(t.Context(), fmt.Sprintf("s%d", i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d > 17*time.Second || fl.most != 2 {
			t.Errorf("8 listings of 4 s took %v, %d at the same moment, want 2", d, fl.most)
		}
	})
}

// TestRemoteServersAreListedTogether has servers that answer only when all of
// them are asked.
func TestRemoteServersAreListedTogether(t *testing.T) {
	t.Parallel()
	const n = 8
	var asked atomic.Int32
	all := make(chan struct{})
	answer := sync.OnceFunc(func() { close(all) })
	var specs []Spec
	for i := range n {
		sp, plain := serveHTTP(t, &rawServer{Version: wire.Stateless})
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, again := peek(req) // a request that is not read is not seen to end
			if asked.Add(1) == n {
				answer()
			}
			select {
			case <-all:
				plain.Config.Handler.ServeHTTP(w, again)
			case <-req.Context().Done():
				asked.Add(-1)
			}
		}))
		t.Cleanup(front.Close)
		sp.Name, sp.URL = fmt.Sprintf("s%d", i), front.URL
		specs = append(specs, sp)
	}
	s := start(t, Options{Starts: 1, DiscoverTimeout: time.Minute}, specs...)
	for i := range n {
		if _, err := s.Refresh(within(t, 20*time.Second), fmt.Sprintf("s%d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// Calls that come as their server stops find it started again.
func TestCallsBesideAStop(t *testing.T) {
	fl := &fleet{kind: slowServer{slow: time.Millisecond}, n: 1, listed: time.Hour}
	lazily(t, fl, Spec{Idle: 3 * time.Millisecond}, func(t *testing.T, s *Set) {
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				for n := range 200 {
					answered(t, s, "s0")
					<-time.After(time.Duration((7*i+5*n)%17) * 500 * time.Microsecond)
				}
			})
		}
		wg.Wait()
		if fl.started < 3 {
			t.Errorf("%d starts: no call came beside a stop", fl.started)
		}
	})
}

// A program that fails to start is tried again by a call, but not by each.
func TestLazyProgramThatFails(t *testing.T) {
	fl := &fleet{kind: slowServer{exit: "initialize"}, n: 1, listed: time.Hour}
	lazily(t, fl, Spec{Idle: time.Minute}, func(t *testing.T, s *Set) {
		pass(time.Hour)
		fl.want(t, "before a call", 0, 0)
		_, err := s.Call(t.Context(), upstream.Request{Server: "s0", Tool: "x"})
		wantError(t, err, "not connected: the server")
		if st := s.Status()[0]; st.State != upstream.Backoff || st.NextTry.IsZero() || st.Error == "" {
			t.Errorf("got %+v", st)
		}
		before := fl.started
		pass(time.Hour)
		fl.want(t, "while nobody calls", before, 0)
		if st := s.Status()[0]; st.State != upstream.Idle || st.Error == "" || !st.Failed {
			t.Errorf("got %+v", st)
		}
	})
}
