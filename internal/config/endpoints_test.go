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
  off: {enabled: false}
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
	if c.Endpoints[1].Enabled || len(c.Unbuilt) > 0 {
		t.Errorf("got %+v, unbuilt %v", c.Endpoints[1], c.Unbuilt)
	}
	if _, err := c.Endpoint("finance"); err == nil || !strings.Contains(err.Error(), `"finance"`) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestEndpointMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"virtual_servers: {a: {scope: {include_tag: [x]}}}", `line 1: unknown key "virtual_servers.a.scope.include_tag"; did you mean "include_tags"?`},
		{"virtual_servers: {a: {scope: [{exclude_tag: [x]}]}}", `unknown key "virtual_servers.a.scope[0].exclude_tag"; did you mean "exclude_tags"?`},
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
