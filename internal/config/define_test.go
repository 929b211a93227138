package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/gateway/view"
)

func TestReadEndpoint(t *testing.T) {
	c, err := load(t, "tooldex.yaml", endpoints)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.ReadEndpoint("ops", []byte(`{"name": "ops", "surface": "discover", "scope": ["production", {"include_tags": ["\ud83d\ude00 \/ \u2028"]}], "meta_config": {"default_search_limit": 7}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []view.Rule{{IncludeTags: []string{"production"}, ExcludeTags: []string{"deprecated"}}, {IncludeTags: []string{"😀 / \u2028"}}}
	if diff := cmp.Diff(want, e.Rules); diff != "" {
		t.Error(diff)
	}
	if e.Name != "ops" || e.Title != "ops" || !e.Enabled || e.Meta.DefaultSearchLimit != 7 || e.Meta.MaxSearchLimit != 40 || e.Written["surface"] != "discover" {
		t.Errorf("got %+v", e)
	}
	if got := c.Endpoints[0].Written["scope"].([]any)[0]; got != "production" {
		t.Errorf("the file's endpoint is written with scope %v", got)
	}
}

func TestReadEndpointMistakes(t *testing.T) {
	c, err := load(t, "tooldex.yaml", endpoints)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"a", `{"scopes": {}, "hide_underlying_tool": true}`, "unknown key \"hide_underlying_tool\"; did you mean \"hide_underlying_tools\"?\nunknown key \"scopes\"; did you mean \"scope\"?"},
		{"a", `{"scope": {"include_tag": ["x"]}}`, `unknown key "scope.include_tag"; did you mean "include_tags"?`},
		{"a", `{"scope": "prodution"}`, `scope: there is no scope template "prodution"; did you mean "production"?`},
		{"a", `{"scope": {"name_patterns": ["("]}}`, "scope.name_patterns[0]: error parsing regexp"},
		{"a", `{"type": "proxy"}`, `type: "proxy" is not served`},
		{"a", `{"name": "b"}`, "name: it is a and stays so"},
		{"a", `{"meta_config": {"max_search_limit": 99}}`, "meta_config.max_search_limit: 99 is outside 1 to 50"},
		{"a", `{"scope": {"include_tags": "x"}}`, "wrong type: the text `x` where a list of texts is expected"},
		{"..", `{}`, "a virtual server's name has 1 to 64"},
		{"a", `[]`, "it is no JSON object"},
		{"a", `null`, "it is no JSON object"},
		{"a", `{} {}`, "invalid character"},
		{"a", `{"scope": `, "unexpected end of JSON input"},
		{"a", strings.Repeat(`{"a":`, 20000), "exceeded max depth"},
	} {
		_, err := c.ReadEndpoint(tt.name, []byte(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100s\n got %v\nwant %s", tt.text, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "line ") {
			t.Errorf("%.100s: %v speaks of lines", tt.text, err)
		}
	}
}
