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

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
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

func TestSurfaceBudgets(t *testing.T) {
	gatewaytest.Budget(t, New(gateway.New(nil, nil, gateway.Options{}), surface.Options{}), 1000, 80)
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
		n := gatewaytest.Tokens(t, string(a.JSON))
		t.Logf("%s: %d tokens", tool, n)
		if n > 1200 || len(a.Content) != 1 || a.Structured != nil || strings.Contains(string(a.JSON), "properties") {
			t.Errorf("%s: %d tokens in %d blocks, want at most 1200 in one: %s", tool, n, len(a.Content), a.JSON)
		}
	}
}
