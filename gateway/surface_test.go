package gateway

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tokens counts as cl100k does.
func tokens(t testing.TB, text string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

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

func TestSurfaceBudgets(t *testing.T) {
	total := 0
	for _, d := range surface {
		tool := d.tool(Options{}.withDefaults())
		b, err := marshal(struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			InputSchema any    `json:"inputSchema"`
		}{tool.Name, tool.Description, tool.InputSchema})
		if err != nil {
			t.Fatal(err)
		}
		n := tokens(t, string(b))
		t.Logf("%4d  %s", n, d.name)
		total += n
	}
	if total > 1000 {
		t.Errorf("the six schemas take %d tokens, want at most 1000", total)
	}
	n := tokens(t, instructions)
	t.Logf("%4d  in all, instructions %d", total, n)
	if n > 80 {
		t.Errorf("the instructions take %d tokens, want at most 80", n)
	}
}

func TestSurfaceGolden(t *testing.T) {
	ix := openIndex(t)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connect(t, New(ix, nil, Options{Version: "1.0"}), era, nil)
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if era == statelessEra && list.TTLMs != 3_600_000 {
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
	s := connect(t, New(openIndex(t), nil, Options{}), "2025-11-25", nil)
	init := s.InitializeResult()
	if init.Capabilities.Tools == nil || init.Capabilities.Tools.ListChanged {
		t.Errorf("tools capability is %+v, want one without listChanged", init.Capabilities.Tools)
	}
	if init.Instructions != instructions {
		t.Errorf("instructions are %q", init.Instructions)
	}
}

// eras are one protocol version of each era.
var eras = []string{"2025-11-25", statelessEra}

func openIndex(t testing.TB) *index.Index {
	t.Helper()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return ix
}

// connect joins a client of the era to g in memory.
func connect(t testing.TB, g *Gateway, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ss, err := g.Server().Connect(t.Context(), far, nil)
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

// Ten rows with descriptions of any length stay within the budget that real
// catalogs keep at the median.
func TestRowBudget(t *testing.T) {
	g := New(openIndex(t), nil, Options{})
	var l upstream.Listing
	for i := range 12 {
		l.Tools = append(l.Tools, json.RawMessage(fmt.Sprintf(
			`{"name":"list_pull_requests_%d","description":%q,"inputSchema":{"type":"object","properties":{"owner":{"type":"string"}}}}`,
			i, strings.Repeat("List the pull requests of a repository, newest first, with their authors and labels. ", 20))))
	}
	if _, err := g.Sync(t.Context(), "github", l); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{`search_tools {"query":"pull requests"}`, `list_tools {"page_size":10}`} {
		tool, args, _ := strings.Cut(call, " ")
		a := g.Call(t.Context(), tool, json.RawMessage(args))
		n := tokens(t, string(a.JSON))
		t.Logf("%s: %d tokens", tool, n)
		if n > 1200 || len(a.content) != 1 || a.structured != nil || strings.Contains(string(a.JSON), "owner") {
			t.Errorf("%s: %d tokens in %d blocks, want at most 1200 in one: %s", tool, n, len(a.content), a.JSON)
		}
	}
}
