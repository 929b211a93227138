package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/gateway/view"
)

const endpoints = `
meta_server:
  default: {name: tool-discovery, scope: production}
  scope_templates:
    production: {include_tags: [production], exclude_tags: [deprecated]}
meta_config: {max_search_limit: 40}
virtual_servers:
  finance-ai-tools:
    type: meta
    surface: discover
    scope: [production, {include_servers: [erp], name_patterns: ["^report_"]}]
    meta_config: {default_search_limit: 5}
  off: {enabled: false, readonly: true, meta_config: {split_execute: true, include_signatures: false}}
`

func TestEndpoints(t *testing.T) {
	c, err := load(t, "tooldex.yaml", endpoints)
	if err != nil {
		t.Fatal(err)
	}
	production := view.Rule{IncludeTags: []string{"production"}, ExcludeTags: []string{"deprecated"}}
	if diff := cmp.Diff([]view.Rule{production}, c.Default.Rules); diff != "" {
		t.Error(diff)
	}
	want := []view.Rule{production, {IncludeServers: []string{"erp"}, NamePatterns: []string{"^report_"}}}
	if diff := cmp.Diff(want, c.Endpoints[0].Rules); diff != "" {
		t.Error(diff)
	}
	if e := c.Endpoints[0]; e.Surface != "discover" || e.Meta.DefaultSearchLimit != 5 || e.Meta.MaxSearchLimit != 40 || !e.Meta.EnableCategories || !e.HideUnderlyingTools {
		t.Errorf("got %+v", e)
	}
	if c.Endpoints[1].Enabled {
		t.Errorf("got %+v", c.Endpoints[1])
	}
	if e := c.Endpoints[1]; !e.ReadOnly || !cmp.Equal(e.Rules, []view.Rule{{ReadOnly: true}}) || !e.Meta.SplitExecute || e.Meta.IncludeSignatures || !c.Default.Meta.IncludeSignatures {
		t.Errorf("got %+v", e)
	}
}

// Tools are hidden unless an endpoint says otherwise or has nothing else.
func TestHiding(t *testing.T) {
	c, err := load(t, "tooldex.yaml", `
meta_server: {default: {hide_underlying_tools: false}}
virtual_servers:
  a: {}
  b: {hide_underlying_tools: false, surface: discover}
  c: {surface: direct}
  d: {surface: direct, hide_underlying_tools: false}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := []bool{c.Default.HideUnderlyingTools}
	for _, e := range c.Endpoints {
		got = append(got, e.HideUnderlyingTools)
	}
	if diff := cmp.Diff([]bool{false, true, false, false, false}, got); diff != "" {
		t.Error(diff)
	}
}

// Another surface hides what it hides by itself, and never what the file says
// is hidden.
func TestSetSurface(t *testing.T) {
	for _, tt := range []struct {
		text, surface string
		hides, fails  bool
	}{
		{"{}", "direct", false, false},
		{"{surface: direct}", "meta", true, false},
		{"{surface: direct}", "", false, false},
		{"{hide_underlying_tools: false}", "discover", false, false},
		{"{hide_underlying_tools: true}", "direct", true, true},
	} {
		c, err := load(t, "tooldex.yaml", "meta_server: {default: "+tt.text+"}")
		if err != nil {
			t.Fatal(err)
		}
		e := &c.Default
		if err := e.SetSurface(tt.surface); (err != nil) != tt.fails || e.HideUnderlyingTools != tt.hides {
			t.Errorf("%s, then %s: hides %t, error %v", tt.text, tt.surface, e.HideUnderlyingTools, err)
		}
	}
}

func TestEndpointMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"virtual_servers: {a: {scope: {include_tag: [x]}}}", `line 1: unknown key "virtual_servers.a.scope.include_tag"; did you mean "include_tags"?`},
		{"virtual_servers: {a: {scope: [{exclude_tag: [x]}]}}", `unknown key "virtual_servers.a.scope[0].exclude_tag"; did you mean "exclude_tags"?`},
		{"virtual_servers: {a: {surface: direct, hide_underlying_tools: true}}", `virtual_servers.a.hide_underlying_tools: surface direct has nothing but the underlying tools; leave the key out`},
		{"meta_server: {default: {surface: direct, hide_underlying_tools: true}}", `meta_server.default.hide_underlying_tools: surface direct`},
		{"virtual_servers: {a: {hide_underlying_tools: 7}}", `true or false`},
		{"virtual_servers: {a: {scopes: x}}", `unknown key "virtual_servers.a.scopes"; did you mean "scope"?`},
		{"virtual_servers: {a: {scope: prodution}}\nmeta_server: {scope_templates: {production: {}}}", `line 1: virtual_servers.a.scope: there is no scope template "prodution"; did you mean "production"?`},
		{"virtual_servers: {a: {scope: x}}", `there is no scope template "x"; meta_server.scope_templates has none`},
		{"virtual_servers: {a: {scope: {name_patterns: [a, '(']}}}", "virtual_servers.a.scope.name_patterns[1]: error parsing regexp"},
		{"meta_server: {scope_templates: {a: {exclude_name_patterns: ['(']}}}", "meta_server.scope_templates.a.exclude_name_patterns[0]: "},
		{"virtual_servers: {a: {scope: {include_tags: x}}}", "where a list of texts is expected"},
		{"virtual_servers: {a: {type: proxy}}", `virtual_servers.a.type: "proxy" is not served`},
		{"virtual_servers: {a/b: {}}", "virtual_servers.a/b: a virtual server's name has"},
		{"virtual_servers: {..: {}}", "and is not . or .."},
		{"virtual_servers: {default: {}}", "the name is taken by meta_server.default"},
		{"virtual_servers: {a: {meta_config: {default_search_limit: 60}}}", "virtual_servers.a.meta_config.default_search_limit: 60 is outside 1 to 50"},
	} {
		_, err := load(t, "tooldex.yaml", tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// What is probably not meant is no error: the endpoint says it.
func TestScopeWarnings(t *testing.T) {
	c, err := load(t, "tooldex.yaml", `virtual_servers: {a: {scope: {include_tags: [x], exclude_tags: [X]}}, b: {scope: {name_patterns: [x]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Endpoints {
		if len(e.Warnings) != 1 || !slices.ContainsFunc([]string{"included and excluded", "name_patterns alone"}, func(s string) bool { return strings.Contains(e.Warnings[0], s) }) {
			t.Errorf("%s: warnings %q", e.Name, e.Warnings)
		}
	}
}

// An effect is one of three, and a mistake disables its server alone.
func TestEffects(t *testing.T) {
	c, err := load(t, "tooldex.yaml", `
mcpServers:
  a: {command: x, effect_from_annotations: true, tools: {t: {effect: read}}}
  b: {command: x, tools: {t: {effect: reads}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Servers[0]; len(c.Servers) != 1 || !s.Annotated || s.Tools["t"].Effect != "read" {
		t.Errorf("got %+v", c.Servers)
	}
	if why := c.DisabledReason("b"); why != `tools.t.effect: "reads" is none of read, write, destructive` {
		t.Errorf("b is disabled: %q", why)
	}
}

func TestToolboxes(t *testing.T) {
	c, err := load(t, "tooldex.yaml", `
meta_server: {scope_templates: {stable: {exclude_tags: [beta]}}}
toolboxes:
  dev: {servers: [git], scope: [stable, {name_patterns: ["^git_"]}]}
  safe: {description: all that is stable, scope: stable}
`)
	if err != nil {
		t.Fatal(err)
	}
	stable := view.Rule{ExcludeTags: []string{"beta"}}
	want := map[string]Toolbox{
		"dev":  {Servers: []string{"git"}, Rules: []view.Rule{stable, {NamePatterns: []string{"^git_"}}}},
		"safe": {Description: "all that is stable", Rules: []view.Rule{stable}},
	}
	if diff := cmp.Diff(want, c.Toolboxes); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"toolboxes: {dev: {}}":                              "toolboxes.dev.servers is empty and there is no scope",
		"toolboxes: {dev: {scope: stabel}}":                 `line 1: toolboxes.dev.scope: there is no scope template "stabel"`,
		"toolboxes: {dev: {scope: {name_patterns: ['(']}}}": "toolboxes.dev.scope.name_patterns[0]: error parsing regexp",
		"toolboxes: {dev: {scope: {tags: [x]}}}":            `unknown key "toolboxes.dev.scope.tags"`,
		"toolboxes: {dev: {server: [x]}}":                   `unknown key "toolboxes.dev.server"; did you mean "servers"?`,
	} {
		if _, err := load(t, "tooldex.yaml", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
