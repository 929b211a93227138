package serve

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
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
	TuneGC()
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
