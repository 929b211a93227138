package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestFaults(t *testing.T) {
	var code atomic.Int64
	c := connect(t, start(t, Options{Groups: []string{"text"}, Faults: true, Exit: func(n int) { code.Store(int64(n)) }}))
	if got := call(t, c, "fault_fail", `{"message":"boom"}`); got != "error: boom" {
		t.Errorf("fault_fail: got %s", got)
	}
	if got := call(t, c, "fault_fail", `{}`); got != "error: this tool always fails" {
		t.Errorf("fault_fail: got %s", got)
	}
	call(t, c, "fault_exit", `{}`)
	if code.Load() != 3 {
		t.Errorf("fault_exit: exit code %d, want 3", code.Load())
	}
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fault_protocol_error"})
	if wire := new(jsonrpc.Error); !errors.As(err, &wire) || wire.Code != -32050 {
		t.Errorf("fault_protocol_error: got %v", err)
	}
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fault_huge", Arguments: json.RawMessage(`{"bytes":3000000}`)})
	if err != nil || len(res.Content[0].(*mcp.TextContent).Text) != 3_000_000 {
		t.Errorf("fault_huge: %v", err)
	}
	res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fault_image"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(res.Content[1].(*mcp.ImageContent).Data)); err != nil {
		t.Errorf("fault_image: %v", err)
	}
}

func TestSlowReportsProgressAndStops(t *testing.T) {
	progress := make(chan float64, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params.Progress },
	})
	mine, theirs := mcp.NewInMemoryTransports()
	s := start(t, Options{Faults: true})
	if _, err := s.mcp.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), mine, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	slow := func(ctx context.Context, seconds string) (*mcp.CallToolResult, error) {
		p := &mcp.CallToolParams{Name: "fault_slow", Arguments: json.RawMessage(`{"seconds":` + seconds + `}`)}
		p.SetProgressToken("p")
		return c.CallTool(ctx, p)
	}
	if res, err := slow(t.Context(), "0"); err != nil || res.Content[0].(*mcp.TextContent).Text != "took 0 s" {
		t.Fatalf("got %v, %v", res, err)
	}
	for i := range 10 {
		if p := <-progress; p != float64(i+1) {
			t.Errorf("progress %v, want %d", p, i+1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-progress
		cancel()
	}()
	if _, err := slow(ctx, "2"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestOddSchemasAreListedAsTheyAre(t *testing.T) {
	c := connect(t, start(t, Options{Groups: []string{"text"}, Faults: true}))
	tools := listed(t, c)
	for name, want := range map[string]string{
		"fault_null_schema":    `null`,
		"fault_true_schema":    `true`,
		"fault_invalid_schema": `{"properties":{"x":{"minimum":"low","type":"nonsense"}},"required":"x","type":"object"}`,
		"fault_remote_ref":     `{"properties":{"x":{"$ref":"https://example.com/schema.json"}},"type":"object"}`,
	} {
		tool := tools[name]
		if tool == nil {
			t.Errorf("%s: not listed", name)
			continue
		}
		if got := string(mustJSON(tool.InputSchema)); got != want {
			t.Errorf("%s: schema %s, want %s", name, got, want)
		}
	}
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fault_true_schema", Arguments: json.RawMessage(`{"a":1}`)})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != `called fault_true_schema with {"a":1}` {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestListChanges(t *testing.T) {
	changed := make(chan bool, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
	})
	s := start(t, Options{Groups: []string{"text"}, Faults: true})
	mine, theirs := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), mine, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, there := range []bool{true, false, true} {
		call(t, c, "fault_change_tools", `{}`)
		<-changed
		if _, ok := listed(t, c)["fault_extra"]; ok != there {
			t.Errorf("fault_extra listed: %v, want %v", ok, there)
		}
	}
}

// raw exchanges lines with a server on stdio and returns all it wrote.
func raw(t *testing.T, s *Server, lines ...string) string {
	t.Helper()
	in, w := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	answered := make(chan bool, 100)
	go func() {
		done <- s.ServeStdio(t.Context(), in, writerFunc(func(p []byte) (int, error) { answered <- true; return out.Write(p) }))
	}()
	for _, line := range lines {
		io.WriteString(w, line+"\n")
		<-answered
	}
	w.Close()
	<-done
	return out.String()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestGarbageIsItsOwnLine(t *testing.T) {
	out := raw(t, start(t, Options{Groups: []string{"text"}, Faults: true}), initialize,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fault_garbage","arguments":{}}}`)
	lines := strings.Split(out, "\n")
	if len(lines) < 2 || lines[1] != "warning: this line is no protocol message" {
		t.Errorf("got %q", out)
	}
}

func TestExitOnDiscover(t *testing.T) {
	var exited atomic.Bool
	s := start(t, Options{Groups: []string{"text"}, Discover: DiscoverExit, Exit: func(int) { exited.Store(true) }})
	raw(t, s, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if !exited.Load() {
		t.Error("server/discover did not end the process")
	}
}
