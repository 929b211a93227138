package meta

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/words"
)

// hostileTool has everything larger than anybody wants to read.
func hostileTool(name string) json.RawMessage {
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("tag %d of %s", i, name[:min(len(name), 8)])
	}
	many[0] = strings.Repeat("é", 250<<10)
	tool, err := json.Marshal(map[string]any{
		"name": name, "description": strings.Repeat("Read words. ", 50<<10),
		"inputSchema":  map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"description": strings.Repeat("x", 200<<10)}}},
		"outputSchema": map[string]any{"type": "object", "description": strings.Repeat("y", 200<<10)},
		"icons":        []any{map[string]any{"src": "data:image/png;base64," + strings.Repeat("A", 300<<10)}},
		"_meta":        map[string]any{"tags": many, "category": strings.Repeat("c", 100<<10)},
	})
	if err != nil {
		panic(err)
	}
	return tool
}

func TestRepliesAreBounded(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	l := upstream.Listing{}
	for i := range 8 {
		l.Tools = append(l.Tools, hostileTool(fmt.Sprintf("%d_%s", i, strings.Repeat("n", 200<<10))))
	}
	diff, err := g.Sync(t.Context(), "hostile", l)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(diff.Warnings, "\n"); len(text) > 64<<10 || !strings.Contains(text, "500 tags") || !strings.Contains(text, "category is longer") {
		t.Errorf("%d bytes of warnings: %.2000s", len(text), text)
	}
	values, err := json.Marshal(make([]string, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, args string
		most       int
		want       string
	}{
		{"search_tools", `{"query":"read words"}`, 32 << 10, ""},
		{"search_tools", `{"query":"read words","limit":50,"include_schemas":true}`, 700 << 10, "describe_tool shows them"},
		{"list_tools", `{"page_size":100}`, 64 << 10, ""},
		{"get_tool_categories", `{"include_servers":true}`, 16 << 10, `"more_tags":`},
		{"get_similar_tools", `{"tool_name":"files/read_file","limit":20}`, 32 << 10, ""},
		{"describe_tool", `{"tool_name":"no such"}`, 4 << 10, ""},
		{"describe_tool", `{"tool_name":"` + strings.Repeat("z", 5000) + `"}`, 4 << 10, "too many"},
		{"search_tools", `{"filters":{"tags":` + strings.ReplaceAll(string(values), `""`, `"zz"`) + `}}`, 4 << 10, "10000 values are too many"},
		{"search_tools", `{"filters":{"servers":["` + strings.Repeat("z", 1000) + `"]}}`, 4 << 10, "too long"},
		{"search_tools", `{"` + strings.Repeat("z", 100<<10) + `":1}`, 4 << 10, "unknown argument"},
		{"search_tools", `{"query":"x","limit":1` + strings.Repeat("0", 300) + `}`, 4 << 10, "out of range"},
		{"list_tools", `{"sort_by":"` + strings.Repeat("z", 100<<10) + `"}`, 4 << 10, "unknown value"},
		{strings.Repeat("z", 100<<10), `{}`, 4 << 10, "unknown meta-tool"},
	} {
		a := g.Call(t.Context(), tt.tool, json.RawMessage(tt.args))
		if len(a.JSON) > tt.most || !strings.Contains(string(a.JSON), tt.want) || !utf8.Valid(a.JSON) {
			t.Errorf("%.20s %.60s: %d bytes, want at most %d and %q: %.300s", tt.tool, tt.args, len(a.JSON), tt.most, tt.want, a.JSON)
		}
	}
	id := ask(t, g, "search_tools", `{"filters":{"servers":["hostile"]},"limit":1}`)["tools"].([]any)[0].(map[string]any)["id"]
	d := ask(t, g, "describe_tool", fmt.Sprintf(`{"tool_name":%q}`, id))
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > words.MaxDescribed+32<<10 || !strings.Contains(string(text), "output_schema of 201 KB left out") || !strings.Contains(string(text), "icons of 301 KB left out") || len(d["input_schema"].(map[string]any)) != 2 {
		t.Errorf("described in %d bytes: %.300s … %v", len(text), text, d["warnings"])
	}
}

func TestHintsNameAFewValues(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	values := make([]string, 1000)
	for i := range values {
		values[i] = fmt.Sprintf("unknown-%d", i)
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	hint, _ := ask(t, g, "search_tools", `{"query":"x","filters":{"tags":`+string(text)+`}}`)["hint"].(string)
	if len(hint) > 500 || !strings.Contains(hint, "nor 995 more values") {
		t.Errorf("got %s", hint)
	}
}
