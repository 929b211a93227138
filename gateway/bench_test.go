package gateway

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkExecute compares execute_tool with the same call made directly
// with the SDK's client, to the same server as a child process. "gateway" is
// the hop itself; "client" adds a client's own connection to the gateway in
// memory, a second hop that the direct call does not have.
func BenchmarkExecute(b *testing.B) {
	const tool, arguments = "calculate", `{"expression":"6*7"}`
	b.Run("direct", func(b *testing.B) {
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
		defer s.Close()
		b.ReportAllocs()
		for b.Loop() {
			res, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
			if err != nil || res.IsError {
				b.Fatal(err)
			}
		}
	})
	g := start(b, Options{}, childSpec(b))
	b.Run("gateway", func(b *testing.B) {
		args := json.RawMessage(`{"tool_name":"child/` + tool + `","arguments":` + arguments + `}`)
		b.ReportAllocs()
		for b.Loop() {
			if a := g.Call(b.Context(), "execute_tool", args); a.IsError {
				b.Fatal(string(a.JSON))
			}
		}
	})
	b.Run("client", func(b *testing.B) {
		s := connect(b, g, statelessEra, nil)
		b.ReportAllocs()
		for b.Loop() {
			if res := execute(b, s, "child/"+tool, arguments); res.IsError {
				b.Fatal(firstText(b, res))
			}
		}
	})
}

// BenchmarkOverhead is what execute_tool itself costs, without a server.
func BenchmarkOverhead(b *testing.B) {
	g := newGateway(b, callerFunc(okCall), Options{})
	args := json.RawMessage(`{"tool_name":"analytics/csv_analyzer","arguments":{"file_url":"x","columns":["a"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if a := g.Call(b.Context(), "execute_tool", args); a.IsError {
			b.Fatal(string(a.JSON))
		}
	}
}
