package meta

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
)

// A search for what a tool's name says, for each tool of the catalogs that
// TOOLDEX_CATALOG names, gives ten rows within their budget at the median.
func TestCatalogRowBudget(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options surface.Options
		most    int
	}{{"with signatures", surface.Options{}, 1300}, {"without signatures", surface.Options{NoSignatures: true}, 1200}} {
		t.Run(tt.name, func(t *testing.T) {
			f := over(gatewaytest.Open(t), nil, gateway.Options{}, tt.options)
			catalog := gatewaytest.RealCatalog(t)
			gatewaytest.Store(t, f.Gateway, catalog)
			var counts []int
			for _, query := range toolNames(t, catalog) {
				a := f.Call(t.Context(), "search_tools", rawjson.Object([]rawjson.Member{{Key: "query", Value: rawjson.Quote(query)}}))
				if a.IsError {
					t.Fatalf("%s: %s", query, a.JSON)
				}
				counts = append(counts, gatewaytest.Tokens(t, string(a.JSON)))
			}
			slices.Sort(counts)
			n := len(counts)
			t.Logf("%d servers, %d tools; tokens of ten rows: median %d, nine in ten %d, most %d", len(catalog), n, counts[n/2], counts[n*9/10], counts[n-1])
			if counts[n/2] > tt.most {
				t.Errorf("the median is %d, want at most %d", counts[n/2], tt.most)
			}
		})
	}
}

// toolNames are the names of all tools, as words.
func toolNames(t *testing.T, catalog map[string][]string) (all []string) {
	t.Helper()
	for _, tools := range catalog {
		for _, raw := range tools {
			var tool struct{ Name string }
			if err := json.Unmarshal([]byte(raw), &tool); err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.NewReplacer("_", " ", "-", " ").Replace(tool.Name))
		}
	}
	return all
}
