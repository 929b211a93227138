package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// connectHTTP joins a client of the era to g over streamable HTTP.
func connectHTTP(t testing.TB, g *Server, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	srv := httptest.NewServer(hosted(g, HostOptions{}).Handler())
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: srv.Client()},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		srv.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		g.closeSessions()
		srv.Close()
	})
	return cs
}

// connectStdio joins a client of the era to g over a pair of pipes.
func connectStdio(t testing.TB, g *Server, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- g.ServeStdio(context.Background(), toServer, fromServer) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return cs
}

type connectFunc func(testing.TB, *Server, string, *mcp.ClientOptions) *mcp.ClientSession

// everywhere runs a test over each transport in both eras.
func everywhere(t *testing.T, run func(t *testing.T, connect connectFunc, era string)) {
	overTheWire(t, eras, run)
}

func overTheWire(t *testing.T, versions []string, run func(t *testing.T, connect connectFunc, era string)) {
	for name, connect := range map[string]connectFunc{"memory": connect, "stdio": connectStdio, "http": connectHTTP} {
		for _, era := range versions {
			t.Run(name+" "+era, func(t *testing.T) { run(t, connect, era) })
		}
	}
}

func TestMetaToolsOverTheWire(t *testing.T) {
	overTheWire(t, mcp.SupportedProtocolVersions(), func(t *testing.T, connect connectFunc, era string) {
		s := connect(t, newGateway(t, gatewaytest.Done, Options{}), era, nil)
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "read a file"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Content) != 1 || res.StructuredContent != nil || res.IsError {
			t.Errorf("search_tools: %d blocks, structured %v, isError %v", len(res.Content), res.StructuredContent, res.IsError)
		}
		if text := res.Content[0].(*mcp.TextContent).Text; !strings.HasPrefix(text, `{"tools":[{"id":"`) {
			t.Errorf("search_tools gave %s", text)
		}
		res, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_tool", Arguments: map[string]any{
			"tool_name": "read_file", "arguments": `{"path":"x"}`,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.StructuredContent.(map[string]any)["result"]; got != "done" || res.IsError {
			t.Errorf("execute_tool gave %v", got)
		}
		res, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "describe_tool"})
		if err != nil {
			t.Fatal(err)
		}
		if !res.IsError {
			t.Error("describe_tool without a name is no error")
		}
		if _, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "files/read_file"}); err == nil {
			t.Error("an upstream's tool can be called past execute_tool")
		}
	})
}

// awkward is a result that typed values would change: keys out of order,
// unknown ones, a large integer, HTML, an unknown type of content.
const awkward = `{"_meta":{"z":1,"io.modelcontextprotocol/serverInfo":{"name":"u","version":"1"},"a":12345678901234567890},` +
	`"content":[{"text":"<&> \u003c é \u2028","type":"text","annotations":{"priority":1.0,"new":true}},{"type":"hologram","z":1e2,"a":null}],` +
	`"structuredContent":{"b":12345678901234567890,"a":"<"},"extra":1,"isError":false}`

func TestBytesAreKept(t *testing.T) {
	raw := gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
		return upstream.Result{Raw: json.RawMessage(awkward), Protocol: "2025-11-25", Sent: true}, nil
	})
	const call = `{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"},"options":{"include_metadata":false}}%s}`
	const body = `"content":[{"text":"<&> \u003c é \u2028","type":"text","annotations":{"priority":1.0,"new":true}},{"type":"hologram","z":1e2,"a":null}],"structuredContent":{"b":12345678901234567890,"a":"<"},"extra":1,"isError":false}`
	want := map[string]string{
		"2025-11-25":         `{"_meta":{"z":1,"a":12345678901234567890},` + body,
		gateway.StatelessEra: `{"_meta":{"z":1,"a":12345678901234567890,"io.modelcontextprotocol/serverInfo":{"name":"tooldex","version":"dev"}},"resultType":"complete",` + body,
	}
	meta := map[string]string{
		"2025-11-25":         "",
		gateway.StatelessEra: `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	}
	for _, era := range eras {
		t.Run("stdio "+era, func(t *testing.T) {
			got := rawStdio(t, newGateway(t, raw, Options{}), era, fmt.Sprintf(call, meta[era]))
			if diff := cmp.Diff(want[era], got); diff != "" {
				t.Error(diff)
			}
		})
		t.Run("http "+era, func(t *testing.T) {
			got := rawHTTP(t, newGateway(t, raw, Options{}), era, fmt.Sprintf(call, meta[era]))
			if diff := cmp.Diff(want[era], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// rawStdio sends one tools/call as bytes and returns the result's bytes.
func rawStdio(t *testing.T, g *Server, era, params string) string {
	t.Helper()
	lines := ""
	if era < gateway.StatelessEra {
		lines = initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	}
	lines += `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + params + "}\n"
	var out bytes.Buffer
	if err := g.ServeStdio(t.Context(), io.NopCloser(strings.NewReader(lines)), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if got, ok := resultOfID2([]byte(line)); ok {
			return got
		}
	}
	t.Fatalf("no answer in %s", out.String())
	return ""
}

func resultOfID2(message []byte) (string, bool) {
	var m struct {
		ID     int
		Result json.RawMessage
	}
	if json.Unmarshal(message, &m) != nil || m.ID != 2 {
		return "", false
	}
	return string(m.Result), true
}

// rawHTTP is rawStdio over streamable HTTP.
func rawHTTP(t *testing.T, g *Server, era, params string) string {
	t.Helper()
	srv := httptest.NewServer(hosted(g, HostOptions{}).Handler())
	defer srv.Close()
	defer g.closeSessions()
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if era >= gateway.StatelessEra {
		header.Set("MCP-Protocol-Version", era)
		header.Set("Mcp-Method", "tools/call")
		header.Set("Mcp-Name", "execute_tool")
	} else {
		res, _ := post(t, srv, header, initialize)
		header.Set("Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"))
		header.Set("MCP-Protocol-Version", era)
		post(t, srv, header, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	_, body := post(t, srv, header, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+params+`}`)
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if got, ok := resultOfID2([]byte(data)); ok {
				return got
			}
		}
	}
	t.Fatalf("no answer in %s", body)
	return ""
}

func post(t *testing.T, srv *httptest.Server, header http.Header, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}
