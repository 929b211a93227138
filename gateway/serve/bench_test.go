package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/serve/heap"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// BenchmarkExecute compares execute_tool with the same call made directly
// with the SDK's client to the same server program, a child on stdio. The
// calls alternate, so that a busy machine slows them alike. "gateway/direct"
// is the hop itself, for which the budget is 1.5; "client/direct" adds a
// client's own connection to the gateway, in memory, which a direct call does
// not have.
func BenchmarkExecute(b *testing.B) {
	const tool, arguments = "calculate", `{"expression":"6*7"}`
	straight := connectChild(b)
	g := start(b, gateway.Options{}, childSpec(b))
	client := connect(b, g, gateway.StatelessEra, nil)
	heap.Tune()
	args := json.RawMessage(`{"tool_name":"child/` + tool + `","arguments":` + arguments + `}`)
	var direct, hop, whole time.Duration
	for b.Loop() {
		direct += timed(func() {
			res, err := straight.CallTool(b.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
			if err != nil || res.IsError {
				b.Fatal(err)
			}
		})
		hop += timed(func() {
			if a := g.Call(b.Context(), "execute_tool", args); a.IsError {
				b.Fatal(string(a.JSON))
			}
		})
		whole += timed(func() {
			if res := execute(b, client, "child/"+tool, arguments); res.IsError {
				b.Fatal(firstText(b, res))
			}
		})
	}
	b.ReportMetric(float64(direct.Nanoseconds())/float64(b.N), "direct-ns/op")
	b.ReportMetric(float64(hop)/float64(direct), "gateway/direct")
	b.ReportMetric(float64(whole)/float64(direct), "client/direct")
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// connectChild is a client of the SDK, straight to the sample server.
func connectChild(b *testing.B) *mcp.ClientSession {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TOOLDEX_TEST_SAMPLE=1")
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkOverhead is what execute_tool itself costs, without a server.
func BenchmarkOverhead(b *testing.B) {
	g := newGateway(b, gatewaytest.Done, Options{})
	args := json.RawMessage(`{"tool_name":"analytics/csv_analyzer","arguments":{"file_url":"x","columns":["a"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if a := g.Call(b.Context(), "execute_tool", args); a.IsError {
			b.Fatal(string(a.JSON))
		}
	}
}

// discarding is a ResponseWriter that counts.
type discarding struct {
	h http.Header
	n int
}

func (d *discarding) Header() http.Header         { return d.h }
func (d *discarding) Write(p []byte) (int, error) { d.n += len(p); return len(p), nil }
func (*discarding) WriteHeader(int)               {}

// posted is how many bytes answer a message.
func posted(h http.Handler, header http.Header, message string) int {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(message))
	r.Header = header
	w := &discarding{h: http.Header{}}
	h.ServeHTTP(w, r)
	return w.n
}

// BenchmarkNative is what a page of 200 among 10,000 tools that are listed
// themselves costs over HTTP, and a call of one beside execute_tool.
func BenchmarkNative(b *testing.B) {
	g := gateway.New(gatewaytest.Open(b), gatewaytest.Done, gateway.Options{})
	catalog := map[string][]string{}
	for i := range 10_000 {
		server := fmt.Sprint("server-", i%20)
		catalog[server] = append(catalog[server], fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":%[2]q}}}}`,
			i, strings.Repeat("some words ", 50)))
	}
	gatewaytest.Store(b, g, catalog)
	s, err := New(g, Options{Native: true})
	if err != nil {
		b.Fatal(err)
	}
	h := hosted(s, HostOptions{}).Handler()
	list := statelessHeader("")
	list.Del(nameHeader)
	list.Set("Mcp-Method", "tools/list")
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s,` + statelessMeta + `}}`
	for _, x := range []struct {
		name    string
		header  http.Header
		message string
		least   int
	}{
		{"page", list, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + statelessMeta + `}}`, 200 * 1000},
		{"call", statelessHeader("server-7__tool_7"), fmt.Sprintf(call, "server-7__tool_7", `{"a":"x"}`), 100},
		{"execute_tool", statelessHeader("execute_tool"), fmt.Sprintf(call, "execute_tool", `{"tool_name":"server-7/tool_7","arguments":{"a":"x"},"options":{"include_metadata":false}}`), 100},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := posted(h, x.header, x.message); n < x.least {
					b.Fatalf("%d bytes", n)
				}
			}
		})
	}
}

// BenchmarkLargeResult is what handing on a result of 4 MB costs over HTTP,
// after it was read from its server.
func BenchmarkLargeResult(b *testing.B) {
	line := "2026-11-22 21:14:06 level=info msg=\"a line of a log\" path=/var/lib/x\n"
	for name, text := range map[string]string{
		"text": strings.Repeat(line, 4<<20/len(line)),
		"json": `[` + strings.Repeat(`{"id":17,"name":"a line","ok":true,"path":"/var/lib/x"},`, 4<<20/56) + `null]`,
	} {
		block, err := json.Marshal(text)
		if err != nil {
			b.Fatal(err)
		}
		raw := json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":` + string(block) + `}]}`)
		g := newGateway(b, gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
			return upstream.Result{Raw: raw, Protocol: gateway.StatelessEra, Sent: true}, nil
		}), Options{})
		h := hosted(g, HostOptions{}).Handler()
		message := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":"read_file","arguments":{"path":"x"}},` + statelessMeta + `}}`
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := posted(h, statelessHeader("execute_tool"), message); n < 4<<20 {
					b.Fatalf("%d bytes", n)
				}
			}
		})
	}
}
