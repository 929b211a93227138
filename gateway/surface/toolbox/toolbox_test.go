package toolbox

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
)

// A fixture is the surface over the test catalog, of which the view hides the
// server vault, in one session; none without one.
type fixture struct {
	surface.Surface
	session func() *surface.Session
}

func (f fixture) Call(ctx context.Context, tool string, args json.RawMessage) *surface.Answer {
	return f.Answer(ctx, surface.Call{Tool: tool, Arguments: args, View: gatewaytest.View, Protocol: "2025-11-25", Session: f.session})
}

func open(t testing.TB, o surface.Options) fixture {
	t.Helper()
	g := gateway.New(gatewaytest.Open(t), replies, gateway.Options{})
	gatewaytest.Fill(t, g)
	one := &surface.Session{}
	return fixture{New(g, o), func() *surface.Session { return one }}
}

const untouched = `{"content":[{"type":"text","text":"{\"a\":  1}","annotations":{"priority":0.50}},{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"b":2,  "a":12345678901234567890}}`

var replies = gatewaytest.Caller(func(_ context.Context, r upstream.Request) (upstream.Result, error) {
	raw := untouched
	switch r.Tool {
	case "write_file":
		raw = `{"isError":true,"content":[{"type":"text","text":"disk full"},{"type":"image","data":"aGk=","mimeType":"image/png"}]}`
	case "create_issue":
		return upstream.Result{}, &upstream.CallError{Server: r.Server, Tool: r.Tool, Err: upstream.ErrNotConnected}
	}
	return upstream.Result{Raw: json.RawMessage(raw), Protocol: gateway.StatelessEra, Sent: true}, nil
})

// text is the one text of an answer.
func text(t testing.TB, a *surface.Answer) string {
	t.Helper()
	var block struct{ Type, Text string }
	if err := json.Unmarshal(a.Content[0], &block); err != nil || block.Type != "text" {
		t.Fatalf("first block is %s", a.Content[0])
	}
	return block.Text
}

func TestBudget(t *testing.T) {
	gatewaytest.Budget(t, New(gateway.New(nil, nil, gateway.Options{}), surface.Options{}), 250, 80)
}

func use(toolbox, server, name string) string {
	return `{"tool":{"toolbox":"` + toolbox + `","server":"` + server + `","name":"` + name + `"}}`
}

// The error table of the contract, word for word, and what it is silent about.
func TestErrors(t *testing.T) {
	f := open(t, surface.Options{})
	gatewaytest.Ask(t, f, "open_toolbox", `{"name":"files"}`)
	gatewaytest.Ask(t, f, "open_toolbox", `{"name":"github"}`)
	const invalid = "Invalid tool invocation parameters: "
	for _, tt := range []struct{ args, want string }{
		{use("", "files", "search"), invalid + "toolbox: Toolbox name cannot be empty"},
		{use("files", "", "search"), invalid + "server: Server name cannot be empty"},
		{use("files", "files", ""), invalid + "name: Tool name cannot be empty"},
		{use("", "", ""), invalid + "toolbox: Toolbox name cannot be empty, server: Server name cannot be empty, name: Tool name cannot be empty"},
		{`{}`, invalid + "tool: Required"},
		{``, invalid + "tool: Required"},
		{`{"tool":"files/search"}`, invalid + "tool: Expected object, received string"},
		{`{"tool":{"toolbox":"files","server":7}}`, invalid + "server: Expected string, received number, name: Required"},
		{`{"tool":{"toolbox":"files","server":"files","tool":"search"}}`, invalid + "tool: Unrecognized key(s) in object: 'tool'; the tool's name is given as 'name', name: Required"},
		{`{"tool":{"toolbox":"files","server":"files","name":"search","nam":1}}`, invalid + "tool: Unrecognized key(s) in object: 'nam'; did you mean 'name'?"},
		{`{"tool":{"toolbox":"files","server":"files","name":"search"},"arguments":"x"}`, invalid + "arguments: Expected object, received string"},
		{`{"tool":{"toolbox":"files","server":"files","name":"search"},"arguments":null}`, invalid + "arguments: Expected object, received null"},
		{`[]`, invalid + "Expected object, received array, tool: Required"},
		{`{"tool":{"toolbox":"","server":"files","name":"search","tool":"search"},"arguments":[],"args":{}}`, invalid + "Unrecognized key(s) in object: 'args', tool: Unrecognized key(s) in object: 'tool'; the tool's name is given as 'name', toolbox: Toolbox name cannot be empty, arguments: Expected object, received array"},
		{`{"tool":null}`, invalid + "tool: Expected object, received null"},
		{use("analytics", "analytics", "csv_analyzer"), "Error executing tool: Toolbox 'analytics' is not open"},
		{use("nowhere", "files", "search"), "Error executing tool: Toolbox 'nowhere' is not open"},
		{use("vault", "vault", "read_secret"), "Error executing tool: Toolbox 'vault' is not open"},
		{use("files", "github", "search"), "Error executing tool: Server 'github' not found in toolbox 'files'"},
		{use("files", "vault", "read_secret"), "Error executing tool: Server 'vault' not found in toolbox 'files'"},
		{use("files", "files", "Search"), "Error executing tool: Tool 'Search' not found in server 'files'"},
		{use("files", "files", "write_file"), "Error executing tool 'write_file' in server 'files' (toolbox 'files'): disk full"},
		{use("github", "github", "create_issue"), `Error executing tool 'create_issue' in server 'github' (toolbox 'github'): server github: not connected; the tool did not run; "tooldex status" says what keeps server github away, open_toolbox may know an alternative`},
	} {
		a := f.Call(t.Context(), "use_tool", json.RawMessage(tt.args))
		if got := text(t, a); !a.IsError || got != tt.want {
			t.Errorf("use_tool %s\n got %s\nwant %s", tt.args, got, tt.want)
		}
	}
	a := f.Call(t.Context(), "use_tool", json.RawMessage(use("files", "files", "write_file")))
	if len(a.Content) != 2 || !strings.Contains(string(a.Content[1]), "image") {
		t.Errorf("content is %s, want the image after the text", a.Content)
	}
	for args, want := range map[string]string{
		`{"name":"vault"}`:    "Error opening toolbox: Toolbox 'vault' not found. Available toolboxes: analytics, csv, data, files, fs, github",
		`{"toolbox":"files"}`: `Invalid toolbox parameters: open_toolbox: unknown argument "toolbox"`,
	} {
		if a := f.Call(t.Context(), "open_toolbox", json.RawMessage(args)); !a.IsError || text(t, a) != want {
			t.Errorf("open_toolbox %s\n got %s\nwant %s", args, text(t, a), want)
		}
	}
}

// What was opened is used, arguments unchecked, and the result is the
// server's, byte for byte.
func TestDialogue(t *testing.T) {
	f := open(t, surface.Options{})
	boxes := gatewaytest.Ask(t, f, "open_toolbox", ``)["toolboxes"].([]any)
	if len(boxes) != 6 {
		t.Fatalf("toolboxes are %v, want the three servers and three tags that are seen", boxes)
	}
	tools := gatewaytest.Ask(t, f, "open_toolbox", `{"name":"fs"}`)["tools"].([]any)
	if len(tools) != 2 || tools[0].(map[string]any)["inputSchema"] == nil {
		t.Fatalf("tools are %v, want the two with the tag, with their schemas", tools)
	}
	a := f.Call(t.Context(), "use_tool", json.RawMessage(`{"tool":{"toolbox":"fs","server":"files","name":"read_file"},"arguments":{"path":7}}`))
	if got, err := a.Result("", nil); err != nil || string(got) != untouched {
		t.Errorf("result is %s, %v; want %s", got, err, untouched)
	}
	// "search" of the same server is not in the toolbox
	a = f.Call(t.Context(), "use_tool", json.RawMessage(use("fs", "files", "search")))
	if want := "Error executing tool: Tool 'search' not found in server 'files'"; text(t, a) != want {
		t.Errorf("got %s, want %s", text(t, a), want)
	}
}

// Where the protocol has no sessions, every toolbox is open.
func TestWithoutSessions(t *testing.T) {
	f := open(t, surface.Options{})
	f.session = nil
	if a := f.Call(t.Context(), "use_tool", json.RawMessage(use("files", "files", "search"))); a.IsError {
		t.Errorf("got %s", a.Content)
	}
}

// What the operator named takes the place of servers and tags.
func TestConfiguredToolboxes(t *testing.T) {
	f := open(t, surface.Options{Toolboxes: named(
		surface.Toolbox{Name: "dev", Description: "for developers", Servers: []string{"files", "github", "vault"}},
		surface.Toolbox{Name: "secret", Servers: []string{"vault"}},
	)})
	boxes := gatewaytest.Ask(t, f, "open_toolbox", `{}`)["toolboxes"].([]any)
	if len(boxes) != 1 || boxes[0].(map[string]any)["tool_count"] != 6. {
		t.Errorf("toolboxes are %v, want dev with six tools", boxes)
	}
	gatewaytest.Ask(t, f, "open_toolbox", `{"name":"dev"}`)
	if a := f.Call(t.Context(), "use_tool", json.RawMessage(use("dev", "github", "search"))); a.IsError {
		t.Errorf("got %s", a.Content)
	}
	for _, gone := range []string{"files", "secret", "fs"} {
		if a := f.Call(t.Context(), "open_toolbox", json.RawMessage(`{"name":"`+gone+`"}`)); !a.IsError {
			t.Errorf("toolbox %s opens", gone)
		}
	}
}

func named(boxes ...surface.Toolbox) func() []surface.Toolbox {
	return func() []surface.Toolbox { return boxes }
}

// A toolbox's scope and the caller's hold both; changed toolboxes are in force
// at once.
func TestScopedToolboxes(t *testing.T) {
	g := gateway.New(gatewaytest.Open(t), replies, gateway.Options{Servers: map[string]gateway.Server{
		"files": {Tags: []string{"dev"}}, "vault": {Tags: []string{"dev"}},
	}})
	gatewaytest.Fill(t, g)
	dev := view.Of(g.Labels, view.Rule{IncludeTags: []string{"dev"}, ExcludeNamePatterns: []string{"^write"}})
	boxes := []surface.Toolbox{{Name: "all", View: dev}, {Name: "one", Servers: []string{"files", "github"}, View: dev}}
	one := &surface.Session{}
	f := fixture{New(g, surface.Options{Toolboxes: func() []surface.Toolbox { return boxes }}), func() *surface.Session { return one }}
	for _, name := range []string{"all", "one", "all"} {
		a := gatewaytest.Ask(t, f, "open_toolbox", `{"name":"`+name+`"}`)
		var tools []string
		for _, row := range a["tools"].([]any) {
			tools = append(tools, row.(map[string]any)["name"].(string))
		}
		if !slices.Equal(tools, []string{"read_file", "search"}) || a["more_tools"] != nil {
			t.Errorf("toolbox %s has %v and %v more", name, tools, a["more_tools"])
		}
	}
	for _, gone := range []string{use("one", "files", "write_file"), use("one", "github", "search"), use("all", "vault", "read_secret")} {
		if a := f.Call(t.Context(), "use_tool", json.RawMessage(gone)); !a.IsError || !strings.Contains(text(t, a), "not found in") {
			t.Errorf("use_tool %s: %s", gone, a.Content)
		}
	}
	boxes = []surface.Toolbox{{Name: "one", Servers: []string{"github"}}}
	if a := f.Call(t.Context(), "use_tool", json.RawMessage(use("one", "github", "search"))); a.IsError {
		t.Errorf("the toolbox was changed: %s", a.Content)
	}
	if a := f.Call(t.Context(), "use_tool", json.RawMessage(use("all", "files", "search"))); text(t, a) != "Error executing tool: Toolbox 'all' is not open" {
		t.Errorf("the toolbox was deleted: %s", a.Content)
	}
}

// A name that a server and a tag have is one toolbox, which counts each tool
// once.
func TestServerAndTagOfOneName(t *testing.T) {
	g := gateway.New(gatewaytest.Open(t), replies, gateway.Options{Servers: map[string]gateway.Server{
		"files":  {Tools: map[string]gateway.Override{"search": {Tags: []string{"files"}}}},
		"github": {Tools: map[string]gateway.Override{"search": {Tags: []string{"files"}}}},
	}})
	gatewaytest.Fill(t, g)
	f := fixture{New(g, surface.Options{}), nil}
	for _, b := range gatewaytest.Ask(t, f, "open_toolbox", ``)["toolboxes"].([]any) {
		row := b.(map[string]any)
		tools := gatewaytest.Ask(t, f, "open_toolbox", `{"name":"`+row["name"].(string)+`"}`)["tools"].([]any)
		if row["tool_count"] != float64(len(tools)) {
			t.Errorf("toolbox %v opens with %d tools", row, len(tools))
		}
		if row["name"] == "files" && len(tools) != 4 {
			t.Errorf("files has %d tools, want its three and the one with the tag", len(tools))
		}
	}
}
