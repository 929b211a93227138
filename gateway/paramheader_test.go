package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
)

// TestInvalidParamHeader gives a tool that asks for a header without a name:
// it can be found and not be called, where its arguments go into headers.
func TestInvalidParamHeader(t *testing.T) {
	const tool = `{"name":"deploy","description":"Deploy to a region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"My Region"}}}}`
	for _, headers := range []bool{false, true} {
		g := newGateway(t, nil, Options{})
		l := upstream.Listing{Tools: []json.RawMessage{json.RawMessage(tool)}, ParamHeaders: headers}
		if _, err := g.Sync(t.Context(), "cloud", l); err != nil {
			t.Fatal(err)
		}
		wantNames(t, names(ask(t, g, "search_tools", `{"query":"deploy to a region","limit":1}`)), "cloud/deploy")
		reason, _ := ask(t, g, "describe_tool", `{"tool_name":"cloud/deploy"}`)["not_executable"].(string)
		if strings.Contains(reason, `"x-mcp-header": "My Region"`) != headers {
			t.Errorf("headers %v: not executable as %q", headers, reason)
		}
		if !headers {
			continue
		}
		msg, _ := fail(t, g, "execute_tool", `{"tool_name":"cloud/deploy","arguments":{"region":"eu"}}`)
		if !strings.Contains(msg, `parameter "region"`) {
			t.Errorf("got %s", msg)
		}
	}
}
