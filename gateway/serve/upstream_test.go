package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/telemetry"
	"github.com/tooldex/tooldex/gateway/upstream"
	mcpservers "github.com/tooldex/tooldex/gateway/upstream/mcp"
	"github.com/tooldex/tooldex/internal/sample"
)

// TestMain turns the test binary into the sample server where a test starts
// it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLDEX_TEST_SAMPLE") != "" {
		os.Exit(serveSample())
	}
	goleak.VerifyTestMain(m)
}

func serveSample() int {
	s, err := sample.New(sample.Options{Faults: true})
	if err == nil {
		err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start is a gateway over running servers, each of which has listed its
// tools.
func start(t testing.TB, o gateway.Options, specs ...mcpservers.Spec) *Server {
	t.Helper()
	ix := gatewaytest.Open(t)
	listed := make(chan string, 16)
	var g *gateway.Gateway
	ready := make(chan struct{})
	set, err := mcpservers.NewSet(specs, mcpservers.Options{OnList: func(ctx context.Context, server string, l upstream.Listing) {
		<-ready
		if _, err := g.Sync(ctx, server, l); err != nil {
			t.Error(err)
		}
		listed <- server
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := telemetry.NewMetrics(ix, set.Status)
	o.Executed = m.Executed
	g = gateway.New(ix, set, o)
	s, err := New(g, Options{Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- set.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for {
			select {
			case <-listed: // let no list block the end
			case err := <-ran:
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	for range specs {
		select {
		case <-listed:
		case <-time.After(20 * time.Second):
			t.Fatalf("servers are not listed: %+v", set.Status())
		}
	}
	return s
}

// childSpec is the sample server as a child process, with its faults.
func childSpec(t testing.TB) mcpservers.Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcpservers.Spec{Name: "child", Command: exe, Env: map[string]string{"TOOLDEX_TEST_SAMPLE": "1"}}
}

// httpSpec is the sample server over streamable HTTP.
func httpSpec(t testing.TB) mcpservers.Spec {
	t.Helper()
	s, err := sample.New(sample.Options{Faults: true})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		srv.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return mcpservers.Spec{Name: "web", URL: srv.URL + "/mcp"}
}

func execute(t testing.TB, s *mcp.ClientSession, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "execute_tool", Arguments: map[string]any{"tool_name": tool, "arguments": json.RawMessage(arguments)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func firstText(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatal("the result has no content")
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the first block is a %T", res.Content[0])
	}
	return text.Text
}

// TestRealServers finds and runs tools of the sample server as a child and
// over HTTP, through clients of both eras.
func TestRealServers(t *testing.T) {
	g := start(t, gateway.Options{}, childSpec(t), httpSpec(t))
	for _, era := range eras {
		for name, join := range map[string]connectFunc{"memory": connect, "http": connectHTTP} {
			t.Run(name+" "+era, func(t *testing.T) {
				s := join(t, g, era, nil)
				found := execute(t, s, "child/calculate", `{"expression":"6*7"}`)
				if text := firstText(t, found); found.IsError || !strings.Contains(text, "42") || !strings.Contains(text, `"server":"child"`) {
					t.Errorf("calculate gave %s", text)
				}
				picture := execute(t, s, "web/fault_image", `{}`)
				var kinds []string
				for _, c := range picture.Content {
					kinds = append(kinds, fmt.Sprintf("%T", c))
				}
				if want := []string{"*mcp.TextContent", "*mcp.ImageContent", "*mcp.ResourceLink"}; !slices.Equal(kinds, want) {
					t.Errorf("content is %v, want %v", kinds, want)
				}
			})
		}
	}
}

func TestFaultyServers(t *testing.T) {
	g := start(t, gateway.Options{Servers: map[string]gateway.Server{"child": {Trusted: true}}, Retries: 2}, childSpec(t), httpSpec(t))
	s := connect(t, g, gateway.StatelessEra, nil)
	for _, tt := range []struct{ tool, arguments, want string }{
		{"child/fault_fail", `{"message":"no paper"}`, `{"error":"no paper","hint":"child/fault_fail itself`},
		{"web/fault_protocol_error", `{}`, `{"error":"execute_tool web/fault_protocol_error: server web: `},
		{"child/calculate", `{"expresion":"1"}`, `did you mean \"expression\"?`},
		{"child/fault_exit", `{}`, `{"error":"execute_tool child/fault_exit: server child: connection lost`},
	} {
		res := execute(t, s, tt.tool, tt.arguments)
		text := firstText(t, res)
		t.Log(text)
		if !res.IsError || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s gave %s, want %s", tt.tool, tt.arguments, text, tt.want)
		}
	}
	// The server is started again and the others never noticed.
	if res := execute(t, s, "web/calculate", `{"expression":"1+1"}`); res.IsError {
		t.Errorf("another server's tool: %s", firstText(t, res))
	}
	if res := execute(t, s, "child/calculate", `{"expression":"1+1"}`); res.IsError {
		t.Errorf("a tool of the restarted server: %s", firstText(t, res))
	}
}

// TestLargeResultsMakeRoom calls for more bytes than may be in memory at once.
func TestLargeResultsMakeRoom(t *testing.T) {
	g := start(t, gateway.Options{}, childSpec(t))
	s := connectHTTP(t, g, gateway.StatelessEra, nil)
	for _, size := range []int{31 << 20, 2 << 20, 2 << 20} {
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{
			"tool_name": "child/fault_huge", "arguments": map[string]any{"bytes": size},
			"options": map[string]any{"include_metadata": false, "timeout_ms": 300_000}, // the race detector is slow
		}})
		if err != nil || res.IsError {
			t.Fatalf("%d bytes: %v, %.500v", size, err, res)
		}
	}
}

func TestProgressAndCancelThroughServers(t *testing.T) {
	g := start(t, gateway.Options{}, childSpec(t), httpSpec(t))
	for _, era := range eras {
		for _, server := range []string{"child", "web"} {
			t.Run(server+" "+era, func(t *testing.T) {
				steps := make(chan string, 64)
				s := connect(t, g, era, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Message },
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := s.CallTool(ctx, &mcp.CallToolParams{
						Name: "execute_tool", Meta: mcp.Meta{"progressToken": 7},
						Arguments: map[string]any{"tool_name": server + "/fault_slow", "arguments": map[string]any{"seconds": 3}},
					})
					failed <- err
				}()
				if got := <-steps; got != "step 1 of 10" {
					t.Errorf("progress is %q", got)
				}
				cancel()
				if err := <-failed; err == nil {
					t.Error("the cancelled call gave a result")
				}
				for idle := false; !idle; {
					idle = true
					for _, st := range g.metrics.Upstreams() {
						idle = idle && st.InFlight == 0
					}
				}
			})
		}
	}
}

// askingServer has one tool, which asks for a name and greets whoever has it.
func askingServer(t *testing.T) mcpservers.Spec {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
				text := fmt.Sprintf("hello %v, state %s", answer.Content["name"], r.Params.RequestState)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			}
			return &mcp.CallToolResult{RequestState: "s1", InputRequests: mcp.InputRequestMap{
				"who": &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)},
			}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return mcpservers.Spec{Name: "asking", URL: srv.URL}
}

func TestInputIsRelayed(t *testing.T) {
	g := start(t, gateway.Options{}, askingServer(t))
	asked := make(chan string, 4)
	able := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- r.Params.Message
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
	}}
	for name, join := range map[string]connectFunc{"memory": connect, "stdio": connectStdio, "http": connectHTTP} {
		t.Run(name, func(t *testing.T) {
			res := execute(t, join(t, g, gateway.StatelessEra, able), "greet", `{}`)
			if text := firstText(t, res); !strings.Contains(text, `"result":"hello Ada, state s1"`) {
				t.Errorf("got %s", text)
			}
			if got := <-asked; got != "Who are you?" {
				t.Errorf("asked %q", got)
			}
		})
	}
	for name, s := range map[string]*mcp.ClientSession{
		"a client of the other era":    connect(t, g, "2025-11-25", able),
		"a client without elicitation": connect(t, g, gateway.StatelessEra, nil),
	} {
		res := execute(t, s, "greet", `{}`)
		if text := firstText(t, res); !res.IsError || !strings.Contains(text, "server asking asks for input") {
			t.Errorf("%s got %s", name, text)
		}
	}
	if len(asked) != 0 {
		t.Error("somebody was asked who cannot answer")
	}
}
