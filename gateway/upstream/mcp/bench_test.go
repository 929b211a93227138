package mcp

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// BenchmarkCall compares one call through a Set with one of a bare SDK
// session to the same server.
func BenchmarkCall(b *testing.B) {
	spec := stdioSpec(b, &rawServer{Version: wire.Stateless})
	b.Run("stdio/set", func(b *testing.B) { benchSet(b, spec) })
	b.Run("stdio/sdk", func(b *testing.B) {
		cmd := exec.Command(spec.Command)
		cmd.Env = append(os.Environ(), rawEnv+"="+spec.Env[rawEnv])
		benchSDK(b, &mcp.CommandTransport{Command: cmd})
	})
	web, _ := serveHTTP(b, &rawServer{Version: wire.Stateless})
	b.Run("http/set", func(b *testing.B) { benchSet(b, web) })
	b.Run("http/sdk", func(b *testing.B) {
		benchSDK(b, &mcp.StreamableClientTransport{Endpoint: web.URL})
	})
}

func benchSet(b *testing.B, spec Spec) {
	s := start(b, Options{}, spec)
	if _, err := s.Refresh(context.Background(), spec.Name); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Call(context.Background(), upstream.Request{Server: spec.Name, Tool: "pid"}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSDK(b *testing.B, t mcp.Transport) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil)
	session, err := client.Connect(context.Background(), t, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	for b.Loop() {
		if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "pid"}); err != nil {
			b.Fatal(err)
		}
	}
}
