package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// readFile are the arguments of a call of files/read_file.
var readFile = map[string]any{"tool_name": "read_file", "arguments": map[string]any{"path": "x"}}

// A gate is a Caller whose calls wait until released or cancelled.
type gate struct {
	entered chan upstream.Request
	release chan struct{}
	ended   chan error // how each call's context stood when it ended
}

func newGate() *gate {
	return &gate{entered: make(chan upstream.Request, 8), release: make(chan struct{}), ended: make(chan error, 8)}
}

func (w *gate) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	w.entered <- r
	select {
	case <-w.release:
	case <-ctx.Done():
	}
	w.ended <- context.Cause(ctx)
	if err := ctx.Err(); err != nil {
		return upstream.Result{Sent: true}, err
	}
	return gatewaytest.Done(ctx, r)
}

func TestProgressReachesTheCaller(t *testing.T) {
	everywhere(t, func(t *testing.T, connect connectFunc, era string) {
		calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
			if r.Progress == nil {
				t.Error("the caller's progress token is lost")
			} else {
				r.Progress(upstream.Progress{Progress: 1, Total: 3, Message: "one", Meta: map[string]json.RawMessage{"v/x": json.RawMessage(`"one"`)}})
				r.Progress(upstream.Progress{Progress: 2, Total: 3, Message: "two", Meta: map[string]json.RawMessage{"v/x": json.RawMessage(`"two"`)}})
			}
			if r.Meta["progressToken"] != nil || fmt.Sprintf("%s", r.Meta["trace"]) != `"t1"` {
				t.Errorf("_meta sent on is %v", r.Meta)
			}
			for key := range r.Meta {
				if strings.HasPrefix(key, "io.modelcontextprotocol/") {
					t.Errorf("%s is sent on", key)
				}
			}
			return gatewaytest.Done(ctx, r)
		})
		got := make(chan *mcp.ProgressNotificationParams, 4)
		s := connect(t, newGateway(t, calls, Options{}), era, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params },
		})
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "execute_tool", Arguments: readFile, Meta: mcp.Meta{"progressToken": "p7", "trace": "t1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"one", "two"} {
			p := <-got
			if p.ProgressToken != "p7" || p.Message != want || p.Progress != float64(i+1) || p.Total != 3 || p.Meta["v/x"] != want {
				t.Errorf("progress %d is %+v", i, p)
			}
		}
	})
}

func TestCancellationReachesTheServer(t *testing.T) {
	everywhere(t, func(t *testing.T, connect connectFunc, era string) {
		w := newGate()
		s := connect(t, newGateway(t, w, Options{}), era, nil)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "execute_tool", Arguments: readFile})
			failed <- err
		}()
		<-w.entered
		cancel()
		if err := <-failed; err == nil {
			t.Error("the cancelled call gave a result")
		}
		if err := <-w.ended; err == nil {
			t.Error("the call to the server was not cancelled")
		}
	})
}

func TestDeadline(t *testing.T) {
	g := open(t, newGate(), gateway.Options{Servers: map[string]gateway.Server{"github": {Timeout: 2 * time.Millisecond}}}, Options{}, nil)
	msg, hint := fail(t, g, "execute_tool", `{"tool_name":"read_file","arguments":{"path":"x"},"options":{"timeout_ms":3}}`)
	if !strings.Contains(msg, "server files gave no result within 3 ms") || !strings.Contains(hint, "timeout_ms") {
		t.Errorf("got %q %q", msg, hint)
	}
	msg, _ = fail(t, g, "execute_tool", `{"tool_name":"create_issue","arguments":{"title":"x"}}`)
	if !strings.Contains(msg, "within 2 ms") {
		t.Errorf("the server's own timeout is not kept: %q", msg)
	}
	if m := ask(t, g, "describe_tool", `{"tool_name":"read_file","include_metrics":true}`)["metrics"].(map[string]any); m["total_executions"] != 1.0 || m["success_rate"] != 0.0 {
		t.Errorf("metrics are %v", m)
	}
}

func TestDrain(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	answered := make(chan *surface.Answer, 1)
	go func() {
		answered <- g.Call(context.Background(), "execute_tool", json.RawMessage(`{"tool_name":"read_file","arguments":{"path":"x"}}`))
	}()
	<-w.entered
	drained := make(chan error, 1)
	go func() { drained <- g.Drain(t.Context()) }()
	for !g.underWay.IsShut() {
		runtime.Gosched()
	}
	if msg, _ := fail(t, g, "list_tools", `{}`); !strings.Contains(msg, "shutting down") {
		t.Errorf("a call while draining: %s", msg)
	}
	close(w.release)
	if a := <-answered; a.IsError {
		t.Errorf("the call under way failed: %s", a.JSON)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := g.Drain(t.Context()); err != nil {
		t.Errorf("second drain: %v", err)
	}
}

func TestDrainGivesUp(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	answered := make(chan *surface.Answer, 1)
	go func() {
		answered <- g.Call(context.Background(), "execute_tool", json.RawMessage(`{"tool_name":"read_file","arguments":{"path":"x"}}`))
	}()
	<-w.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Drain(ctx); err == nil {
		t.Error("drain gave no error")
	}
	if a := <-answered; !a.IsError || !strings.Contains(string(a.JSON), "cancelled as the gateway is shutting down") {
		t.Errorf("the abandoned call gave %s", a.JSON)
	}
}

// The end of the input must not cost the answers of calls under way.
func TestStdioDrainsAtEOF(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- g.ServeStdio(context.Background(), in, answers)
		answers.Close()
	}()
	all := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(out) // ends with the writer's Close, which gives no error
		all <- b
	}()
	io.WriteString(feed, initialize+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}}}}`+"\n")
	<-w.entered
	feed.Close()
	close(w.release)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if b := <-all; !strings.Contains(string(b), `"id":2`) || !strings.Contains(string(b), `done`) {
		t.Errorf("the call's answer is missing: %s", b)
	}
}

func TestStdioSkipsGarbage(t *testing.T) {
	lines := "hello\n\n{}\n7\n{\"jsonrpc\":\n" + initialize + "\r\n[not json\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	var out bytes.Buffer
	if err := newGateway(t, nil, Options{}).ServeStdio(t.Context(), io.NopCloser(strings.NewReader(lines)), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID    any
			Error *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m.Error != nil {
			got = append(got, fmt.Sprint(m.Error.Code))
		} else {
			got = append(got, fmt.Sprint("id ", m.ID))
		}
	}
	slices.Sort(got)
	if want := "-32600 -32600 -32700 -32700 -32700 id 1 id 2"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestStdioRefusesEndlessLines(t *testing.T) {
	in := io.NopCloser(io.LimitReader(endless{}, 2*maxBody))
	err := newGateway(t, nil, Options{}).ServeStdio(t.Context(), in, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "longer than 16777216 bytes") {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestStdioStopsWithContext(t *testing.T) {
	g := newGateway(t, nil, Options{})
	in, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.ServeStdio(ctx, in, io.Discard) }()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeStops(t *testing.T) {
	w := newGate()
	g := newGateway(t, w, Options{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- hosted(g, HostOptions{}).Serve(ctx, ln) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	httpClient := &http.Client{Transport: &http.Transport{}}
	defer httpClient.CloseIdleConnections()
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + ln.Addr().String() + "/mcp", HTTPClient: httpClient},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "execute_tool", Arguments: readFile})
		answered <- err
	}()
	<-w.entered
	cancel()
	close(w.release)
	if err := <-answered; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	_ = s.Close() // the server has gone, which Close may report
}

func TestHTTPGuards(t *testing.T) {
	h := hosted(open(t, nil, gateway.Options{}, Options{}, func() []upstream.Status {
		return []upstream.Status{{Name: "files", State: upstream.Ready}, {Name: "github", State: upstream.Backoff, Restarts: 2}}
	}), HostOptions{Hosts: []string{"tools.example"}})
	for _, tt := range []struct {
		method, path, host, origin string
		status                     int
		body                       string
	}{
		{"GET", "/healthz", "127.0.0.1:7420", "", 200, "ok"},
		{"GET", "/healthz", "localhost", "", 200, "ok"},
		{"GET", "/healthz", "[::1]:7420", "", 200, "ok"},
		{"GET", "/healthz", "Tools.Example:443", "", 200, "ok"},
		{"GET", "/healthz", "evil.example", "", 403, "evil.example"},
		{"GET", "/metrics", "evil.example:7420", "", 403, ""},
		{"GET", "/healthz", "localhost.evil.example", "", 403, ""},
		{"POST", "/mcp", "127.0.0.1:7420", "https://evil.example", 403, ""},
		{"GET", "/readyz", "localhost", "", 200, `{"ready":true,"tools":10,"servers":{"backoff":1,"ready":1}}`},
		{"GET", "/metrics", "localhost", "", 200, `tooldex_server_restarts_total{server="github"} 2`},
		{"GET", "/metrics", "localhost", "", 200, `tooldex_tools{server="files"} 3`},
		{"GET", "/", "localhost:7420", "", 200, "claude mcp add --transport http tooldex http://localhost:7420/mcp"},
		{"GET", "/", "evil.example", "", 403, "evil.example"},
		{"POST", "/healthz", "localhost", "", 405, ""},
		{"GET", "/nowhere", "localhost", "", 404, ""},
		{"DELETE", "/mcp", "localhost", "", 400, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%s %s of %s: %d %s, want %d %s", tt.method, tt.path, tt.host, w.Code, w.Body, tt.status, tt.body)
		}
	}
	h.end()
	w := httptest.NewRecorder()
	h.ready(w, nil)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("readyz while draining: %d", w.Code)
	}
}

func TestBodyLimit(t *testing.T) {
	srv := httptest.NewServer(hosted(newGateway(t, nil, Options{}), HostOptions{}).Handler())
	defer srv.Close()
	for _, era := range eras {
		header := http.Header{}
		header.Set("Content-Type", "application/json")
		header.Set("Accept", "application/json, text/event-stream")
		header.Set("MCP-Protocol-Version", era)
		res, body := post(t, srv, header, `{"pad":"`+strings.Repeat("x", maxBody)+`"}`)
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", era, res.StatusCode, body)
		}
	}
}
