package meta

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// TestCopiesTakeOneRow has three servers with one tool.
func TestCopiesTakeOneRow(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	l := upstream.Listing{Tools: []json.RawMessage{json.RawMessage(`{"name":"deploy","description":"Deploy to a region"}`)}}
	for _, server := range []string{"cloud1", "cloud2", "cloud3"} {
		if _, err := g.Sync(t.Context(), server, l); err != nil {
			t.Fatal(err)
		}
	}
	out := ask(t, g, "search_tools", `{"query":"deploy to a region","search_type":"keyword","filters":{"servers":["cloud1","cloud2","cloud3"]}}`)
	rows := out["tools"].([]any)
	if len(rows) != 1 || out["total_matches"] != 3.0 || len(rows[0].(map[string]any)["same_as"].([]any)) != 2 {
		t.Errorf("got %v", out)
	}
	out = ask(t, g, "search_tools", `{"query":"deploy to a region","search_type":"keyword","filters":{"servers":["cloud2"]}}`)
	if got := fmt.Sprint(names(out), out["tools"].([]any)[0].(map[string]any)["same_as"]); got != "[cloud2/deploy] <nil>" {
		t.Errorf("of one server: %s", got)
	}
}
