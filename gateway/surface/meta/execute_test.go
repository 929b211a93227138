package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// Annotations decide about retries only where the operator trusts the server.
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		tool, arguments string
		trusted, want   bool
	}{
		{"csv_analyzer", `{"file_url":"x"}`, true, true},
		{"csv_analyzer", `{"file_url":"x"}`, false, false},
		{"create_issue", `{"title":"x"}`, true, true},
		{"list_pull_requests", `{}`, true, false},
	} {
		var got upstream.Request
		calls := gatewaytest.Caller(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
			got = r
			return gatewaytest.Done(ctx, r)
		})
		settings := gateway.Server{Trusted: tt.trusted}
		g := newGateway(t, calls, gateway.Options{Retries: 2, Servers: map[string]gateway.Server{"analytics": settings, "github": settings}})
		ask(t, g, "execute_tool", `{"tool_name":"`+tt.tool+`","arguments":`+tt.arguments+`}`)
		if got.Idempotent != tt.want || got.Retries != 2 {
			t.Errorf("%s, trusted %v: idempotent %v with %d retries, want %v with 2", tt.tool, tt.trusted, got.Idempotent, got.Retries, tt.want)
		}
		if string(got.Arguments) != tt.arguments {
			t.Errorf("arguments became %s", got.Arguments)
		}
	}
}

func TestFailedCalls(t *testing.T) {
	wrap := func(err error) error { return &upstream.CallError{Server: "files", Tool: "read_file", Err: err} }
	for _, tt := range []struct {
		sent      bool
		err       error
		msg, hint string
	}{
		{false, wrap(upstream.ErrNotConnected), "server files: not connected", "tooldex status"},
		{false, wrap(fmt.Errorf("%w: 16 calls under way", upstream.ErrQueueFull)), "server files: queue full: 16", "did not run"},
		{true, wrap(upstream.ErrGone), "connection lost", "may have run"},
		{true, wrap(upstream.ErrTooLarge), "larger than 32 MiB", "less at a time"},
		{true, &upstream.CallError{Refused: true, Err: errors.New("no such thing")}, "no such thing", "refused the call"},
		{false, wrap(fmt.Errorf("%w: HTTP 401", upstream.ErrUnauthorized)), "credentials refused", "did not run: our credentials for server files were refused; check its auth"},
		{false, errors.New("odd"), "server files: odd", "did not run"},
	} {
		g := newGateway(t, gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
			return upstream.Result{Sent: tt.sent}, tt.err
		}), gateway.Options{})
		msg, hint := fail(t, g, "execute_tool", `{"tool_name":"read_file","arguments":{"path":"x"}}`)
		if !strings.Contains(msg, "files/read_file") || !strings.Contains(msg, tt.msg) || !strings.Contains(hint, tt.hint) {
			t.Errorf("got %q, hint %q; want %q, hint %q", msg, hint, tt.msg, tt.hint)
		}
		if m := g.ix.Metrics(g.ix.Resolve("files/read_file", nil)[0].ID); m.Total != 1 || m.Failed != 1 {
			t.Errorf("metrics are %+v", m)
		}
	}
}

func TestWithoutCaller(t *testing.T) {
	msg, hint := fail(t, newGateway(t, nil, gateway.Options{}), "execute_tool", `{"tool_name":"read_file","arguments":{"path":"x"}}`)
	if !strings.Contains(msg, "runs no servers") || !strings.Contains(hint, "tooldex serve") {
		t.Errorf("got %q %q", msg, hint)
	}
}

func TestSkipValidation(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{SkipValidation: true})
	ask(t, g, "execute_tool", `{"tool_name":"read_file","arguments":{}}`)
}

func TestCallsAreLogged(t *testing.T) {
	var b bytes.Buffer
	g := newGateway(t, gatewaytest.Done, gateway.Options{LogCalls: true, Logger: slog.New(slog.NewTextHandler(&b, nil))})
	ask(t, g, "execute_tool", `{"tool_name":"read_file","arguments":{"path":"secret"}}`)
	if !strings.Contains(b.String(), `tool=files/read_file ok=true`) || strings.Contains(b.String(), "path") {
		t.Errorf("the log is %s", b.String())
	}
}

func TestBrokenResult(t *testing.T) {
	g := newGateway(t, gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
		return upstream.Result{Raw: json.RawMessage(`{"content":"text"}`), Sent: true}, nil
	}), gateway.Options{})
	if msg, _ := fail(t, g, "execute_tool", `{"tool_name":"read_file","arguments":{"path":"x"}}`); !strings.Contains(msg, "server files: result is not as the protocol has it") {
		t.Errorf("got %q", msg)
	}
}

// A tool that changes must be checked against its new schema.
func TestChangedSchema(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{})
	const call = `{"tool_name":"files/read_file","arguments":{"path":"x"}}`
	ask(t, g, "execute_tool", call)
	_, err := g.Sync(t.Context(), "files", upstream.Listing{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"read_file","inputSchema":{"type":"object","required":["file"]}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if msg, _ := fail(t, g, "execute_tool", call); !strings.Contains(msg, `"file" missing`) {
		t.Errorf("got %q", msg)
	}
	if msg, _ := fail(t, g, "execute_tool", `{"tool_name":"files/write_file","arguments":{}}`); !strings.Contains(msg, "there is no tool") {
		t.Errorf("a removed tool: %q", msg)
	}
}

// Callers and writers at once; the race detector watches.
func TestConcurrentCalls(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				ask(t, g, "search_tools", `{"query":"read a file"}`)
				ask(t, g, "execute_tool", `{"tool_name":"github/create_issue","arguments":{"title":"x"}}`)
				ask(t, g, "list_tools", `{"sort_by":"execution_count"}`)
				ask(t, g, "describe_tool", `{"tool_name":"github/create_issue","include_metrics":true}`)
			}
		})
	}
	for i := range 20 {
		raw := fmt.Sprintf(`{"name":"read_file","description":"Read file %d."}`, i)
		if _, err := g.Sync(t.Context(), "files", upstream.Listing{Tools: []json.RawMessage{json.RawMessage(raw)}}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if m := ask(t, g, "describe_tool", `{"tool_name":"github/create_issue","include_metrics":true}`)["metrics"].(map[string]any); m["total_executions"] != 80.0 {
		t.Errorf("metrics are %v, want 80 executions", m)
	}
}

// FuzzCall: whatever the arguments, the answer is one JSON object.
func FuzzCall(f *testing.F) {
	for _, d := range definitions {
		f.Add(d.Name, []byte(`{"tool_name":"read_file","query":"x","arguments":{"path":"x"},"filters":{"tags":["fs"]}}`))
		f.Add(d.Name, []byte(`{"tool_name":"csv_analyzer","arguments":"{\"file_url\":7}","options":{"timeout_ms":5}}`))
	}
	g := newGateway(f, gatewaytest.Done, gateway.Options{})
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		a := g.Call(context.Background(), tool, args)
		var object map[string]any
		if err := json.Unmarshal(a.JSON, &object); err != nil && a.JSON != nil {
			t.Errorf("%s %q gave %s: %v", tool, args, a.JSON, err)
		}
		if wire, err := a.MarshalJSON(); err != nil || !json.Valid(wire) {
			t.Errorf("%s %q gave no JSON on the wire: %s", tool, args, wire)
		}
	})
}

// Whoever names a tool of a server that does not run is told why.
func TestDisabledServerIsNamed(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{Servers: map[string]gateway.Server{"mail": {Disabled: "TOKEN is not set"}}})
	for _, tool := range []string{"execute_tool", "describe_tool", "get_similar_tools"} {
		args := `{"tool_name":"mail/send"}`
		if tool == "execute_tool" {
			args = `{"tool_name":"mail/send","arguments":{}}`
		}
		msg, hint := fail(t, g, tool, args)
		if msg != tool+" mail/send: server mail is disabled: TOKEN is not set" || !strings.Contains(hint, "mcpServers") {
			t.Errorf("got %q, hint %q", msg, hint)
		}
	}
}
