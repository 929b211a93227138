package serve

import (
	"encoding/json"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
)

// definition is what a client gives a model of a tool.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (d definition) tokens(t *testing.T) int {
	t.Helper()
	b, err := rawjson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return gatewaytest.Tokens(t, string(b))
}

// What each surface costs a client, beside listing the tools of the catalogs
// that TOOLDEX_CATALOG names: docs/surfaces.md shows it.
func TestCatalogSurfaceTokens(t *testing.T) {
	catalog := gatewaytest.RealCatalog(t)
	all, tools := 0, 0
	for _, raws := range catalog {
		for _, raw := range raws {
			var d definition
			if err := json.Unmarshal([]byte(raw), &d); err != nil {
				t.Fatal(err)
			}
			all, tools = all+d.tokens(t), tools+1
		}
	}
	t.Logf("%8d tokens  all %d tools of %d servers", all, tools, len(catalog))
	for _, sv := range conforming() {
		s := newGateway(t, gatewaytest.Done, sv.Options).surface
		n := gatewaytest.Tokens(t, s.Instructions())
		for _, x := range s.Tools() {
			n += definition{x.Name, x.Description, x.Schema}.tokens(t)
		}
		t.Logf("%8d tokens  surface %s, its instructions included: %.2f %%", n, sv.name, 100*float64(n)/float64(all))
	}
	dialogues(t, catalog)
}

// dialogues logs what it costs to find and run one tool through each surface.
func dialogues(t *testing.T, catalog map[string][]string) {
	t.Helper()
	type step struct{ tool, args string }
	for name, steps := range map[string][]step{
		"meta":     {{"search_tools", `{"query":"open a pull request","limit":5}`}, {"describe_tool", `{"tool_name":"github/create_pull_request"}`}},
		"discover": {{"discover_tools", `{"query":"open a pull request"}`}, {"get_tool_schema", `{"tool_name":"github__create_pull_request"}`}},
		"toolbox":  {{"open_toolbox", `{}`}, {"open_toolbox", `{"name":"github"}`}},
	} {
		g := gateway.New(gatewaytest.Open(t), gatewaytest.Done, gateway.Options{})
		gatewaytest.Store(t, g, catalog)
		s, err := New(g, Options{Surface: name, SurfaceOptions: surface.Options{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range steps {
			a := s.Call(t.Context(), c.tool, json.RawMessage(c.args))
			if a.IsError {
				t.Errorf("%s %s: %s", c.tool, c.args, a.Content)
			}
			n := 0
			for _, block := range a.Content {
				n += gatewaytest.Tokens(t, string(block))
			}
			t.Logf("%8d tokens  %s: %s %s", n, name, c.tool, c.args)
		}
	}
}
