package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tooldex/tooldex/gateway/upstream/rest/call"
)

func TestREST(t *testing.T) {
	t.Setenv("API_HOST", "api.example.com")
	c, err := load(t, "t.yaml", `
mcpServers: {a: {command: x}}
rest:
  billing:
    openapi: ./billing.yaml
    base_url: https://${API_HOST}/v1/
    auth: {key_name: X-Key, key_env: KEY}
    include: {tags: [invoices]}
    tools: {list: {effect: read}, one: {url: "https://${API_HOST}/{id}", description: One., input_schema: {properties: {id: {type: integer}}}}}
  off: {disabled: true}
  bad: {openapi: x, auht: 1}
  none: {}
  key: {openapi: x, auth: {key_name: k}}
  seen: {openapi: x, visibility: privat}
  odd: {openapi: x, tools: {t: {effect: mighty}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 2 || c.Servers[1].REST == nil || !c.Servers[1].Annotated || c.Servers[1].Tools["list"].Effect != "read" {
		t.Fatalf("%+v", c.Servers)
	}
	sp := c.Servers[1].REST
	if sp.BaseURL != "https://api.example.com/v1" || sp.Document != filepath.Join(filepath.Dir(c.Path), "billing.yaml") || len(sp.Include.Tags) != 1 {
		t.Errorf("%+v", sp)
	}
	if diff := cmp.Diff(call.Auth{KeyName: "X-Key", KeyIn: "header", Key: call.Secret{Env: "KEY"}}, sp.Auth); diff != "" {
		t.Error(diff)
	}
	if len(sp.Singles) != 1 || sp.Singles[0].URL != "https://api.example.com/{id}" || string(sp.Singles[0].InputSchema) != `{"properties":{"id":{"type":"integer"}}}` {
		t.Errorf("%+v", sp.Singles)
	}
	for name, want := range map[string]string{
		"bad": `unknown key "auht"; did you mean "auth"?`, "none": "it has neither openapi", "key": "auth: a key needs key_name, and key, key_env or key_file",
		"seen": `visibility: "privat" is none of`,
		"odd":  `tools.t.effect: "mighty" is none of read, write, destructive`, "off": "",
	} {
		if got := c.DisabledReason(name); !strings.Contains(got, want) || c.Section(name) != "rest" {
			t.Errorf("%s: got %q in %s", name, got, c.Section(name))
		}
	}
	if _, err := load(t, "t.yaml", "mcpServers: {a: {command: x}}\nrest: {a: {openapi: x}}\n"); err == nil || !strings.Contains(err.Error(), "rest.a: the name is taken by mcpServers.a; rename one") {
		t.Errorf("got %v", err)
	}
}
