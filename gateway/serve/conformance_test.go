package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index/tool"
)

// A served surface is one of the table of surfaces, as an operator may have
// it.
type served struct {
	Options
	name   string
	budget int // tokens of its definitions
}

// budgets are the tokens of surfaces whose contract allows other than 1,000.
var budgets = map[string]int{"discover": 330, "toolbox": 250}

// conforming are all surfaces, meta with tools that are run by effect, and meta
// beside the tools themselves.
func conforming() []served {
	all := []served{
		{Options{Surface: "meta", SurfaceOptions: surface.Options{SplitExecute: true}}, "meta by effect", 1250},
		{Options{Surface: "meta", Native: true}, "meta beside the tools", 1000},
	}
	for _, name := range Surfaces() {
		budget := budgets[name]
		if budget == 0 {
			budget = 1000
		}
		all = append(all, served{Options{Surface: name}, name, budget})
	}
	return all
}

// TestSurfacesConform holds every surface to what all have in common, over
// stdio and HTTP in both eras.
func TestSurfacesConform(t *testing.T) {
	for _, sv := range conforming() {
		t.Run(sv.name, func(t *testing.T) {
			g := newGateway(t, gatewaytest.Done, sv.Options)
			s := g.surface
			gatewaytest.Budget(t, s, sv.budget, 80)
			var lists []string // by transport and era, which must not matter
			everyServed(t, sv.Options, func(t *testing.T, c *mcp.ClientSession, era string) {
				lists = append(lists, conformingList(t, c, s.Tools()))
				if got := c.InitializeResult(); era < gateway.StatelessEra && got.Instructions != s.Instructions() {
					t.Errorf("instructions are %q, want %q", got.Instructions, s.Instructions())
				}
				refusesArguments(t, c, s.Tools())
				hidesTools(t, c, s.Tools())
				if len(s.Tools()) > 0 {
					runsTools(t, c, sv.Surface, sv.SurfaceOptions)
				}
				if g.offer.shown {
					runsNatively(t, c)
				}
			})
			for _, list := range lists {
				if diff := cmp.Diff(lists[0], list); diff != "" {
					t.Errorf("tools/list depends on how it is asked for: %s", diff)
				}
			}
		})
	}
}

// everyServed runs a test with a client of each era over each transport.
func everyServed(t *testing.T, o Options, run func(t *testing.T, c *mcp.ClientSession, era string)) {
	for _, over := range []struct {
		name    string
		connect connectFunc
	}{{"stdio", connectStdio}, {"http", connectHTTP}} {
		for _, era := range eras {
			t.Run(over.name+" "+era, func(t *testing.T) {
				run(t, over.connect(t, newGateway(t, verbatim, o), era, nil), era)
			})
		}
	}
}

// verbatim answers each call with a result that is easily changed.
var verbatim = gatewaytest.Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
	return upstream.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"<a> & b"},{"type":"image","data":"aGk=","mimeType":"image/png"}],` +
		`"structuredContent":{"z":1.50,"a":[null,"<"]},"_meta":{"vendor/x":1}}`), Protocol: gateway.StatelessEra, Sent: true}, nil
})

// conformingList is what tools/list answers: always the same, with annotations
// that are true of what the tools do.
func conformingList(t *testing.T, c *mcp.ClientSession, want []surface.Tool) string {
	t.Helper()
	var texts []string
	for range 2 {
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(list.Tools)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
		if len(list.Tools) < len(want) || list.NextCursor != "" {
			t.Fatalf("%d tools are listed, with a cursor %q; want %d", len(list.Tools), list.NextCursor, len(want))
		}
		byName := map[string]*mcp.Tool{}
		for _, x := range list.Tools {
			byName[x.Name] = x
		}
		for _, w := range want {
			x, reads := byName[w.Name], !w.RunsTools || w.Effect == tool.Read
			switch a := x.Annotations; {
			case a == nil, a.Title == "", x.Description == "", a.OpenWorldHint == nil:
				t.Errorf("%s lacks a title, a description or annotations", x.Name)
			case a.ReadOnlyHint != reads, *a.OpenWorldHint != w.RunsTools:
				t.Errorf("%s is annotated as %+v", x.Name, *a)
			case w.RunsTools && (a.DestructiveHint == nil || *a.DestructiveHint != (w.Effect == "" || w.Effect == tool.Destructive)):
				t.Errorf("%s is not annotated as destructive as it is", x.Name)
			}
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("tools/list changes: %s", cmp.Diff(texts[0], texts[1]))
	}
	return texts[0]
}

// called is the text of what a meta-tool answers.
func called(t *testing.T, c *mcp.ClientSession, name string, arguments any) (text string, res *mcp.CallToolResult) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	for _, block := range res.Content {
		if b, ok := block.(*mcp.TextContent); ok {
			text += b.Text
		}
	}
	return text, res
}

// properties are those of a schema with their types, and which are required.
func properties(t *testing.T, schema json.RawMessage) (types map[string]string, required []string) {
	t.Helper()
	var s struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	types = map[string]string{}
	for name, p := range s.Properties {
		types[name] = p.Type
	}
	return types, s.Required
}

// refusesArguments: what is unknown, missing or of a wrong type is named in a
// result with isError; a tool that there is none of is a protocol error.
func refusesArguments(t *testing.T, c *mcp.ClientSession, tools []surface.Tool) {
	t.Helper()
	refused := func(name string, args map[string]any, named string) {
		t.Helper()
		if text, res := called(t, c, name, args); !res.IsError || !strings.Contains(text, named) || text == "" {
			t.Errorf("%s %v: isError %t, %q; want an error that names %s", name, args, res.IsError, text, named)
		}
	}
	for _, x := range tools {
		types, required := properties(t, x.Schema)
		refused(x.Name, map[string]any{"surplus": 1}, "surplus")
		if len(required) > 0 {
			refused(x.Name, map[string]any{}, required[0])
		}
		for _, name := range slices.Sorted(maps.Keys(types)) {
			var wrong any = true
			if types[name] == "boolean" {
				wrong = "yes"
			}
			args := map[string]any{name: wrong}
			for _, r := range required { // so that nothing else is wrong before
				if r != name && types[r] == "string" {
					args[r] = "files/read_file"
				} else if r != name {
					args[r] = map[string]any{}
				}
			}
			refused(x.Name, args, name)
		}
	}
	for _, name := range []string{"nope", "read_secret", "vault__read_secret", "files/read_file", ""} {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name}); err == nil {
			t.Errorf("%q is called as a tool", name)
		}
	}
}

// hidesTools: whatever a caller says, tools that the view hides are in no
// reply.
func hidesTools(t *testing.T, c *mcp.ClientSession, tools []surface.Tool) {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	replies := []string{string(listed)}
	say := func(name string, args map[string]any) {
		text, _ := called(t, c, name, args)
		replies = append(replies, fmt.Sprint(name, args, " → ", text))
	}
	for _, x := range tools {
		types, required := properties(t, x.Schema)
		if len(required) == 0 {
			say(x.Name, map[string]any{})
		}
		for name, kind := range types {
			for _, value := range []string{"read", "read_secre", "secre", "vaul", "vaul/read_secre", "files", "files/read_file"} {
				args := map[string]any{"arguments": map[string]any{}}
				if _, takes := types["arguments"]; !takes {
					args = map[string]any{}
				}
				switch kind {
				case "string":
					args[name] = value
				case "array":
					args[name] = []string{value}
				default:
					continue
				}
				say(x.Name, args)
			}
		}
	}
	for _, r := range replies {
		if strings.Contains(r, "read_secret") || strings.Contains(r, "vault") || strings.Contains(r, "Secrets") {
			t.Errorf("what is hidden shows in %s", r)
		}
	}
}

// A run is how a surface is asked to run files/read_file, and what it answers
// for the result of verbatim.
type run struct {
	before, name  string // called first with opening; "" for nothing
	opening, args string
	text          string // all texts of the result
	structured    string // its structuredContent, "" for none
}

const (
	plainArgs   = `{"tool_name":"files/read_file","arguments":{"path":"x"}%s}`
	untouched   = `,"options":{"include_metadata":false}`
	verbatimObj = `{"a":[null,"<"],"z":1.5}`
)

var runs = map[string]run{
	"meta":     {name: "execute_tool", args: fmt.Sprintf(plainArgs, untouched), text: "<a> & b", structured: verbatimObj},
	"discover": {name: "execute_tool", args: fmt.Sprintf(plainArgs, ""), text: `{"tool":"read_file","result":{"z":1.50,"a":[null,"<"]}}`},
	"toolbox": {
		before: "open_toolbox", opening: `{"name":"files"}`, name: "use_tool", text: "<a> & b", structured: verbatimObj,
		args: `{"tool":{"toolbox":"files","server":"files","name":"read_file"},"arguments":{"path":"x"}}`,
	},
}

// runsNatively: a tool that is listed itself is called by its name, and its
// result is untouched.
func runsNatively(t *testing.T, c *mcp.ClientSession) {
	t.Helper()
	runsAs(t, c, run{name: "files__read_file", args: `{"path":"x"}`, text: "<a> & b", structured: verbatimObj})
	if text, res := called(t, c, "files__read_file", map[string]any{}); !res.IsError || !strings.Contains(text, "path") {
		t.Errorf("without its argument it says %q, isError %t", text, res.IsError)
	}
}

// runsTools: a tool's result is what the surface's contract says it is.
func runsTools(t *testing.T, c *mcp.ClientSession, name string, o surface.Options) {
	t.Helper()
	r, ok := runs[name]
	if !ok {
		t.Fatalf("surface %s has meta-tools; say in runs how one runs a tool", name)
	}
	if o.SplitExecute {
		r.name = "run_destructive_tool"
	}
	if r.before != "" {
		called(t, c, r.before, json.RawMessage(r.opening))
	}
	runsAs(t, c, r)
}

func runsAs(t *testing.T, c *mcp.ClientSession, r run) {
	t.Helper()
	text, res := called(t, c, r.name, json.RawMessage(r.args))
	structured := ""
	if res.StructuredContent != nil {
		b, err := rawjson.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		structured = string(b)
	}
	if res.IsError || text != r.text || structured != r.structured || len(res.Content) != 2 || res.Meta["vendor/x"] != 1. {
		t.Errorf("%s gave %q, %s, %d blocks, _meta %v; want %q, %s, with the image after it", r.name, text, structured, len(res.Content), res.Meta, r.text, r.structured)
	}
	if _, ok := res.Content[1].(*mcp.ImageContent); !ok {
		t.Errorf("the second block is %T, want the image", res.Content[1])
	}
}
