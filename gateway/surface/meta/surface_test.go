package meta

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tiktoken-go/tokenizer"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
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
	for _, d := range New(gateway.New(nil, nil, gateway.Options{}), surface.Options{}).Tools() {
		b, err := rawjson.Marshal(struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			InputSchema any    `json:"inputSchema"`
		}{d.Name, d.Description, d.Schema})
		if err != nil {
			t.Fatal(err)
		}
		n := tokens(t, string(b))
		t.Logf("%4d  %s", n, d.Name)
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

// Ten rows with descriptions of any length stay within the budget that real
// catalogs keep at the median.
func TestRowBudget(t *testing.T) {
	g := over(gatewaytest.Open(t), nil, gateway.Options{}, surface.Options{})
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
		if n > 1200 || len(a.Content) != 1 || a.Structured != nil || strings.Contains(string(a.JSON), "owner") {
			t.Errorf("%s: %d tokens in %d blocks, want at most 1200 in one: %s", tool, n, len(a.Content), a.JSON)
		}
	}
}
