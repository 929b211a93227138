package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// good is a second server in most tests here: whatever one does, the other
// must go on.
func good(t *testing.T) Spec {
	sp := stdioSpec(t, &rawServer{Version: wire.Stateless, Name: "good"})
	sp.Name = "good"
	return sp
}

func mustCall(t *testing.T, s *Set, server, tool string) upstream.Result {
	t.Helper()
	res, err := s.Call(within(t, hangTime), upstream.Request{Server: server, Tool: tool})
	if err != nil {
		t.Fatalf("call %s/%s: %v", server, tool, err)
	}
	return res
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want %q in it", err, part)
		}
	}
	t.Logf("message: %v", err)
}

// A server that its Spec keeps from running says why; the others run.
func TestDisabledServer(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, Spec{Name: "off", Disabled: "TOKEN is not set"}, good(t))
	_, err := s.Call(t.Context(), upstream.Request{Server: "off", Tool: "x"})
	wantError(t, err, "call off/x: disabled: TOKEN is not set")
	_, err = s.Refresh(t.Context(), "off")
	wantError(t, err, "refresh off: disabled: TOKEN is not set")
	if !errors.Is(err, upstream.ErrDisabled) {
		t.Errorf("%v is no ErrDisabled", err)
	}
	if st := s.Status()[0]; st.State != upstream.Disabled || st.Error != "TOKEN is not set" {
		t.Errorf("status: %+v", st)
	}
	mustCall(t, s, "good", "echo")
}

func TestSpecsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no name", Spec{Command: "x"}, `server "": bad name`},
		{"long name", Spec{Name: strings.Repeat("a", 65), Command: "x"}, "bad name: use 1 to 64 letters"},
		{"slash in name", Spec{Name: "a/b", Command: "x"}, `server "a/b": bad name`},
		{"neither", Spec{Name: "a"}, "neither command nor url"},
		{"both", Spec{Name: "a", Command: "x", URL: "http://h/"}, "both command and url"},
		{"unknown type", Spec{Name: "a", URL: "http://h/", Type: "ws"}, `unknown type "ws": use stdio, http or sse`},
		{"command as http", Spec{Name: "a", Command: "x", Type: "http"}, `type "http" needs a url`},
		{"url as stdio", Spec{Name: "a", URL: "http://h/", Type: "stdio"}, `type "stdio" needs a command`},
		{"no scheme", Spec{Name: "a", URL: "example.com/mcp"}, `bad url "example.com/mcp": write it as https://host/path`},
		{"wrong scheme", Spec{Name: "a", URL: "ftp://h/"}, `bad url "ftp://h/"`},
		{"no url at all", Spec{Name: "a", URL: "http://[::1"}, "bad url: missing ']' in host"},
		{"header", Spec{Name: "a", URL: "http://h/", Headers: map[string]string{"a b": "c"}}, `bad header "a b"`},
		{"negative", Spec{Name: "a", Command: "x", Queue: -1}, "must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewSet([]Spec{c.spec}, Options{})
			wantError(t, err, c.want)
		})
	}
	_, err := NewSet([]Spec{{Name: "a", Command: "x"}, {Name: "a", Command: "y"}, {Name: "b"}}, Options{})
	wantError(t, err, `server "a": configured twice`, `server "b": neither command nor url`)
}

// A server that wants other credentials has not run anything, and says so in
// its state.
func TestServersThatWantALogin(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "who are you?")
	}))
	t.Cleanup(srv.Close)
	for want, headers := range map[string]map[string]string{
		"it wants a login: give its token under headers": nil,
		"check its token": {"Authorization": "Bearer of-old-times"},
	} {
		s := start(t, Options{}, Spec{Name: "web", URL: srv.URL, Headers: headers})
		_, err := s.Refresh(within(t, hangTime), "web")
		wantError(t, err, "refresh web: credentials refused: HTTP 401 Unauthorized: who are you?: "+want)
		res, err := s.Call(within(t, 100*time.Millisecond), upstream.Request{Server: "web", Tool: "x"})
		if !errors.Is(err, upstream.ErrUnauthorized) || res.Sent {
			t.Errorf("got %v, sent %v, want ErrUnauthorized, false", err, res.Sent)
		}
		next(t, waitFor(t, func() bool {
			st := s.Status()[0]
			return st.State == upstream.NeedsLogin && st.Why == st.Error && !st.Since.IsZero() && !st.NextTry.IsZero()
		}), "state")
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	answer := func(status int, kind, body string) Spec {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(srv.Close)
		return Spec{URL: srv.URL}
	}
	mute := func(method, version string) Spec {
		sp, _ := serveHTTP(t, &rawServer{Version: version, Mute: method, Stream: true})
		return sp
	}
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	t.Cleanup(moved.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, c := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"command not found", Spec{Command: "no-such-command-anywhere"}, []string{`command "no-such-command-anywhere" not found: install it, or set command to its full path`}},
		{"no such folder", Spec{Command: "go", Cwd: "/no/such/folder"}, []string{`working folder "/no/such/folder"`, "correct cwd"}},
		{"exits at once", stdioSpec(t, &rawServer{Start: "exit"}), []string{"the server exited (exit status 5)", "its stderr ends: raw: cannot find my config"}},
		{"never answers", stdioSpec(t, &rawServer{Start: "silent"}), []string{"no answer within 2s"}},
		{"exits on both", stdioSpec(t, &rawServer{Discover: "exit", Version: "bad"}), []string{"unsupported protocol version"}},
		{"speaks no version", stdioSpec(t, &rawServer{Version: "1999-01-01"}), []string{`unsupported protocol version: "1999-01-01"`}},
		{"nobody listens", Spec{URL: closed.URL}, []string{"connection refused"}},
		{"a web page", answer(200, "text/html", "<html>hello"), []string{"the answer is not of MCP (text/html): <html>hello"}},
		{"not found", answer(404, "text/plain", "nothing here"), []string{"HTTP 404 Not Found: nothing here", "as legacy SSE"}},
		{"never answers HTTP", Spec{URL: silent.URL}, []string{"no answer within 2s"}},
		{"never answers SSE", Spec{URL: silent.URL, Type: "sse"}, []string{"no answer within 2s"}},
		{"never answers initialize", mute("initialize", "2025-11-25"), []string{"no answer within 2s"}},
		{"never answers tools/list", mute("tools/list", wire.Stateless), []string{"tools/list, page 1: tools/list: not complete within 2s"}},
		{"never answers tools/list on stdio", stdioSpec(t, &rawServer{Version: wire.Stateless, Mute: "tools/list"}), []string{"not complete within 2s"}},
		{"moved", Spec{URL: moved.URL}, []string{"HTTP 302 Found to /elsewhere: use that as url if you trust it"}},
		{"failing", answer(500, "text/plain", "oops"), []string{"HTTP 500 Internal Server Error: oops"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.spec.Name = "bad"
			o := Options{ConnectTimeout: hangTime, DiscoverTimeout: time.Second, ListTimeout: 2 * time.Second}
			if strings.HasPrefix(c.want[0], "no answer within") {
				o.ConnectTimeout = 2 * time.Second
			}
			s := start(t, o, good(t), c.spec)
			_, err := s.Refresh(within(t, hangTime), "bad")
			wantError(t, err, append(c.want, "refresh bad: not connected")...)
			mustCall(t, s, "good", "exact")
			_, err = s.Call(within(t, 100*time.Millisecond), upstream.Request{Server: "bad", Tool: "x"})
			if !errors.Is(err, upstream.ErrNotConnected) {
				t.Errorf("got %v, want ErrNotConnected", err)
			}
			wantError(t, err, "call bad/x: not connected")
			for _, st := range s.Status() {
				if st.Name == "bad" && (st.State == upstream.Ready || st.Error == "") {
					t.Errorf("got status %+v", st)
				}
				if st.Name == "good" && (st.State != upstream.Ready || st.Error != "") {
					t.Errorf("got status %+v", st)
				}
			}
		})
	}
}

func TestServerThatBabbles(t *testing.T) {
	t.Parallel()
	bad := stdioSpec(t, &rawServer{Start: "babble"})
	s := start(t, Options{}, good(t), bad)
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "the server never stops writing what nobody asked for: over 8 MiB")
	mustCall(t, s, "good", "exact")
	if w := s.Status()[1].Warnings; len(w) != 1 || !strings.Contains(w[0], "wrote on stdout what is no MCP: babble babble") {
		t.Errorf("got warnings %q", w)
	}
}

func TestGarbageIsPassedOver(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, stdioSpec(t, &rawServer{Version: wire.Stateless, Start: "garbage"}))
	mustCall(t, s, "raw", "garbage")
	mustCall(t, s, "raw", "exact")
	if w := s.Status()[0].Warnings; len(w) != 1 || w[0] != "wrote on stdout what is no MCP: Listening on stdio…" {
		t.Errorf("got warnings %q", w)
	}
}

func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]func(*rawServer) Spec{
		"stdio": func(r *rawServer) Spec { return stdioSpec(t, r) },
		"json":  func(r *rawServer) Spec { sp, _ := serveHTTP(t, r); return sp },
		"events": func(r *rawServer) Spec {
			r.Stream = true
			sp, _ := serveHTTP(t, r)
			return sp
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{}, spec(&rawServer{Version: wire.Stateless}))
			mustCall(t, s, "raw", "exact")
			res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "huge", Retries: 3})
			wantError(t, err, "call raw/huge: answer larger than 32 MiB; the call may have run")
			if !errors.Is(err, upstream.ErrTooLarge) || !res.Sent {
				t.Errorf("got %v, sent %v, want upstream.ErrTooLarge, true", err, res.Sent)
			}
			mustCall(t, s, "raw", "exact")
			if n := s.Status()[0].Restarts; n != 0 {
				t.Errorf("got %d restarts, want none", n)
			}
		})
	}
	t.Run("sse", func(t *testing.T) {
		s := start(t, Options{}, serveSSE(t, &rawServer{Version: "2024-11-05"}))
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "huge"})
		wantError(t, err, "answer larger than 32 MiB")
		mustCall(t, s, "raw", "exact")
	})
}

// An answer that is cut off is not taken for what nobody asked for, however
// much of it came.
func TestAnswersCutOff(t *testing.T) {
	t.Parallel()
	begin := `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 9<<20)
	events := odd(t, &rawServer{Version: wire.Stateless}, "tools/call", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: "+begin)
	})
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"events": {events, "call raw/cut: connection lost: calling \"tools/call\": request terminated without response"},
		"stdio":  {stdioSpec(t, &rawServer{Version: wire.Stateless}), "call raw/cut: connection lost: the server exited (exit status 9)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{}, c.spec)
			mustList(t, s)
			_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "cut"})
			wantError(t, err, c.want)
		})
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, stdioSpec(t, &rawServer{Version: "2025-11-25"}))
	mustCall(t, s, "raw", "questions")
	mustCall(t, s, "raw", "exact")
	tp := wire.NewTap(t.Context(), slog.New(slog.DiscardHandler), mask.Masker{}, nil, nil)
	id, err := jsonrpc.MakeID("q")
	if err != nil {
		t.Fatal(err)
	}
	ask := &jsonrpc.Request{ID: id, Method: "ping"}
	passed := 0
	for range 3 * wire.MaxAsked {
		if tp.Incoming(ask) != nil {
			passed++
		}
	}
	if passed != wire.MaxAsked {
		t.Errorf("%d unanswered requests passed, want %d", passed, wire.MaxAsked)
	}
	tp.Outgoing(context.Background(), &jsonrpc.Response{ID: ask.ID})
	if tp.Incoming(ask) == nil {
		t.Error("an answer made no room for the next request")
	}
}

func TestStubbornServerIsTerminated(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, stdioSpec(t, &rawServer{Version: wire.Stateless, Stubborn: true}))
	mustCall(t, s, "raw", "exact") // the end of the test waits for the end of the process
}

func TestExitDuringCall(t *testing.T) {
	t.Parallel()
	s := start(t, Options{}, good(t), stdioSpec(t, &rawServer{Version: wire.Stateless}))
	before := string(mustCall(t, s, "raw", "pid").Raw)
	res, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "exit", Retries: 3})
	wantError(t, err, "call raw/exit: connection lost: the server exited (exit status 7); its stderr ends: raw: about to die; the call may have run")
	if !errors.Is(err, upstream.ErrGone) || !res.Sent {
		t.Errorf("got %v, sent %v, want upstream.ErrGone, true", err, res.Sent)
	}
	var ce *upstream.CallError
	if !errors.As(err, &ce) || ce.Server != "raw" || ce.Tool != "exit" || !ce.Sent {
		t.Errorf("got %#v", err)
	}
	mustCall(t, s, "good", "exact")
	if after := string(mustCall(t, s, "raw", "pid").Raw); after == before {
		t.Errorf("the server was not restarted: %s", after)
	}
	if st := s.Status()[1]; st.Restarts != 1 || st.State != upstream.Ready {
		t.Errorf("got status %+v, want one restart, ready", st)
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	connections(t, fewEras, func(t *testing.T, version string, spec func(*rawServer) Spec) {
		s := start(t, Options{}, spec(&rawServer{Version: version}))
		_, err := s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "error", Retries: 2, Idempotent: true})
		wantError(t, err, "call raw/error: no such thing")
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != -32602 || string(e.Data) != `{"big":12345678901234567890}` {
			t.Errorf("got %#v, want the server's error", err)
		}
		var call *upstream.CallError
		if want := `no such thing (JSON-RPC error -32602, data {"big":12345678901234567890})`; !errors.As(err, &call) || !call.Refused || call.Cause() != want {
			t.Errorf("got cause %v, want %s", call.Cause(), want)
		}
		_, err = s.Call(within(t, hangTime), upstream.Request{Server: "raw", Tool: "string"})
		wantError(t, err, "call raw/string: the answer has no result object")
		mustCall(t, s, "raw", "exact")
	})
}

func TestLists(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"tool-%d","inputSchema":{"type":"object"}}`, i)
	}
	for _, c := range []struct {
		name  string
		raw   *rawServer
		tools int
		warn  string
	}{
		{"pages", &rawServer{Pages: [][]string{many[:2], {}, many[2:5]}}, 5, ""},
		{"5,000 tools", &rawServer{Pages: [][]string{many[:2500], many[2500:]}}, 5000, ""},
		{"same cursor for ever", &rawServer{Repeat: true, Pages: [][]string{many[:3]}}, 6, `tools/list repeats its cursor "page-0": stopped after page 2`},
		{"an empty cursor", &rawServer{Blank: true, Pages: [][]string{many[:2], many[2:4], many[4:7]}}, 7, ""},
		{"an empty cursor for ever", &rawServer{Blank: true, Repeat: true, Pages: [][]string{many[:2], many[2:4]}}, 6, `tools/list repeats its cursor "": stopped after page 3`},
		{"an empty cursor before 2026-07-28", &rawServer{Version: "2025-11-25", Blank: true, Pages: [][]string{many[:2], many[2:4]}}, 2, ""},
		{"two of one name", &rawServer{Tools: []string{many[0], many[0]}}, 2, ""},
		{"not tools", &rawServer{Tools: []string{`7`, many[0], `{"name":5}`, `null`, `{"name":""}`}}, 1, "entry 1 on page 1 of tools/list is not a tool: 7"},
		{"no tools", &rawServer{Tools: []string{}}, 0, ""},
		{"method not known", &rawServer{NoList: true}, 0, "the server does not know tools/list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.raw.Version == "" {
				c.raw.Version = wire.Stateless
			}
			got := make(chan upstream.Listing, 1)
			s := start(t, Options{OnList: func(_ context.Context, server string, l upstream.Listing) { got <- l }}, stdioSpec(t, c.raw))
			l, err := s.Refresh(within(t, hangTime), "raw")
			if err != nil {
				t.Fatal(err)
			}
			if n := len((<-got).Tools); len(l.Tools) != c.tools || n != c.tools {
				t.Errorf("got %d tools, %d by OnList, want %d", len(l.Tools), n, c.tools)
			}
			if c.warn != "" && (len(l.Warnings) == 0 || l.Warnings[0] != c.warn) || c.warn == "" && len(l.Warnings) > 0 {
				t.Errorf("got warnings %q, want %q", l.Warnings, c.warn)
			}
			if st := s.Status()[0]; st.Tools != c.tools || st.Listed.IsZero() || st.State != upstream.Ready {
				t.Errorf("got status %+v", st)
			}
		})
	}
}

// small is an allowance that nothing comes back to: how soon it is used up
// does not depend on how fast this machine reads.
func small() *wire.Allowance { return wire.AllowanceOf(1<<20, 0) }

func TestServerThatBabblesInMessages(t *testing.T) {
	t.Parallel()
	s := start(t, Options{useless: small}, good(t), stdioSpec(t, &rawServer{Version: wire.Stateless, Start: "chatter"}))
	_, err := s.Refresh(within(t, hangTime), "raw")
	wantError(t, err, "the server never stops writing")
	mustCall(t, s, "good", "exact")
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	o := Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s := start(t, o, stdioSpec(t, &rawServer{Version: wire.Stateless, Name: strings.Repeat("ä", 1<<20), Manual: strings.Repeat("m", 1<<20)}))
	mustCall(t, s, "raw", "exact")
	if st := s.Status()[0]; len(st.Server) > 300 || !strings.HasSuffix(st.Server, "…") {
		t.Errorf("the status has a name of %d bytes", len(st.Server))
	}
	if l, err := s.Refresh(within(t, hangTime), "raw"); err != nil || len(l.Instructions) > 2*longestInstructions {
		t.Errorf("the instructions have %d bytes, %v", len(l.Instructions), err)
	}
	if text := log.String(); len(text) > 20000 {
		t.Errorf("the log has %d bytes", len(text))
	}
}
