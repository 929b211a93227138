package meta

import (
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
)

// effects is an operator who believes annotations of analytics and says
// himself what the tools of files do.
var effects = gateway.Options{Servers: map[string]gateway.Server{
	"analytics": {Annotated: true},
	"files":     {Tools: map[string]gateway.Override{"read_file": {Effect: "read"}, "write_file": {Effect: "write"}}},
}}

func TestSplitBudget(t *testing.T) {
	s := New(gateway.New(nil, nil, gateway.Options{}), surface.Options{SplitExecute: true})
	gatewaytest.Budget(t, s, 1250, 80)
	var names []string
	for _, d := range s.Tools() {
		if d.RunsTools {
			names = append(names, d.Name)
		}
	}
	if want := []string{"run_read_tool", "run_write_tool", "run_destructive_tool"}; !slices.Equal(names, want) {
		t.Errorf("tools are run by %v, want %v", names, want)
	}
}

// Each tool runs through the meta-tool of its effect alone, which what refuses
// it names.
func TestToolsRunByEffect(t *testing.T) {
	f := newSurface(t, gatewaytest.Done, effects, surface.Options{SplitExecute: true})
	args := map[string]string{
		"files/read_file": `{"path":"x"}`, "files/write_file": `{"path":"x","text":"y"}`, "files/search": `{}`,
		"analytics/csv_analyzer": `{"file_url":"x"}`, "analytics/chart_generator": `{}`,
	}
	want := map[string]string{
		"files/read_file": "read", "files/write_file": "write", "files/search": "destructive", // nobody says
		"analytics/csv_analyzer": "read", "analytics/chart_generator": "destructive", // by its annotations
	}
	rows := rowsByName(ask(t, f, "list_tools", `{}`))
	for name, arguments := range args {
		call := `{"tool_name":"` + name + `","arguments":` + arguments + `}`
		if rows[name]["effect"] != want[name] || ask(t, f, "describe_tool", `{"tool_name":"`+name+`"}`)["effect"] != want[name] {
			t.Errorf("%s is shown as %v, want %s", name, rows[name]["effect"], want[name])
		}
		for _, effect := range []string{"read", "write", "destructive"} {
			by := "run_" + effect + "_tool"
			if effect == want[name] {
				ask(t, f, by, call)
				continue
			}
			msg, hint := fail(t, f, by, call)
			if wantMsg := by + " " + name + ": it did not run: its effect is " + want[name] + ", not " + effect; msg != wantMsg || hint != "call run_"+want[name]+"_tool with "+call {
				t.Errorf("got %q, %q", msg, hint)
			}
		}
	}
	if row := rowsByName(ask(t, f, "search_tools", `{"query":"read a file"}`))["files/read_file"]; row["effect"] != "read" {
		t.Errorf("a search shows %v", row)
	}
	_, hint := fail(t, f, "run_read_tool", `{"tool_name":"files/write_file","arguments":{"text":"`+strings.Repeat("x", maxAgain)+`"}}`)
	if hint != "call run_write_tool with the same arguments" {
		t.Errorf("arguments that are long are repeated: %q", hint)
	}
	if msg, _ := fail(t, f, "execute_tool", `{"tool_name":"files/read_file","arguments":{}}`); !strings.Contains(msg, "unknown meta-tool") {
		t.Errorf("execute_tool is there beside the others: %s", msg)
	}
}

// Without split_execute nothing is said of effects, and any tool runs.
func TestEffectsWithoutSplit(t *testing.T) {
	f := newSurface(t, gatewaytest.Done, effects, surface.Options{})
	if row := rowsByName(ask(t, f, "list_tools", `{}`))["files/read_file"]; row["effect"] != nil {
		t.Errorf("row %v has an effect", row)
	}
	ask(t, f, "execute_tool", `{"tool_name":"files/write_file","arguments":{"path":"x","text":"y"}}`)
}

// Through an endpoint that is read-only tools with effects do not exist, from
// the moment at which the operator says so.
func TestReadOnlyView(t *testing.T) {
	f := newSurface(t, gatewaytest.Done, effects, surface.Options{SplitExecute: true, ReadOnly: true})
	f.view = view.Of(f.Labels, view.Rule{ReadOnly: true})
	wantNames(t, names(ask(t, f, "list_tools", `{}`)), "analytics/csv_analyzer files/read_file")
	gone, _ := fail(t, f, "run_read_tool", `{"tool_name":"files/write_file","arguments":{"path":"x","text":"y"}}`)
	never, _ := fail(t, f, "run_read_tool", `{"tool_name":"files/wrote_file","arguments":{"path":"x","text":"y"}}`)
	if gone != strings.Replace(never, "wrote", "write", 1) {
		t.Errorf("a tool with effects is told of: %q", gone)
	}
	for _, d := range f.surface.Tools() {
		if d.RunsTools && d.Name != "run_read_tool" {
			t.Errorf("%s can run nothing and is listed", d.Name)
		}
	}
	f.SetServers(map[string]gateway.Server{"files": {Tools: map[string]gateway.Override{"write_file": {Effect: "read"}}}})
	f.view = view.Of(f.Labels, view.Rule{ReadOnly: true})
	wantNames(t, names(ask(t, f, "list_tools", `{}`)), "files/write_file")
}
