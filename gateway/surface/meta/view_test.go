package meta

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
)

// created are times that differ between two runs.
var created = regexp.MustCompile(`"created_at":"[^"]*"`)

// What is hidden may be anything: every reply is the same, byte for byte, as
// long as the statistics of the catalog are.
func TestHiddenToolsMayBeAny(t *testing.T) {
	visible := map[string][]string{
		"files": gatewaytest.Catalog["files"], "github": gatewaytest.Catalog["github"],
	}
	replies := func(hidden ...string) []string {
		f := over(gatewaytest.Open(t), gatewaytest.Done, gateway.Options{}, surface.Options{})
		gatewaytest.Store(t, f.Gateway, visible)
		gatewaytest.Store(t, f.Gateway, map[string][]string{"vault": hidden})
		f.view = view.Of(f.Labels, view.Rule{ExcludeServers: []string{"vault"}})
		var out []string
		for _, call := range []struct{ tool, args string }{
			{"search_tools", `{"query":"read a file"}`}, {"search_tools", `{"query":"secret vault read_key"}`}, {"search_tools", `{"query":"key_read"}`},
			{"search_tools", `{"query":"read","filters":{"servers":["vault"]}}`}, {"search_tools", `{"query":"vault/read_key","limit":50}`},
			{"list_tools", `{}`}, {"list_tools", `{"filters":{"tags":["hush"]}}`}, {"get_tool_categories", `{"include_servers":true}`},
			{"get_similar_tools", `{"tool_name":"files/read_file"}`}, {"describe_tool", `{"tool_name":"read_key"}`},
			{"describe_tool", `{"tool_name":"vault/key_read"}`}, {"describe_tool", `{"tool_name":"files/read_file","include_similar":true}`},
			{"execute_tool", `{"tool_name":"read_key","arguments":{}}`}, {"execute_tool", `{"tool_name":"vault__key_read","arguments":{}}`},
		} {
			a := f.Call(t.Context(), call.tool, json.RawMessage(call.args))
			out = append(out, call.tool+" "+call.args+" "+created.ReplaceAllString(string(a.JSON), `"created_at":""`))
		}
		return out
	}
	one := replies(`{"name":"read_key","description":"secret of the vault","inputSchema":{"type":"object"},"_meta":{"tags":["hush"],"category":"Keys"}}`)
	other := replies(`{"name":"key_read","description":"vault of the secret","inputSchema":{"type":"object"},"_meta":{"tags":["open"],"category":"Code"}}`)
	for i := range one {
		if one[i] != other[i] {
			t.Errorf("with one hidden tool\n%s\nwith another\n%s", one[i], other[i])
		}
	}
}
