package callers

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector takes telemetry by OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu      sync.Mutex // guards the fields below
	down    bool
	spans   []*trace.Span
	metrics map[string]string // by name, as text
	keys    map[string]int    // what came in the header Authorization
}

func collecting(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]string{}, keys: map[string]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.take(t, w, r, body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(t *testing.T, w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[r.Header.Get("Authorization")]++
	if c.down { // with the key in its answer
		http.Error(w, "no room for "+r.Header.Get("Authorization"), http.StatusBadRequest)
		return
	}
	var spans traces.ExportTraceServiceRequest
	var points metrics.ExportMetricsServiceRequest
	switch r.URL.Path {
	case "/v1/traces":
		if err := proto.Unmarshal(body, &spans); err != nil {
			t.Error(err)
		}
	case "/v1/metrics":
		if err := proto.Unmarshal(body, &points); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("%s %s", r.Method, r.URL)
	}
	for _, of := range spans.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	for _, of := range points.ResourceMetrics {
		for _, scope := range of.ScopeMetrics {
			for _, m := range scope.Metrics {
				c.metrics[m.Name] += m.String()
			}
		}
	}
}

// got are the spans of a name, and everything that came as text.
func (c *collector) got(name string) (spans []*trace.Span, all string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		all += s.String() + "\n"
		if s.Name == name {
			spans = append(spans, s)
		}
	}
	for _, m := range c.metrics {
		all += m + "\n"
	}
	return spans, all
}

func (c *collector) fail(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// has are the attributes of a span as text.
func has(attributes []*common.KeyValue) string {
	var all []string
	for _, a := range attributes {
		all = append(all, a.Key+"="+a.Value.GetStringValue())
	}
	return strings.Join(all, " ") + " "
}

// telling is an MCP server with one tool, which tells what the _meta of its
// calls names as their span.
func telling(t *testing.T) (url string, spans <-chan string) {
	t.Helper()
	told := make(chan string, 10)
	s := mcp.NewServer(&mcp.Implementation{Name: "sample", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ledger", Description: "Work with the books", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			told <- fmt.Sprint(r.Params.Meta["traceparent"])
			return &mcp.CallToolResult{IsError: strings.Contains(string(r.Params.Arguments), "fail"), Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	return web.URL, told
}

// desk is a REST API with one operation, which tells of its calls in the same
// way, and the document of it.
func desk(t *testing.T) (document string, spans <-chan string) {
	t.Helper()
	told := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told <- r.Header.Get("Traceparent")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`) // who has gone needs nothing
	}))
	t.Cleanup(api.Close)
	document = filepath.Join(t.TempDir(), "desk.json")
	text := fmt.Sprintf(`{"openapi":"3.1.0","info":{"title":"desk","version":"1"},"servers":[{"url":%q}],
"paths":{"/tickets":{"get":{"operationId":"list_tickets","summary":"List tickets","responses":{"200":{"description":"ok"}}}}}}`, api.URL)
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return document, told
}

const (
	ofClient, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331" // the span of a client
	statusError      = trace.Status_STATUS_CODE_ERROR
	collectorKey     = "s3cr3t-of-the-collector"
)

// A tracedWorld is a world whose telemetry is collected.
type tracedWorld struct {
	*world
	to  *collector
	bot token
	// spans that upstreams are told of
	toldBooks, toldDesk <-chan string
}

func beginTraced(t *testing.T) tracedWorld {
	t.Helper()
	for name, value := range map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "20", "OTEL_METRIC_EXPORT_INTERVAL": "50"} {
		t.Setenv(name, value)
	}
	w := tracedWorld{to: collecting(t), bot: newToken()}
	books, toldBooks := telling(t)
	document, toldDesk := desk(t)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(collectorKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.toldBooks, w.toldDesk = toldBooks, toldDesk
	w.world = begin(t, fmt.Sprintf(`
mcpServers: {books: {url: %q, start: eager}}
rest: {desk: {openapi: %q}}
otel: {endpoint: %q, headers: {Authorization: "Bearer ${file:%s}"}}
auth:
  tokens: {bot: {hash: %q}}
  grants: [{anyone: true, endpoints: [default], role: use}]
`, books, document, w.to.URL, key, w.bot.hash))
	w.listed(2)
	return w
}

// run has a tool run for a client that is within a span.
func (w tracedWorld) run(tool, arguments string) answer {
	w.Helper()
	return w.as(w.bot.secret).rpc("/mcp", "tools/call", "execute_tool", map[string]any{
		"name": "execute_tool", "arguments": map[string]any{"tool_name": tool, "arguments": json.RawMessage(arguments)},
		"_meta": map[string]any{
			mcp.MetaKeyProtocolVersion: newest, mcp.MetaKeyClientCapabilities: map[string]any{},
			"traceparent": "00-" + ofClient + "-" + parent + "-01",
		},
	})
}

// span is the last of n spans of a name.
func (w tracedWorld) span(name string, n int) (last *trace.Span) {
	w.Helper()
	w.until(fmt.Sprintf("%d spans %s", n, name), func() bool {
		got, _ := w.to.got(name)
		if len(got) == n {
			last = got[n-1]
		}
		return last != nil
	})
	return last
}

// carries wants attributes in a span.
func (w tracedWorld) carries(s *trace.Span, attributes ...string) {
	w.Helper()
	got := has(s.Attributes)
	for _, want := range attributes {
		if !strings.Contains(got, want+" ") {
			w.Errorf("span %s lacks %s in %s", s.Name, want, got)
		}
	}
}

// told wants an upstream to have been told of a span.
func (w tracedWorld) told(from <-chan string, s *trace.Span) {
	w.Helper()
	if got, want := next(w.world, "the upstream is told", from), fmt.Sprintf("00-%s-%x-01", ofClient, s.SpanId); got != want {
		w.Errorf("the upstream is told of %s, want %s", got, want)
	}
}

// Requests of a client, and what they have run, are spans of the client's own
// trace.
func TestTraces(t *testing.T) {
	w := beginTraced(t)
	if got := w.run("books/ledger", `{}`); !strings.Contains(got.body, "ran") {
		t.Fatalf("the call: %s", got.text())
	}
	served, ran := w.span("tools/call execute_tool", 1), w.span("tools/call ledger", 1)
	if id := hex.EncodeToString(served.TraceId) + " " + hex.EncodeToString(served.ParentSpanId); id != ofClient+" "+parent {
		t.Errorf("the request is of trace and parent %s", id)
	}
	if hex.EncodeToString(ran.TraceId) != ofClient || string(ran.ParentSpanId) != string(served.SpanId) {
		t.Error("the run is no child of the request")
	}
	w.told(w.toldBooks, ran)
	w.carries(served, "mcp.method.name=tools/call", "gen_ai.tool.name=execute_tool", "gen_ai.operation.name=execute_tool",
		"mcp.protocol.version=2026-07-28", "network.transport=tcp", "network.protocol.name=http", "jsonrpc.request.id=1", "enduser.id=token:bot", "tooldex.endpoint=default")
	w.carries(ran, "tooldex.server=books", "gen_ai.tool.name=ledger", "mcp.method.name=tools/call")

	w.run("books/ledger", `{"note":"fail"}`)
	failed := w.span("tools/call ledger", 2)
	w.told(w.toldBooks, failed)
	if w.carries(failed, "error.type=tool_error"); failed.Status.GetCode() != statusError {
		t.Errorf("a failed run is %s", failed)
	}
	w.run("desk/list_tickets", `{}`)
	at := w.span("execute_tool list_tickets", 1)
	if w.told(w.toldDesk, at); strings.Contains(has(at.Attributes), "mcp.") {
		t.Errorf("the run at an API has %s", has(at.Attributes))
	}
	c := w.as(w.bot.secret)
	c.rpc("/mcp", "tools/list", "", nil)
	if listed := w.span("tools/list", 1); len(listed.ParentSpanId) > 0 {
		t.Errorf("a request that names no parent has %x", listed.ParentSpanId)
	}
	if got := c.initialize("/mcp").ask("/mcp", listRequest); got.status != http.StatusOK { // it has no parameters
		t.Errorf("a request of a session: %s", got.text())
	}
	w.span("tools/list", 2)
	c.call("/mcp", "no_such_tool", nil)
	none := w.span("tools/call", 1)
	if w.carries(none, "error.type=-32602"); strings.Contains(none.String(), "no_such_tool") {
		t.Errorf("a call of nothing is %s", none)
	}
}

// Durations arrive with the metrics of /metrics; a collector that fails harms
// nothing and is told of; neither arguments nor secrets are sent.
func TestTelemetry(t *testing.T) {
	w := beginTraced(t)
	w.run("books/ledger", `{"note":"my private words"}`)
	w.span("tools/call execute_tool", 1)
	w.until("metrics arrive", func() bool {
		w.to.mu.Lock()
		defer w.to.mu.Unlock()
		return w.to.metrics["mcp.server.operation.duration"] != "" && w.to.metrics["mcp.client.operation.duration"] != "" && w.to.metrics["tooldex_tool_seconds"] != ""
	})
	w.to.fail(true)
	w.until("a failure is told", func() bool { return w.Status("v1").Otel.Problem != "" })
	if got := w.Status("v1").Otel.Problem; strings.Contains(got, collectorKey) {
		t.Errorf("the failure tells the key: %s", got)
	}
	if got := w.run("books/ledger", `{}`); !strings.Contains(got.body, "ran") {
		t.Errorf("a call meanwhile: %s", got.text())
	}
	w.to.fail(false)
	w.until("what arrives again is told", func() bool { return w.Status("v1").Otel.Problem == "" })
	_, all := w.to.got("")
	for _, secret := range []string{"my private words", collectorKey, w.bot.secret} {
		if strings.Contains(all, secret) {
			t.Errorf("telemetry holds %q", secret)
		}
	}
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	if len(w.to.keys) != 1 || w.to.keys["Bearer "+collectorKey] == 0 {
		t.Errorf("the collector was sent the keys %v", w.to.keys)
	}
}
