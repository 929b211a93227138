package serve

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or writes it under -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if it is meant, run go test -update\n%s", path, diff)
	}
}

func TestSurfaceGolden(t *testing.T) {
	ix := gatewaytest.Open(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connect(t, over(t, ix, Options{Version: "1.0"}), era, nil)
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if era == gateway.StatelessEra && list.TTLMs != 3_600_000 {
				t.Errorf("ttlMs is %d, want 3600000", list.TTLMs)
			}
			b, err := json.MarshalIndent(list.Tools, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "tools.golden.json", append(b, '\n'))
		})
	}
}

func TestServerCapabilities(t *testing.T) {
	s := connect(t, over(t, gatewaytest.Open(t), Options{}), "2025-11-25", nil)
	init := s.InitializeResult()
	if init.Capabilities.Tools == nil || init.Capabilities.Tools.ListChanged {
		t.Errorf("tools capability is %+v, want one without listChanged", init.Capabilities.Tools)
	}
	if !strings.HasPrefix(init.Instructions, "Tools of many servers") {
		t.Errorf("instructions are %q", init.Instructions)
	}
}

// eras are one protocol version of each era.
var eras = []string{"2025-11-25", gateway.StatelessEra}

// connect joins a client of the era to g in memory.
func connect(t testing.TB, g *Server, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ss, err := g.server.Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	cs, err := client.Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
		if err := ss.Wait(); err != nil && !clientGone(err) {
			t.Error(err)
		}
	})
	return cs
}
