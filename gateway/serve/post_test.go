package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway"
)

// serveTest serves g over HTTP, as set up, until the test ends.
func serveTest(t *testing.T, g *Server, set ...func(*Host)) *httptest.Server {
	t.Helper()
	h := hosted(g, HostOptions{})
	for _, f := range set {
		f(h)
	}
	srv := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		srv.CloseClientConnections()
		g.closeSessions()
		srv.Close()
	})
	return srv
}

// rawHeader are the headers of a client of the era; of the handshake era it
// has a session.
func rawHeader(t *testing.T, srv *httptest.Server, era string) http.Header {
	t.Helper()
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if era < gateway.StatelessEra {
		res, _ := post(t, srv, h, initialize)
		h.Set(sessionHeader, res.Header.Get(sessionHeader))
		post(t, srv, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	h.Set(versionHeader, era)
	return h
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// What is not offered is answered in the terms of the era, and the session
// goes on.
func TestUnknownMethodsOverHTTP(t *testing.T) {
	srv := serveTest(t, newGateway(t, nil, Options{}))
	for _, tt := range []struct {
		era, message string
		status       int
		body         string
	}{
		{"2025-11-25", `{"jsonrpc":"2.0","id":7,"method":"foo/bar"}`, 200, `"id":7,"error":{"code":-32601`},
		{"2025-11-25", `{"jsonrpc":"2.0","method":"notifications/tasks/status"}`, 202, ``},
		{"2025-11-25", `{"jsonrpc":"2.0","id":"a","method":"prompts/list"}`, 200, `"id":"a","error":{"code":-32601`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`, 200, `-32601`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, `-32600`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":8,"method":"ping"}`, 200, `"id":8,"result":{}`},
		{gateway.StatelessEra, `{"jsonrpc":"2.0","id":7,"method":"foo/bar","params":{` + statelessMeta + `}}`, 404, `"id":7,"error":{"code":-32601`},
		{gateway.StatelessEra, `{"jsonrpc":"2.0","id":7,"method":"resources/list","params":{` + statelessMeta + `}}`, 404, `-32601`},
		{gateway.StatelessEra, `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{` + statelessMeta + `}}`, 404, `-32601`},
		{gateway.StatelessEra, `{"jsonrpc":"2.0","id":7,"method":"ping","params":{` + statelessMeta + `}}`, 404, `-32601`},
		{gateway.StatelessEra, `{"jsonrpc":"2.0","method":"notifications/tasks/status"}`, 202, ``},
		{"1900-01-01", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, 400, `"code":-32022`},
		{"1900-01-01", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, 400, `"supported":["2026-07-28","2025-11-25"`},
	} {
		h := rawHeader(t, srv, tt.era)
		res, body := post(t, srv, h, tt.message)
		if res.StatusCode != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s %s: %d %s, want %d %s", tt.era, tt.message, res.StatusCode, body, tt.status, tt.body)
		}
		if tt.era == "2025-11-25" {
			if _, body := post(t, srv, h, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); !strings.Contains(body, "search_tools") {
				t.Errorf("after %s the session is gone: %s", tt.message, body)
			}
		}
	}
	// Of a session that is not there the client has to hear.
	h := rawHeader(t, srv, "2025-11-25")
	h.Set(sessionHeader, "gone")
	if res, _ := post(t, srv, h, `{"jsonrpc":"2.0","id":7,"method":"foo/bar"}`); res.StatusCode != http.StatusNotFound {
		t.Errorf("unknown session: %d", res.StatusCode)
	}
}

func TestStatelessHeaders(t *testing.T) {
	srv := serveTest(t, newGateway(t, nil, Options{}))
	h := rawHeader(t, srv, gateway.StatelessEra)
	h.Set("Mcp-Method", "tools/call")
	h.Set("Mcp-Name", "=?base64?bGlzdF90b29scw==?=") // list_tools
	h.Set("Last-Event-ID", "4_2")
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_tools","arguments":{},` + statelessMeta + `}}`
	res, body := post(t, srv, h, call)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "pagination") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if got := res.Header.Get("X-Accel-Buffering"); got != "no" {
		t.Errorf("X-Accel-Buffering is %q", got)
	}
	h.Set("Mcp-Name", "=?base64?eA==?=") // x
	if res, body := post(t, srv, h, call); res.StatusCode != http.StatusBadRequest {
		t.Errorf("another name: %d %s", res.StatusCode, body)
	}
	// Without the header the versions that are told include this one.
	h = rawHeader(t, srv, gateway.StatelessEra)
	h.Del(versionHeader)
	if res, body := post(t, srv, h, call); res.StatusCode != http.StatusBadRequest || strings.Contains(body, `"supported"`) {
		t.Errorf("no header: %d %s", res.StatusCode, body)
	}
}

func TestStreamsOfOtherOriginsAreRefused(t *testing.T) {
	srv := serveTest(t, newGateway(t, nil, Options{}))
	h := rawHeader(t, srv, "2025-11-25")
	for origin, want := range map[string]int{"https://evil.example": 403, "null": 403, srv.URL: 200, "": 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = h.Clone()
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		// One stream a session: the second may find the first still open.
		if res.StatusCode != want && (want != 200 || res.StatusCode != http.StatusConflict) {
			t.Errorf("origin %q: %d, want %d", origin, res.StatusCode, want)
		}
	}
}

// halfPost sends a request whose body is announced longer than it comes.
func halfPost(t *testing.T, srv *httptest.Server, announced int, sent string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", announced, sent)
	return c
}

func statusOf(t *testing.T, c net.Conn) int {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// newest is the body that began to be read last.
func (all *bodies) newest() *body {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.reading) == 0 {
		return nil
	}
	return all.reading[len(all.reading)-1]
}

func TestSlowBodiesEnd(t *testing.T) {
	srv := serveTest(t, newGateway(t, nil, Options{}), func(h *Host) { h.bodies.timeout = 10 * time.Millisecond })
	if got := statusOf(t, halfPost(t, srv, 100, "{")); got != http.StatusRequestTimeout {
		t.Errorf("got %d", got)
	}
}

// held are the bytes that are counted.
func (all *bodies) held() int64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.bytes
}

// The bodies that came first make room for those that come: a client that is
// not slow on purpose does not notice.
func TestBodiesAreBounded(t *testing.T) {
	g := newGateway(t, nil, Options{})
	srv := serveTest(t, g, func(h *Host) { h.bodies.most, h.bodies.mostBytes = 3, 1<<20 })
	h := rawHeader(t, srv, "2025-11-25")
	var slow []net.Conn
	for range 5 {
		before := g.bodies.newest()
		slow = append(slow, halfPost(t, srv, 100, "{"))
		for g.bodies.newest() == before {
			runtime.Gosched()
		}
	}
	for _, c := range slow[:2] {
		if got := statusOf(t, c); got != http.StatusServiceUnavailable {
			t.Errorf("the oldest got %d", got)
		}
	}
	large := `{"jsonrpc":"2.0","id":9,"method":"tools/list","pad":"` + strings.Repeat("x", 400<<10) + `"}`
	for range 4 {
		if res, body := post(t, srv, h, large); res.StatusCode != http.StatusOK {
			t.Errorf("a body beside slow ones: %d %s", res.StatusCode, body)
		}
	}
	if res, _ := post(t, srv, h, strings.Repeat(" ", 2<<20)); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a body beyond all bytes: %d", res.StatusCode)
	}
	// A body is given back when its handler returns, which may be after its
	// answer was read.
	for g.bodies.held() != 0 {
		runtime.Gosched()
	}
}

// A connection goes on after a body, however long its next request takes.
func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	w := newGate()
	srv := serveTest(t, newGateway(t, w, Options{}), func(h *Host) { h.bodies.timeout = 20 * time.Millisecond })
	h := rawHeader(t, srv, gateway.StatelessEra)
	h.Set("Mcp-Method", "tools/call")
	h.Set("Mcp-Name", "execute_tool")
	go func() {
		<-w.entered
		<-time.After(60 * time.Millisecond)
		close(w.release)
	}()
	_, body := post(t, srv, h, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}},`+statelessMeta+`}}`)
	if !strings.Contains(body, `\"result\":\"done\"`) {
		t.Errorf("got %s", body)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	srv := serveTest(t, g, func(h *Host) { h.sessions.most = 2 })
	first, second := rawHeader(t, srv, "2025-11-25"), rawHeader(t, srv, "2025-11-25")
	list := func(h http.Header) int {
		res, _ := post(t, srv, h, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
		return res.StatusCode
	}
	if a, b := list(first), list(second); a != 200 || b != 200 {
		t.Fatalf("got %d, %d", a, b)
	}
	third := rawHeader(t, srv, "2025-11-25") // in place of the first, which is idle the longest
	for g.hasSession(first.Get(sessionHeader)) {
		runtime.Gosched()
	}
	if a, b, c := list(first), list(second), list(third); a != 404 || b != 200 || c != 200 {
		t.Errorf("got %d, %d, %d", a, b, c)
	}
	// Sessions in use stay, and the client that comes is told.
	done := make(chan struct{}, 2)
	for _, h := range []http.Header{second, third} {
		go func() {
			post(t, srv, h, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}}}}`)
			done <- struct{}{}
		}()
		<-w.entered
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	res, err := srv.Client().Post(srv.URL+"/mcp", "application/json", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a session too many: %d", res.StatusCode)
	}
	close(w.release)
	<-done
	<-done
	if res, _ := post(t, srv, h, initialize); res.StatusCode != http.StatusOK {
		t.Errorf("after the calls: %d", res.StatusCode)
	}
}
