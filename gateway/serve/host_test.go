package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
)

// A removed endpoint is not found, its sessions and streams end, calls under
// way on it still get their answers, and other endpoints notice nothing.
func TestEndpointsComeAndGo(t *testing.T) {
	w := newGate()
	stays, goes := newGateway(t, nil, Options{}), newGateway(t, w, Options{})
	h := hosted(stays, HostOptions{})
	srv := httptest.NewServer(h.Handler())
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/servers/b" + r.URL.Path
		h.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		other.CloseClientConnections()
		h.end()
		srv.Close()
		other.Close()
	})
	status := func(srv *httptest.Server, header http.Header) int {
		res, _ := post(t, srv, header, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
		return res.StatusCode
	}
	if got := status(other, http.Header{}); got != http.StatusNotFound {
		t.Errorf("before it comes: %d", got)
	}
	h.Put("b", goes)
	here, there := rawHeader(t, srv, "2025-11-25"), rawHeader(t, other, "2025-11-25")
	if a, b, c := status(srv, here), status(other, there), status(other, here); a != 200 || b != 200 || c != 404 {
		t.Errorf("sessions of two endpoints: %d, %d, and of the other %d", a, b, c)
	}
	stream, listening := opened(t, other, there)
	in, feed := io.Pipe()
	defer feed.Close()
	overStdio := make(chan error, 1)
	go func() { overStdio <- goes.ServeStdio(context.Background(), in, io.Discard) }()
	answer := make(chan string, 1)
	go func() {
		_, body := post(t, other, there, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}}}}`)
		answer <- body
	}()
	<-w.entered

	h.Remove("b")
	if a, b := status(srv, here), status(other, there); a != 200 || b != 404 {
		t.Errorf("after its end: %d, %d", a, b)
	}
	h.Put("b", newGateway(t, nil, Options{}))
	if a, b := status(other, there), status(other, rawHeader(t, other, "2025-11-25")); a != 404 || b != 200 {
		t.Errorf("one of its name: an old session %d, a new one %d", a, b)
	}
	close(w.release)
	if got := <-answer; !strings.Contains(got, `\"result\":\"done\"`) {
		t.Errorf("the call under way: %s", got)
	}
	for _, body := range []io.ReadCloser{stream, listening} {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("a stream: %v", err)
		}
		body.Close()
	}
	if err := <-overStdio; err != nil {
		t.Errorf("the session over stdio: %v", err)
	}
	refused, _ := fail(t, goes, "list_tools", `{}`)
	if !strings.Contains(refused, "the virtual server was changed or removed") {
		t.Errorf("a call that comes too late: %s", refused)
	}
	if got := status(srv, here); got != 200 {
		t.Errorf("the other endpoint: %d", got)
	}
}

// opened are the stream of a session, and one without a session.
func opened(t *testing.T, srv *httptest.Server, session http.Header) (stream, listening io.ReadCloser) {
	t.Helper()
	open := func(method, body string, header http.Header) io.ReadCloser {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK {
			why, _ := io.ReadAll(res.Body)
			t.Fatalf("%s: HTTP %s: %s", method, res.Status, why)
		}
		return res.Body
	}
	get := session.Clone()
	get.Set("Accept", "text/event-stream")
	post := rawHeader(t, srv, gateway.StatelessEra)
	post.Set("Mcp-Method", "subscriptions/listen")
	return open(http.MethodGet, "", get),
		open(http.MethodPost, `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+statelessMeta+`}}`, post)
}
