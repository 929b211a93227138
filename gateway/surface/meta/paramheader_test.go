package meta

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
)

// TestInvalidParamHeader gives a tool that asks for a header without a name:
// it can be found and not be called, where its arguments go into headers.
func TestInvalidParamHeader(t *testing.T) {
	const tool = `{"name":"deploy","description":"Deploy to a region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"My Region"}}}}`
	for _, headers := range []bool{false, true} {
		g := newGateway(t, nil, gateway.Options{})
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

// TestBrokenSchemaIsToldAndChecked does so through the meta-tools.
func TestBrokenSchemaIsToldAndChecked(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{})
	const tool = `{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"sting"},"n":{"type":"integer"}}}}`
	diff, err := g.Sync(t.Context(), "s", upstream.Listing{Tools: []json.RawMessage{json.RawMessage(tool)}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `/properties/a/type is "sting"`
	if len(diff.Warnings) != 1 || !strings.Contains(diff.Warnings[0], "tool s/add: its inputSchema is not valid") || !strings.Contains(diff.Warnings[0], want) {
		t.Errorf("warnings of the listing: %q", diff.Warnings)
	}
	d := ask(t, g, "describe_tool", `{"tool_name":"s/add"}`)
	if w, _ := json.Marshal(d["warnings"]); !bytes.Contains(w, []byte(`/properties/a/type`)) {
		t.Errorf("describe_tool warns %s", w)
	}
	for _, s := range g.ix.Status().Servers {
		if s.Name == "s" && (len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], want)) {
			t.Errorf("status warns %q", s.Warnings)
		}
	}
	msg, _ := fail(t, g, "execute_tool", `{"tool_name":"s/add","arguments":{"a":1,"n":"x"}}`)
	if !strings.Contains(msg, "n") || strings.Contains(msg, "sting") {
		t.Errorf("got %s", msg)
	}
}
