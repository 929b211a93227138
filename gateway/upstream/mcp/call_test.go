package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		r := &rawServer{Version: version}
		s := start(t, Options{}, spec(r))
		var got []string
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "progress",
			Progress: func(p upstream.Progress) {
				got = append(got, fmt.Sprintf("%v/%v %s %s", p.Progress, p.Total, p.Message, p.Meta))
			}})
		if strings.Contains(t.Name(), "/http/json/") {
			return // a plain JSON answer has no room for notifications
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"1/3 step 1 map[v/x:[1e400]]", "2/3 step 2 map[v/x:[1e400]]", "3/3 step 3 map[v/x:[1e400]]"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		r := &rawServer{Version: version}
		s := start(t, Options{}, spec(r))
		mustCall(t, s, "raw", "exact")
		ctx, cancel := context.WithCancel(within(t, hangTime))
		req := upstream.Request{Server: "raw", Tool: "hang"}
		if !strings.Contains(t.Name(), "/http/json/") {
			req.Progress = func(upstream.Progress) { cancel() }
		} else {
			go func() {
				next(t, waitFor(t, func() bool { return len(r.seen(`"name":"hang"`)) > 0 }), "call")
				cancel()
			}()
		}
		res, err := s.Call(ctx, req)
		wantError(t, err, "call raw/hang: context canceled while waiting for the answer")
		if !errors.Is(err, context.Canceled) || !res.Sent {
			t.Errorf("got %v, sent %v", err, res.Sent)
		}
		if r.cancels != nil {
			select {
			case params := <-r.cancels:
				t.Logf("the server learnt it: %s", params)
			case <-within(t, hangTime).Done():
				t.Error("the server did not learn of the cancel")
			}
			return
		}
		if got := string(mustCall(t, s, "raw", "cancelled").Raw); !strings.Contains(got, `requestId`) {
			t.Errorf("the server got %s", got)
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	sp := stdioSpec(t, &rawServer{Version: wire.Stateless})
	sp.Timeout = 100 * time.Millisecond
	s := start(t, Options{}, sp)
	if _, err := s.Refresh(within(t, hangTime), "raw"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(context.Background(), upstream.Request{Server: "raw", Tool: "hang"})
	wantError(t, err, "call raw/hang: context deadline exceeded while waiting for the answer")
	mustCall(t, s, "raw", "exact")
}

func TestInputRequests(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		s := start(t, Options{}, spec(&rawServer{Version: version}))
		got := mustCall(t, s, "raw", "ask")
		if want := `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m","x-unknown":1}}},"requestState":"s\u0000tate"}`; string(got.Raw) != want {
			t.Errorf("got %s, want %s", got.Raw, want)
		}
		for _, state := range []string{`"s\u0000tate"`, `""`} {
			r := upstream.Request{Server: "raw", Tool: "echo",
				Capabilities:   json.RawMessage(`{"elicitation":{"form":{},"x":12345678901234567890}}`),
				InputResponses: json.RawMessage(`{"q":{"unknown":1.0,"content":{"n":12345678901234567890}}}`),
				RequestState:   json.RawMessage(state)}
			want := []string{string(r.InputResponses), state, string(r.Capabilities)}
			if version < wire.Stateless {
				want = []string{"", "", ""}
			}
			if got := answersSent(t, s, r); !slices.Equal(got, want) {
				t.Errorf("the server got %q, want %q", got, want)
			}
		}
	})
}

// answersSent has the server repeat what a call answers to its requests for
// input: the answers, the state and the capabilities, "" for what is absent.
func answersSent(t *testing.T, s *Set, r upstream.Request) []string {
	t.Helper()
	res, err := s.Call(within(t, hangTime), r)
	if err != nil {
		t.Fatal(err)
	}
	var echo struct{ Content []struct{ Text string } }
	var params struct {
		InputResponses, RequestState json.RawMessage
		Meta                         map[string]json.RawMessage `json:"_meta"`
	}
	if err := errors.Join(json.Unmarshal(res.Raw, &echo), json.Unmarshal([]byte(echo.Content[0].Text), &params)); err != nil {
		t.Fatal(err)
	}
	return []string{string(params.InputResponses), string(params.RequestState), string(params.Meta["io.modelcontextprotocol/clientCapabilities"])}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless, Stream: true}
	sp, _ := serveHTTP(t, r)
	sp.Concurrency, sp.Queue = 1, 1
	s := start(t, Options{}, good(t), sp)
	ctx, cancel := context.WithCancel(within(t, hangTime))
	begun, ends := make(chan struct{}), make(chan error, 2)
	go func() {
		_, err := s.Call(ctx, upstream.Request{Server: "raw", Tool: "hang", Progress: func(upstream.Progress) { close(begun) }})
		ends <- err
	}()
	<-begun
	go func() {
		_, err := s.Call(ctx, upstream.Request{Server: "raw", Tool: "exact"})
		ends <- err
	}()
	for s.named("raw").calls.Waiting() == 0 {
		runtime.Gosched()
	}
	res, err := s.Call(ctx, upstream.Request{Server: "raw", Tool: "exact", Retries: 3})
	wantError(t, err, "call raw/exact: queue full: 1 calls under way and 1 waiting: try again later, or raise concurrency or queue of server raw")
	if !errors.Is(err, upstream.ErrQueueFull) || res.Sent {
		t.Errorf("got %v, sent %v", err, res.Sent)
	}
	mustCall(t, s, "good", "exact")
	if st := s.Status()[1]; st.InFlight != 1 {
		t.Errorf("got %d in flight, want 1", st.InFlight)
	}
	cancel()
	for range 2 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the cancel", err)
		}
	}
	mustCall(t, s, "raw", "exact")
}

func TestKilledDuringCall(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, good(t), stdioSpec(t, &rawServer{Version: "2025-11-25"}))
	var pid struct{ StructuredContent struct{ PID int } }
	if err := json.Unmarshal(mustCall(t, s, "raw", "pid").Raw, &pid); err != nil {
		t.Fatal(err)
	}
	others := make(chan error, 1)
	_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "hang", Progress: func(upstream.Progress) {
		go func() {
			for range 50 {
				if _, err := s.Call(within(t, hangTime), upstream.Request{Server: "good", Tool: "exact"}); err != nil {
					others <- err
					return
				}
			}
			others <- nil
		}()
		p, err := os.FindProcess(pid.StructuredContent.PID)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}})
	wantError(t, err, "call raw/hang: connection lost: the server exited", "the call may have run")
	if err := <-others; err != nil {
		t.Errorf("the other server: %v", err)
	}
	mustCall(t, s, "raw", "exact")
}

func TestConnectionCutDuringCall(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		r := &rawServer{Version: version}
		s := start(t, Options{}, spec(r))
		if r.srv == nil {
			t.Skip("stdio is cut by the end of the process")
		}
		mustCall(t, s, "raw", "exact")
		go func() {
			next(t, waitFor(t, func() bool { return len(r.seen(`"name":"hang"`)) > 0 }), "call")
			r.srv.CloseClientConnections()
		}()
		res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "hang"})
		wantError(t, err, "call raw/hang: connection lost: ", "the call may have run")
		if !errors.Is(err, upstream.ErrGone) || !res.Sent {
			t.Errorf("got %v, sent %v", err, res.Sent)
		}
		mustCall(t, s, "raw", "exact")
	})
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	calls := func(r *rawServer) int { return len(r.seen("HEADER tools/call")) }
	t.Run("may have run", func(t *testing.T) {
		r := &rawServer{Version: wire.Stateless}
		sp, _ := serveHTTP(t, r)
		s := start(t, Options{}, sp)
		res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "http-503", Retries: 3})
		wantError(t, err, "call raw/http-503: HTTP 503 Service Unavailable: as you wish")
		if !res.Sent || calls(r) != 1 {
			t.Errorf("sent %v, %d calls, want true, 1", res.Sent, calls(r))
		}
	})
	t.Run("harmless", func(t *testing.T) {
		r := &rawServer{Version: wire.Stateless}
		sp, _ := serveHTTP(t, r)
		s := start(t, Options{}, sp)
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "http-503", Retries: 2, Idempotent: true})
		wantError(t, err, "HTTP 503")
		if calls(r) != 3 {
			t.Errorf("got %d calls, want 3", calls(r))
		}
		mustCall(t, s, "raw", "exact")
	})
	t.Run("restarted process", func(t *testing.T) {
		s := start(t, Options{}, stdioSpec(t, &rawServer{Version: wire.Stateless}))
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exit", Retries: 1, Idempotent: true})
		wantError(t, err, "the server exited (exit status 7)")
		mustCall(t, s, "raw", "exact")
		if n := s.Status()[0].Restarts; n != 2 {
			t.Errorf("got %d restarts, want 2", n)
		}
	})
	t.Run("session gone", func(t *testing.T) {
		r := &rawServer{Version: "2025-11-25", Session: true}
		sp, _ := serveHTTP(t, r)
		s := start(t, Options{}, sp)
		mustCall(t, s, "raw", "exact")
		r.mu.Lock()
		r.sessions++
		r.mu.Unlock()
		res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact"})
		wantError(t, err, "call raw/exact: connection lost: the server no longer knows the session: HTTP 404 Not Found")
		if res.Sent {
			t.Error("a call to a session that is gone cannot have run")
		}
		mustCall(t, s, "raw", "exact")
		r.mu.Lock()
		r.sessions++
		r.mu.Unlock()
		if _, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exact", Retries: 1}); err != nil {
			t.Error(err)
		}
	})
	t.Run("server down", func(t *testing.T) {
		r := &rawServer{Version: wire.Stateless}
		sp, srv := serveHTTP(t, r)
		s := start(t, Options{}, good(t), sp)
		mustCall(t, s, "raw", "exact")
		srv.Close()
		// The first call may meet an idle connection as it is being closed.
		if _, err := s.Call(within(t, 3*time.Second), upstream.Request{Server: "raw", Tool: "exact"}); err == nil {
			t.Error("a call to nobody succeeded")
		}
		<-waitFor(t, func() bool {
			return slices.ContainsFunc(s.Status(), func(st upstream.Status) bool { return strings.Contains(st.Error, "connection refused") })
		})
		res, err := s.Call(within(t, time.Second), upstream.Request{Server: "raw", Tool: "exact", Retries: 10})
		wantError(t, err, "call raw/exact: ", "connection refused")
		if res.Sent {
			t.Error("a call that reached nobody cannot have run")
		}
		mustCall(t, s, "good", "exact")
	})
}

func TestUnknownServerAndStopped(t *testing.T) {
	t.Parallel()
	s, err := NewSet([]Spec{stdioSpec(t, &rawServer{})}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Call(context.Background(), upstream.Request{Server: "nobody", Tool: "x"})
	wantError(t, err, "call nobody/x: no such server")
	_, err = s.Refresh(context.Background(), "nobody")
	wantError(t, err, "refresh nobody: no such server")
	_, err = s.Call(within(t, 10*time.Millisecond), upstream.Request{Server: "raw", Tool: "x"})
	wantError(t, err, "call raw/x: not connected: still idle")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	_, err = s.Call(context.Background(), upstream.Request{Server: "raw", Tool: "x"})
	wantError(t, err, "call raw/x: stopped")
	_, err = s.Refresh(context.Background(), "raw")
	wantError(t, err, "refresh raw: stopped")
	wantError(t, s.Run(context.Background()), "they have run already")
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless, Tools: []string{
		`{"name":"echo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}},"outputSchema":7}`}}
	sp, _ := serveHTTP(t, r)
	sp.Headers = map[string]string{"Authorization": "Bearer secret"}
	s := start(t, Options{}, sp)
	_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "echo", Arguments: json.RawMessage(`{"region":"eu"}`)})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(r.seen("HEADER tools/call"), "")
	for _, want := range []string{`"Authorization":["Bearer secret"]`, `"Mcp-Param-Region":["eu"]`, `"Mcp-Name":["echo"]`, `"Mcp-Protocol-Version":["2026-07-28"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("got headers %s, want %s", got, want)
		}
	}
}

func TestHeadersStayWithTheHost(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless}
	sp, elsewhere := serveHTTP(t, r)
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	sp.URL = srv.URL
	sp.Headers = map[string]string{"X-Token": "secret"}
	s := start(t, Options{}, sp)
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "the server sends its requests on to "+elsewhere.URL+": use that as url if you trust it")
	if got := r.seen(""); len(got) > 0 {
		t.Errorf("another host was given %s", got)
	}
}

func TestRedirectsOnTheSameHost(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless}
	sp, _ := serveHTTP(t, r)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/" {
			http.Redirect(w, req, "/moved", http.StatusPermanentRedirect)
			return
		}
		r.streamable(w, req)
	}))
	t.Cleanup(srv.Close)
	sp.URL = srv.URL + "/?key=in-the-query"
	s := start(t, Options{}, sp)
	mustCall(t, s, "raw", "exact")
	if got := r.seen("Referer"); len(got) > 0 {
		t.Errorf("the server was told where we come from: %s", got)
	}
}

func TestEndpointOnAnotherHost(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: "2025-11-25"}
	_, elsewhere := serveHTTP(t, r)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", elsewhere.URL)
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}))
	t.Cleanup(srv.Close)
	s := start(t, Options{}, Spec{Name: "raw", Type: "sse", URL: srv.URL})
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "the server sends its requests on to "+elsewhere.URL)
	if got := r.seen(""); len(got) > 0 {
		t.Errorf("another host was given %s", got)
	}
}

func TestCredentialsRefusedDuringCall(t *testing.T) {
	t.Parallel()
	sp, _ := serveHTTP(t, &rawServer{Version: wire.Stateless})
	s := start(t, Options{}, sp)
	for _, status := range []string{"401", "403"} {
		res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "http-" + status, Retries: 3})
		wantError(t, err, "credentials refused: HTTP "+status, "it wants a login")
		if !errors.Is(err, upstream.ErrUnauthorized) || res.Sent {
			t.Errorf("got %v, sent %v", err, res.Sent)
		}
	}
	res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "http-429"})
	if err == nil || res.Sent {
		t.Errorf("got %v, sent %v for 429", err, res.Sent)
	}
}

func TestServerSeesItsEnvironmentOnly(t *testing.T) {
	t.Setenv("TOOLDEX_TEST_OTHERS_SECRET", "x")
	t.Setenv("TOOLDEX_TEST_WANTED", "y")
	sp := stdioSpec(t, &rawServer{Version: wire.Stateless})
	sp.InheritEnv = []string{"TOOLDEX_TEST_WANTED"}
	s := start(t, Options{}, sp)
	var got struct{ StructuredContent []string }
	if err := json.Unmarshal(mustCall(t, s, "raw", "environ").Raw, &got); err != nil {
		t.Fatal(err)
	}
	env := got.StructuredContent
	if slices.Contains(env, "TOOLDEX_TEST_OTHERS_SECRET=x") || !slices.Contains(env, "TOOLDEX_TEST_WANTED=y") {
		t.Errorf("the server sees %q", env)
	}
}

// One who calls much does not keep another waiting: 200 calls of the one wait
// for a server, and the other's call is the next.
func TestCallersOfAServerTakeTurns(t *testing.T) {
	t.Parallel()
	r := &rawServer{Version: wire.Stateless, Stream: true}
	sp, _ := serveHTTP(t, r)
	sp.Concurrency, sp.Queue = 1, 200
	s := start(t, Options{}, sp)
	ctx, cancel := context.WithCancel(within(t, hangTime))
	defer cancel()
	begun := make(chan struct{})
	hanging, unhang := context.WithCancel(ctx)
	go func() {
		_, _ = s.Call(hanging, upstream.Request{Server: "raw", Tool: "hang", Caller: "busy", Progress: func(upstream.Progress) { close(begun) }})
	}()
	<-begun
	ended := make(chan string, 201)
	call := func(caller string) {
		before := s.named("raw").calls.Waiting()
		go func() {
			if _, err := s.Call(ctx, upstream.Request{Server: "raw", Tool: "exact", Caller: caller}); err == nil {
				ended <- caller
			}
		}()
		for s.named("raw").calls.Waiting() == before {
			runtime.Gosched()
		}
	}
	for range 199 {
		call("busy")
	}
	call("other")
	unhang()
	var first []string
	for range 5 { // the second, but for how goroutines end
		first = append(first, <-ended)
	}
	if !slices.Contains(first, "other") {
		t.Errorf("of 200 the first to be answered are of %v, want one of the other caller", first)
	}
}
