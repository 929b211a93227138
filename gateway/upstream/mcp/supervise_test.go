package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// next returns the next value of ch.
func next[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-within(t, hangTime).Done():
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// listings collects what OnList is given.
func listings() (Options, <-chan upstream.Listing) {
	ch := make(chan upstream.Listing, 64)
	return Options{OnList: func(_ context.Context, _ string, l upstream.Listing) { ch <- l }}, ch
}

func TestListAgainOnChange(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		r := &rawServer{Version: version, Listen: true}
		o, lists := listings()
		s := start(t, o, spec(r))
		next(t, lists, "first list")
		if r.events == nil || strings.Contains(t.Name(), "/sse/") {
			mustCall(t, s, "raw", "change")
		} else {
			for range 5 {
				r.events <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
			}
		}
		next(t, lists, "list after a change")
		if _, err := s.Refresh(within(t, hangTime), "raw"); err != nil {
			t.Error(err)
		}
		next(t, lists, "list on request")
		if n := len(lists); n > 0 {
			t.Errorf("five changes at once gave %d more lists", n)
		}
	})
}

func TestListenIsOpenedAgain(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless, Listen: true}
	o, lists := listings()
	o.listenPause = 10 * time.Millisecond
	sp, srv := serveHTTP(t, r)
	s := start(t, o, sp)
	next(t, lists, "first list")
	for n := range 2 {
		next(t, waitFor(t, func() bool { return len(r.seen("STREAM")) == n+1 }), "stream")
		r.cut <- struct{}{}
		next(t, lists, "list after the stream was opened again")
	}
	r.events <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	next(t, lists, "list after a change on the third stream")
	if st := s.Status()[0]; st.Restarts != 0 {
		t.Errorf("got %d restarts, want none", st.Restarts)
	}
	srv.CloseClientConnections()
	srv.Close()
	next(t, waitFor(t, func() bool { // a first attempt may still be let in, and dropped
		st := s.Status()[0]
		return st.State == upstream.Backoff && strings.Contains(st.Error, "connection refused")
	}), "back-off after the server left")
}

// waitFor gives a value once ok holds.
func waitFor(t *testing.T, ok func() bool) <-chan struct{} {
	done := make(chan struct{}, 1)
	ctx := within(t, hangTime)
	go func() {
		for !ok() {
			if pause(ctx, time.Millisecond); ctx.Err() != nil {
				return
			}
		}
		done <- struct{}{}
	}()
	return done
}

func TestEras(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		raw      *rawServer
		protocol string
	}{
		{"discover answered", &rawServer{Version: wire.Stateless}, wire.Stateless},
		{"discover refused", &rawServer{Version: "2025-06-18"}, "2025-06-18"},
		{"exits on discover", &rawServer{Version: "2025-11-25", Discover: "exit"}, "2025-11-25"},
		{"never answers discover", &rawServer{Version: "2025-03-26", Discover: "silent"}, "2025-03-26"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{}
			if c.raw.Discover == "silent" {
				o.ConnectTimeout = 2 * time.Second
			}
			s := start(t, o, stdioSpec(t, c.raw))
			if got := mustCall(t, s, "raw", "exact").Protocol; got != c.protocol {
				t.Errorf("got protocol %s, want %s", got, c.protocol)
			}
			if n := s.Status()[0].Restarts; n != 0 {
				t.Errorf("got %d restarts, want none", n)
			}
		})
	}
	t.Run("never answers discover over HTTP", func(t *testing.T) {
		r := &rawServer{Version: "2025-11-25", Discover: "silent", Stream: true}
		sp, _ := serveHTTP(t, r)
		s := start(t, Options{DiscoverTimeout: 50 * time.Millisecond}, sp)
		if got := mustCall(t, s, "raw", "exact").Protocol; got != "2025-11-25" {
			t.Errorf("got protocol %s", got)
		}
	})
}

func TestEraIsRemembered(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: "2025-11-25", Session: true}
	sp, _ := serveHTTP(t, r)
	s := start(t, Options{}, sp)
	mustCall(t, s, "raw", "exact")
	again := func() {
		t.Helper()
		r.mu.Lock()
		r.sessions++
		r.mu.Unlock()
		if _, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact", Retries: 1}); err != nil {
			t.Fatal(err)
		}
	}
	again()
	if n := len(r.seen("HEADER server/discover")); n != 1 {
		t.Errorf("got %d server/discover in two connections, want 1", n)
	}
	r.mu.Lock()
	r.Name = "another"
	r.mu.Unlock()
	again() // learns that the server is another
	again()
	if n := len(r.seen("HEADER server/discover")); n != 2 {
		t.Errorf("got %d server/discover after the server changed, want 2", n)
	}
}

func TestURLWithoutType(t *testing.T) {
	t.Parallel()
	t.Run("streamable", func(t *testing.T) {
		sp, _ := serveHTTP(t, &rawServer{Version: "2025-11-25"})
		sp.Type = ""
		s := start(t, Options{}, sp)
		mustCall(t, s, "raw", "exact")
		if st := s.Status()[0]; st.Transport != "http" {
			t.Errorf("got transport %s", st.Transport)
		}
	})
	t.Run("legacy", func(t *testing.T) {
		sp := serveSSE(t, &rawServer{Version: "2024-11-05"})
		sp.Type = ""
		s := start(t, Options{}, sp)
		mustCall(t, s, "raw", "exact")
		if st := s.Status()[0]; st.Transport != "sse" || st.Protocol != "2024-11-05" {
			t.Errorf("got transport %s, protocol %s", st.Transport, st.Protocol)
		}
	})
}

func TestRefreshAndPromises(t *testing.T) {
	t.Parallel()
	s := newServer(Spec{Name: "a", Command: "x", Refresh: time.Hour}, Options{}.withDefaults(), newGate(1))
	for _, c := range []struct {
		refresh, fresh time.Duration
		err            error
		want           time.Duration
	}{
		{0, 0, nil, 15 * time.Minute},
		{0, time.Hour, nil, 15 * time.Minute},
		{0, time.Minute, nil, time.Minute},
		{0, time.Millisecond, nil, 30 * time.Second},
		{time.Hour, 2 * time.Hour, nil, time.Hour},
		{10 * time.Second, time.Millisecond, nil, 10 * time.Second},
		{time.Hour, 0, context.Canceled, 30 * time.Second},
	} {
		s.spec.Refresh = c.refresh
		if got := s.next(c.fresh, c.err); got != c.want {
			t.Errorf("refresh %v, ttl %v, error %v: got %v, want %v", c.refresh, c.fresh, c.err, got, c.want)
		}
	}
}

func TestRefreshInterval(t *testing.T) {
	t.Parallel()
	o, lists := listings()
	sp := stdioSpec(t, &rawServer{Version: wire.Stateless, TTL: 3600000})
	sp.Refresh = 20 * time.Millisecond
	start(t, o, sp)
	for range 3 {
		next(t, lists, "list at the interval")
	}
}

func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	var specs []Spec
	for i := range 12 {
		sp := stdioSpec(t, &rawServer{Version: wire.Stateless})
		if i%3 == 0 {
			sp = stdioSpec(t, &rawServer{Start: "silent"})
		}
		sp.Name = fmt.Sprint("s", i)
		specs = append(specs, sp)
	}
	s := start(t, Options{Starts: 3}, specs...)
	began := time.Now()
	for i := range 12 {
		if i%3 != 0 {
			mustCall(t, s, fmt.Sprint("s", i), "exact")
		}
	}
	t.Logf("eight of twelve servers ready after %v, four never answer", time.Since(began))
}

func TestSource(t *testing.T) {
	a := Spec{Name: "a", Command: "x", Args: []string{"1"}, Env: map[string]string{"B": "2", "A": "1"}, Timeout: 5}
	b := Spec{Name: "b", Command: "x", Args: []string{"1"}, Env: map[string]string{"A": "1", "B": "2"}, Queue: 7}
	if a.Source() != b.Source() {
		t.Errorf("one connection, two sources: %s, %s", a.Source(), b.Source())
	}
	seen := map[string]bool{a.Source(): true}
	for _, sp := range []Spec{
		{Command: "x"}, {Command: "x", Args: []string{"1"}}, {URL: "http://h/"}, {Command: "x", Cwd: "/"},
		{URL: "http://h/", Headers: map[string]string{"A": "1"}}, {Command: "x", Env: map[string]string{"A": "1"}},
	} {
		if seen[sp.Source()] {
			t.Errorf("two connections, one source: %s", sp.Source())
		}
		seen[sp.Source()] = true
	}
	s, err := NewSet([]Spec{a}, Options{})
	if err != nil || s.Source("a") != a.Source() || s.Source("b") != "" {
		t.Errorf("Set.Source: %v %q %q", err, s.Source("a"), s.Source("b"))
	}
}

// state is the state letter of a process, "" when it is gone.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

func TestChildrenEndWithTheirServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	for _, how := range []string{"stopped", "killed", "stopped after setsid"} {
		t.Run(how, func(t *testing.T) {
			s, err := NewSet([]Spec{stdioSpec(t, &rawServer{Version: wire.Stateless})}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			var got struct{ StructuredContent struct{ PID, Child int } }
			if err := json.Unmarshal(mustCall(t, s, "raw", map[bool]string{true: "spawn away", false: "spawn"}[strings.Contains(how, "setsid")]).Raw, &got); err != nil {
				t.Fatal(err)
			}
			pids := got.StructuredContent
			if how == "killed" {
				p, err := os.FindProcess(pids.PID)
				if err == nil {
					err = p.Kill()
				}
				if err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
				<-done
			}
			next(t, waitFor(t, func() bool { s := state(pids.Child); return s == "" || s == "Z" }), "end of the grandchild")
			if how == "killed" {
				cancel()
				<-done
			}
		})
	}
}

func TestServersEndWhenWeAreKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	host := exec.Command(exe)
	host.Env = append(os.Environ(), hostEnv+"="+file)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	next(t, waitFor(t, func() bool {
		text, _ := os.ReadFile(file)
		n, _ := fmt.Sscan(string(text), &pid)
		return n == 1
	}), "server of the other process")
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // killed
	next(t, waitFor(t, func() bool { s := state(pid); return s == "" || s == "Z" }), "end of the server")
}

// runHost keeps one server that ignores the end of its stdin, writes its
// process id to file, and never ends.
func runHost(file string) {
	raw := filepath.Join(filepath.Dir(file), "raw.json")
	text, _ := json.Marshal(&rawServer{Version: wire.Stateless, Stubborn: true})
	if err := os.WriteFile(raw, text, 0o600); err != nil {
		panic(err)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s, err := NewSet([]Spec{{Name: "raw", Command: exe, Env: map[string]string{rawEnv: raw, hostEnv: ""}}}, Options{})
	if err != nil {
		panic(err)
	}
	go s.Run(context.Background())
	res, err := s.Call(context.Background(), upstream.Request{Server: "raw", Tool: "pid"})
	if err != nil {
		panic(err)
	}
	var got struct{ StructuredContent struct{ PID int } }
	if err := json.Unmarshal(res.Raw, &got); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file, fmt.Append(nil, got.StructuredContent.PID, "\n"), 0o600); err != nil {
		panic(err)
	}
	select {}
}
