package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

func TestSearchTools(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	out := ask(t, g, "search_tools", `{"query":"open a new issue in a repository","limit":2}`)
	if got := names(out)[0]; got != "github/create_issue" {
		t.Errorf("first is %s", got)
	}
	if n := len(names(out)); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	first := out["tools"].([]any)[0].(map[string]any)
	for _, key := range []string{"id", "name", "qualified_name", "description", "score", "server", "category"} {
		if first[key] == nil {
			t.Errorf("row has no %s: %v", key, first)
		}
	}
	if first["input_schema"] != nil {
		t.Error("row has a schema without include_schemas")
	}
	meta := out["search_metadata"].(map[string]any)
	if meta["search_type"] != "keyword" || meta["requested"] != "hybrid" || meta["degraded"] != true || meta["reason"] == "" {
		t.Errorf("search_metadata is %v, want a degraded hybrid search", meta)
	}
	for _, key := range []string{"confidence", "weak_match", "query_embedding_model"} {
		if v, ok := meta[key]; ok {
			t.Errorf("search_metadata has %s %v", key, v)
		}
	}
}

func TestSearchFilters(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	for _, tt := range []struct{ filters, want string }{
		{`{"tags":["FS"]}`, "files/read_file files/write_file"},
		{`{"tags":["csv","fs"]}`, "analytics/csv_analyzer files/read_file files/write_file"},
		{`{"tags":["data"],"exclude_tags":["csv"]}`, "analytics/chart_generator"},
		{`{"servers":["github"]}`, "github/create_issue github/list_pull_requests github/search"},
		{`{"category":"code"}`, "github/create_issue github/list_pull_requests"},
		{`{"category":"Code","categories":["data processing"]}`, "analytics/chart_generator github/create_issue analytics/csv_analyzer github/list_pull_requests analytics/remote_schema"},
		{`{"name_pattern":"^search$"}`, "files/search github/search"},
		{`{"description_contains":"A FILE"}`, "files/write_file"},
		{`{"has_examples":true}`, "analytics/csv_analyzer"},
		{`{"integration_type":"REST"}`, ""},
		{`{"visibility":["public"],"servers":["files"]}`, "files/read_file files/search files/write_file"},
		{`{"teams":["finance"]}`, ""},
		{`{"servers":["files"],"has_examples":false,"tags":[],"name_pattern":null,"integration_type":"any"}`, "files/read_file files/search files/write_file"},
	} {
		out := ask(t, g, "search_tools", `{"filters":`+tt.filters+`}`)
		wantNames(t, names(out), tt.want)
		listed := ask(t, g, "list_tools", `{"filters":`+tt.filters+`}`)
		wantNames(t, names(listed), tt.want)
		if tt.want == "" && (out["hint"] == nil || listed["hint"] == nil) {
			t.Errorf("filters %s: nothing found and no hint", tt.filters)
		}
		for _, r := range out["tools"].([]any) {
			if r.(map[string]any)["score"] != nil {
				t.Errorf("filters %s: a row without query has a score", tt.filters)
			}
		}
	}
}

func TestEmptyHints(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	hint := func(args string) string {
		out := ask(t, g, "search_tools", args)
		if len(names(out)) > 0 {
			t.Errorf("%s found %v", args, names(out))
		}
		return fmt.Sprint(out["hint"])
	}
	if got, want := hint(`{"filters":{"servers":["gihub"]}}`), `no tool has server "gihub"; did you mean "github"; get_tool`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	// What the scope hides reads as what does not exist.
	hidden, absent := hint(`{"filters":{"servers":["vault"]}}`), hint(`{"filters":{"servers":["atlas"]}}`)
	if strings.Replace(hidden, "vault", "atlas", 1) != absent {
		t.Errorf("hidden server: %s\nabsent server: %s", hidden, absent)
	}
	if got := hint(`{"query":"issue","filters":{"min_score":0.99}}`); !strings.Contains(got, "best score is 0.") {
		t.Errorf("got %s, want the best score", got)
	}
	if got := hint(`{"query":"zyzzyva","search_type":"keyword"}`); !strings.Contains(got, "shares a word") {
		t.Errorf("got %s", got)
	}
}

// asciiWords knows no word that is not ASCII.
type asciiWords struct{}

func (asciiWords) Model() string { return "ascii" }

func (asciiWords) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	v := make([]float32, 4)
	for _, r := range text {
		if 'a' <= r && r <= 'z' {
			v[r%4]++
		}
	}
	return v, nil
}

func (e asciiWords) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i], _ = e.EmbedQuery(ctx, text)
	}
	return out, nil
}

// What the model knows no word of is found by words, or nothing is and the
// hint says why.
func TestUnknownScripts(t *testing.T) {
	ix, err := index.Open("", index.Options{Embedder: asciiWords{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	g := over(ix, nil, gateway.Options{}, surface.Options{})
	for i, name := range []string{"البحث عن ملف", "ค้นหาไฟล์", "open a file"} {
		tool := fmt.Sprintf(`{"name":"tool_%d","description":%q}`, i, name)
		if _, err := g.Sync(t.Context(), fmt.Sprint("server", i), upstream.Listing{Tools: []json.RawMessage{json.RawMessage(tool)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"ملف": "server0/tool_0", "ค้นหาไฟล์": "server1/tool_1",
		"ยกเลิก": "", "αρχείο": "", "ფაილი": "", "கோப்பு": "", "📧": "",
	} {
		out := ask(t, g, "search_tools", fmt.Sprintf(`{"query":%q}`, query))
		wantNames(t, names(out), want)
		meta := out["search_metadata"].(map[string]any)
		if meta["search_type"] != "keyword" || meta["requested"] != "hybrid" || meta["degraded"] != true ||
			!strings.Contains(fmt.Sprint(meta["reason"]), "knows no word of the query") {
			t.Errorf("%s: metadata %v", query, meta)
		}
		hint := fmt.Sprint(out["hint"])
		if want == "" && (!strings.Contains(hint, "know a word of the query") || !strings.Contains(hint, "get_tool_categories")) {
			t.Errorf("%s: hint %s", query, hint)
		}
		a := g.Call(t.Context(), "search_tools", json.RawMessage(fmt.Sprintf(`{"query":%q,"search_type":"semantic"}`, query)))
		if !a.IsError || !strings.Contains(string(a.JSON), "ascii: the model knows no word of the query") {
			t.Errorf("%s: semantic answers %s", query, a.JSON)
		}
	}
}

func TestIncludeSchemas(t *testing.T) {
	g := newSurface(t, nil, gateway.Options{}, surface.Options{Metrics: true})
	for _, tool := range []string{"search_tools", "list_tools"} {
		a := g.Call(t.Context(), tool, json.RawMessage(`{"filters":{"name_pattern":"csv|search"},"include_schemas":true}`))
		for _, want := range []string{
			`"input_schema":{"type":"object","properties":{"file_url"`, `"output_schema":{"type":"object","properties":{"mean"`,
			`"server":"github","category":`, `"input_schema":{"type":"object"}}`,
		} {
			if !strings.Contains(string(a.JSON), want) && (tool == "list_tools" || !strings.Contains(want, `}}`)) {
				t.Errorf("%s: %s is not in %s", tool, want, a.JSON)
			}
		}
	}
	if out := ask(t, g, "search_tools", `{"query":"issue"}`); out["tools"].([]any)[0].(map[string]any)["metrics"] == nil {
		t.Error("rows have no metrics")
	}
}

func TestListPages(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	var all []string
	for page := 1; ; page++ {
		out := ask(t, g, "list_tools", fmt.Sprintf(`{"page":%d,"page_size":4}`, page))
		all = append(all, names(out)...)
		p := out["pagination"].(map[string]any)
		if p["total_items"] != 9.0 || p["total_pages"] != 3.0 || p["page"] != float64(page) || p["has_previous"] != (page > 1) {
			t.Errorf("page %d: %v", page, p)
		}
		if p["has_next"] != true {
			break
		}
	}
	wantNames(t, all, "analytics/chart_generator github/create_issue analytics/csv_analyzer github/list_pull_requests files/read_file analytics/remote_schema files/search github/search files/write_file")
}

func TestListSorts(t *testing.T) {
	ok := gatewaytest.Done
	g := newGateway(t, ok, gateway.Options{})
	for range 2 {
		ask(t, g, "execute_tool", `{"tool_name":"files/read_file","arguments":{"path":"x"}}`)
	}
	ask(t, g, "execute_tool", `{"tool_name":"github/list_pull_requests","arguments":{}}`)
	for _, tt := range []struct{ args, first string }{
		{`{"sort_by":"name","sort_order":"desc"}`, "files/write_file"},
		{`{"sort_by":"execution_count","sort_order":"desc"}`, "files/read_file"},
		{`{"sort_by":"success_rate"}`, "files/read_file"},
		{`{"sort_by":"category"}`, "github/create_issue"},
		{`{"sort_by":"created_at","filters":{"name_pattern":"^search$"}}`, "files/search"},
	} {
		if got := names(ask(t, g, "list_tools", tt.args))[0]; got != tt.first {
			t.Errorf("%s: first is %s, want %s", tt.args, got, tt.first)
		}
	}
}

func TestDescribeTool(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{Servers: map[string]gateway.Server{"analytics": {Description: "Numbers"}}})
	ask(t, g, "execute_tool", `{"tool_name":"csv_analyzer","arguments":{"file_url":"x"}}`)
	a := g.Call(t.Context(), "describe_tool", json.RawMessage(`{"tool_name":"analytics/csv_analyzer","include_metrics":true,"include_similar":true}`))
	for _, want := range []string{
		`"qualified_name":"analytics/csv_analyzer","title":"CSV Analyzer"`,
		`"annotations":{"readOnlyHint":true,"vendorHint":12345678901234567890}`,
		`"input_schema":{"type":"object","properties":{"file_url":{"type":"string","description":"URL to the CSV file"}`,
		`"output_schema":{"type":"object"`, `"category":"Data Processing"`, `"server":{"name":"analytics","description":"Numbers"}`,
		`"examples":[{"description":"Analyze sales","arguments":{"file_url":"https://example.com/sales.csv"}}]`,
		`"metrics":{"total_executions":1,"success_rate":1,"avg_response_time_ms":`, `"similar_tools":["`, `"created_at":"20`,
	} {
		if !strings.Contains(string(a.JSON), want) {
			t.Errorf("%s is not in %s", want, a.JSON)
		}
	}
	plain := ask(t, g, "describe_tool", `{"tool_name":"analytics/csv_analyzer","include_examples":false}`)
	for _, key := range []string{"examples", "metrics", "similar_tools"} {
		if plain[key] != nil {
			t.Errorf("%s is there unasked", key)
		}
	}
	if odd := ask(t, g, "describe_tool", `{"tool_name":"github/search"}`); odd["warnings"] == nil {
		t.Errorf("a tool without schema has no warning: %v", odd)
	}
	if odd := ask(t, g, "describe_tool", `{"tool_name":"remote_schema"}`); odd["not_executable"] == nil {
		t.Errorf("a tool with a remote schema is executable: %v", odd)
	}
}

// What tooldex itself has no use for is shown as the server sent it.
func TestDescribeToolShowsTheRest(t *testing.T) {
	for _, tt := range []struct{ members, want string }{
		{`"icons":[{"src":"https://example.com/a.png?x=1&y=<2>","sizes":["48x48"]}],"execution":{"taskSupport":"optional","n":1.50}`,
			`"icons":[{"src":"https://example.com/a.png?x=1&y=<2>","sizes":["48x48"]}],"execution":{"taskSupport":"optional","n":1.50},"category"`},
		{`"_meta":{"b.example/x":12345678901234567890,"a":null}`, `"_meta":{"b.example/x":12345678901234567890,"a":null}`},
		{`"_meta":{"io.modelcontextprotocol/y":1,"z":1e2,"a":[]}`, `"_meta":{"z":1e2,"a":[]}`},
		{`"_meta":{"io.modelcontextprotocol/y":1}`, ``},
		{`"icons":null,"execution":null,"_meta":null`, ``},
		{`"title":"T"`, ``},
	} {
		g := over(gatewaytest.Open(t), nil, gateway.Options{}, surface.Options{})
		tool := `{"name":"x","description":"Does x.","inputSchema":{"type":"object"},` + tt.members + `}`
		if _, err := g.Sync(t.Context(), "s", upstream.Listing{Tools: []json.RawMessage{json.RawMessage(tool)}}); err != nil {
			t.Fatal(err)
		}
		got := string(g.Call(t.Context(), "describe_tool", json.RawMessage(`{"tool_name":"s/x"}`)).JSON)
		if !strings.Contains(got, tt.want) || !strings.Contains(got, `"name":"x"`) {
			t.Errorf("%s: %s is not in %s", tt.members, tt.want, got)
		}
		for _, key := range []string{`"icons"`, `"execution"`, `"_meta"`, "io.modelcontextprotocol"} {
			if strings.Contains(got, key) && !strings.Contains(tt.want, key) {
				t.Errorf("%s: %s is in %s", tt.members, key, got)
			}
		}
	}
}

func TestNameForms(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	id := ask(t, g, "describe_tool", `{"tool_name":"files/read_file"}`)["id"].(string)
	for _, name := range []string{id, "files__read_file", "files.read_file", "files:read_file", "read_file"} {
		if got := ask(t, g, "describe_tool", `{"tool_name":"`+name+`"}`)["id"]; got != id {
			t.Errorf("%s: got %v, want %s", name, got, id)
		}
	}
}

func TestCategories(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{Servers: map[string]gateway.Server{"files": {Description: "Local files"}}})
	a := g.Call(t.Context(), "get_tool_categories", nil)
	for _, want := range []string{`{"name":"File Operations","count":3`, `"total_tools":9`, `"tags":[{"name":"data","count":2},{"name":"fs","count":2},{"name":"csv","count":1}]`} {
		if !strings.Contains(string(a.JSON), want) {
			t.Errorf("%s is not in %s", want, a.JSON)
		}
	}
	if strings.Contains(string(a.JSON), "secret") || strings.Contains(string(a.JSON), `"servers"`) {
		t.Errorf("too much is shown: %s", a.JSON)
	}
	b := g.Call(t.Context(), "get_tool_categories", json.RawMessage(`{"include_tags":false,"include_servers":true}`))
	want := `"servers":[{"name":"analytics","count":3},{"name":"files","count":3,"description":"Local files"},{"name":"github","count":3}]`
	if !strings.Contains(string(b.JSON), want) || strings.Contains(string(b.JSON), `"tags"`) {
		t.Errorf("got %s, want %s and no tags", b.JSON, want)
	}
}

func TestSimilarTools(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{})
	out := ask(t, g, "get_similar_tools", `{"tool_name":"read_file","limit":3}`)
	if out["reference_tool"] != "files/read_file" {
		t.Errorf("reference is %v", out["reference_tool"])
	}
	rows := out["similar_tools"].([]any)
	if len(rows) == 0 || rows[0].(map[string]any)["name"] != "files/write_file" {
		t.Fatalf("got %v, want files/write_file first", rows)
	}
	for _, r := range rows {
		if strings.HasPrefix(r.(map[string]any)["name"].(string), "vault/") {
			t.Error("a tool out of scope is shown")
		}
	}
}

// What the scope hides must be answered as what does not exist, in every
// meta-tool.
func TestHiddenIsAbsent(t *testing.T) {
	g := newGateway(t, gatewaytest.Done, gateway.Options{})
	for _, call := range []string{"describe_tool", "execute_tool", "get_similar_tools"} {
		args := func(name string) string {
			if call == "execute_tool" {
				return `{"tool_name":"` + name + `","arguments":{}}`
			}
			return `{"tool_name":"` + name + `"}`
		}
		hidden, h1 := fail(t, g, call, args("vault/read_secret"))
		absent, h2 := fail(t, g, call, args("vault/read_sekret"))
		if strings.Replace(hidden, "read_secret", "read_sekret", 1) != absent || h1 != h2 {
			t.Errorf("%s: hidden %q %q, absent %q %q", call, hidden, h1, absent, h2)
		}
		if strings.Contains(h2, "vault") {
			t.Errorf("%s suggests a hidden tool: %s", call, h2)
		}
		hit := index.Tool{Server: "vault", Name: "read_secret"}
		if msg, _ := fail(t, g, call, args(hit.ID())); !strings.Contains(msg, "there is no tool") {
			t.Errorf("%s by id: %s", call, msg)
		}
	}
	all := string(g.Call(t.Context(), "search_tools", json.RawMessage(`{"query":"read a secret from the vault"}`)).JSON) +
		string(g.Call(t.Context(), "list_tools", nil).JSON)
	if strings.Contains(all, "vault") {
		t.Errorf("a hidden tool is shown: %s", all)
	}
}

func TestOverrides(t *testing.T) {
	g := newGateway(t, nil, gateway.Options{Servers: map[string]gateway.Server{
		"files": {Tags: []string{"local"}, Category: "Disk", Visibility: "team", Teams: []string{"ops"}, Tools: map[string]gateway.Override{
			"read_file": {
				Description: "Show what is in a file.", Tags: []string{"reading"}, Category: "Reading", Phrases: []string{"peruse"},
				Examples: []index.Example{{Description: "mine", Arguments: json.RawMessage(`{"path":"a"}`)}},
			},
			"write_file": {Hidden: true},
		}},
		"github": {Hidden: true},
	}})
	out := ask(t, g, "search_tools", `{"filters":{"servers":["files","github"]}}`)
	wantNames(t, names(out), "files/read_file files/search")
	d := ask(t, g, "describe_tool", `{"tool_name":"read_file"}`)
	if d["description"] != "Show what is in a file." || d["category"] != "Reading" || fmt.Sprint(d["tags"]) != "[reading local]" || d["examples"] == nil {
		t.Errorf("got %v", d)
	}
	wantNames(t, names(ask(t, g, "search_tools", `{"query":"peruse","search_type":"keyword"}`)), "files/read_file")
	wantNames(t, names(ask(t, g, "list_tools", `{"filters":{"visibility":["team"],"teams":["OPS"],"category":"disk"}}`)), "files/search")
}

func TestSyncWarnings(t *testing.T) {
	g := over(gatewaytest.Open(t), nil, gateway.Options{Servers: map[string]gateway.Server{"s": {Tools: map[string]gateway.Override{"gone": {Hidden: true}}}}}, surface.Options{})
	diff, err := g.Sync(t.Context(), "s", upstream.Listing{
		Tools:        []json.RawMessage{json.RawMessage(`{"name":"a"}`), json.RawMessage(`7`), json.RawMessage(`{"name":"a","x":1}`)},
		Warnings:     []string{"cursor repeated"},
		Instructions: "Does things.",
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(diff.Warnings, "\n")
	for _, want := range []string{"tool 2 of server s left out", `no tool "gone"`, "cursor repeated"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
	if len(diff.Added) != 1 {
		t.Errorf("added %v, want one", diff.Added)
	}
	// what a tool lacks is absent from its row and its description alike
	row := ask(t, g, "list_tools", `{"filters":{"servers":["s"]}}`)["tools"].([]any)[0].(map[string]any)
	_, inRow := row["tags"]
	_, inDescription := ask(t, g, "describe_tool", `{"tool_name":"s/a"}`)["tags"]
	if inRow || inDescription {
		t.Errorf("tags of a tool without any: in its row %v, in its description %v", inRow, inDescription)
	}
	if d := ask(t, g, "describe_tool", `{"tool_name":"s/a"}`); d["server"].(map[string]any)["description"] != "Does things." {
		t.Errorf("got %v", d)
	}
}

func TestTurnedOff(t *testing.T) {
	g := newSurface(t, nil, gateway.Options{}, surface.Options{Off: map[string]string{"get_similar_tools": "meta_config.enable_similar_tools"}})
	got := g.Call(t.Context(), "get_similar_tools", json.RawMessage(`{"tool_name":"files/read_file"}`))
	if !got.IsError || !strings.Contains(string(got.JSON), "the operator turned it off (meta_config.enable_similar_tools)") {
		t.Errorf("got %s", got.JSON)
	}
	for args, want := range map[string]any{
		`{"tool_name":"files/read_file","include_similar":true}`: "the operator turned it off (meta_config.enable_similar_tools)",
		`{"tool_name":"files/read_file"}`:                        nil,
	} {
		d := ask(t, g, "describe_tool", args)
		if d["similar_tools_omitted"] != want || d["similar_tools"] != nil {
			t.Errorf("%s: got %v because of %v, want %v", args, d["similar_tools"], d["similar_tools_omitted"], want)
		}
	}
	if got := g.Call(t.Context(), "get_tool_categories", nil); got.IsError {
		t.Errorf("another meta-tool: %s", got.JSON)
	}
}
