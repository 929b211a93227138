package tool

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParamHeaderFault(t *testing.T) {
	for _, tt := range []struct{ properties, want string }{
		{`"a":{"type":"string"}`, ""},
		{`"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"Region-2"},"c":{"type":"boolean","x-mcp-header":"!#$%&'*+-.^_|~` + "`" + `"}`, ""},
		{`"a":{"type":"string","x-mcp-header":""}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":null}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":7}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":"My Region"}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":"Region:1"}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":"Région"}`, "no name of a header"},
		{`"a":{"type":"string","x-mcp-header":"A\r\nB"}`, "no name of a header"},
		{`"a":{"type":"string","x-\u006dcp-header":"A B"}`, "no name of a header"},
		{`"a":{"type":"number","x-mcp-header":"Score"}`, "string, integer or boolean"},
		{`"a":{"type":"object","x-mcp-header":"Data"}`, "string, integer or boolean"},
		{`"a":{"type":["string","null"],"x-mcp-header":"Data"}`, "string, integer or boolean"},
		{`"a":{"x-mcp-header":"Data"}`, "string, integer or boolean"},
		{`"a":{"type":"string","x-mcp-header":"Field"},"b":{"type":"string","x-mcp-header":"fIELD"}`, `parameter "a" has the same`},
		{`"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"A B"}}}}}`, `parameter "a.b.c"`},
		{`"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"X"}}},"c":{"type":"string","x-mcp-header":"x"}`, `parameter "a.b" has the same`},
		{`"a":{"type":"array","items":{"type":"string","x-mcp-header":"A B"}}`, ""},
		{`"a":{"type":"string","default":{"x-mcp-header":"A B"}}`, ""},
		{`"a":true,"b":[1]`, ""},
	} {
		raw := json.RawMessage(`{"name":"t","inputSchema":{"type":"object","properties":{` + tt.properties + `}}}`)
		got := ParamHeaderFault(raw)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.properties, got, tt.want)
		}
	}
}
