package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/internal/config"
)

// Each endpoint has its surface and shows its scope and nothing else; what the
// operator did not label himself opens none.
func TestEndpoints(t *testing.T) {
	address := numbers(t)
	cfg := written(t, fmt.Sprintf(`
mcpServers:
  one: {url: %q, tags: [finance], tools: {distance_between_points: {tags: [geo], effect: read}}}
  two: {url: %q}
meta_server:
  scope_templates: {money: {include_tags: [finance]}}
virtual_servers:
  money: {surface: discover, scope: money}
  empty: {scope: {include_tags: [nothing]}}
  closed: {enabled: false}
  safe: {readonly: true, meta_config: {split_execute: true}}
`, address, address+"?2"))
	e := opened(t, cfg, Options{Online: true})
	if _, err := e.Relist(t.Context(), cfg.Names(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	all := e.Endpoints()
	if len(all) != 5 || all[0].Tools != 2*all[3].Tools || all[3].Tools == 0 || all[4].Tools != 1 || all[3].Path != "/servers/money/mcp" {
		t.Errorf("endpoints are %+v", all)
	}
	if w := all[2].Warnings; len(w) != 1 || !strings.Contains(w[0], "none of the") {
		t.Errorf("empty warns %q", w)
	}
	said := string(e.endpoints.host.Get("money").Call(t.Context(), "discover_tools", nil).JSON)
	if !strings.Contains(said, `"name":"one"`) || strings.Contains(said, `"two"`) {
		t.Errorf("money shows %s", said)
	}
	hidden := e.endpoints.host.Get("money").Call(t.Context(), "execute_tool", json.RawMessage(`{"tool_name":"two/distance_between_points"}`))
	if !hidden.IsError || strings.Contains(string(hidden.JSON), "'two/") && !strings.Contains(string(hidden.JSON), "Unknown tool") {
		t.Errorf("a hidden tool answers %s", hidden.JSON)
	}

	web := httptest.NewServer(e.endpoints.host.Handler())
	defer web.Close()
	for path, want := range map[string]string{"/mcp": "search_tools", "/servers/money/mcp": "discover_tools", "/servers/safe/mcp": "run_read_tool", "/servers/closed/mcp": "404", "/servers/nobody/mcp": "404"} {
		if got := answered(t, web.URL+path); !strings.Contains(got, want) {
			t.Errorf("tools/list at %s: %s, want %s", path, got, want)
		}
	}
}

// answered is the answer to tools/list without a handshake.
func answered(t *testing.T, url string) string {
	t.Helper()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
	} {
		r.Header.Set(key, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + " " + string(b)
}

// Endpoints come, change and go with the file, and those that nothing is said
// of keep their sessions; a file with a mistake changes none.
func TestLiveEndpoints(t *testing.T) {
	one := numbers(t)
	lines := fmt.Sprintf("mcpServers: {one: {url: %q, tags: [finance]}}\n", one)
	r := serving(t, lines+"virtual_servers: {stays: {}}")
	until(t, "listed", func() bool { return r.has("one/convert_units") })
	web := httptest.NewServer(r.endpoints.host.Handler())
	defer web.Close()
	stays := r.endpoints.host.Get("stays")
	until(t, "one is added", func() bool {
		r.write(t, lines+"virtual_servers: {stays: {}, comes: {surface: discover, scope: money}}\nmeta_server: {scope_templates: {money: {include_tags: [finance]}}}")
		return strings.Contains(answered(t, web.URL+"/servers/comes/mcp"), "discover_tools")
	})
	comes := r.endpoints.host.Get("comes")
	tools := func() int { return r.Endpoints()[1].Tools }
	if tools() == 0 {
		t.Error("its scope shows nothing")
	}
	r.write(t, lines+"virtual_servers: {stays: {}, comes: {surface: discover, scope: money}}\nmeta_server: {scope_templates: {money: {include_tags: [other]}}}")
	until(t, "its template changes", func() bool { return tools() == 0 })
	if r.endpoints.host.Get("comes") != comes {
		t.Error("a scope ended its sessions")
	}
	r.write(t, lines+"virtual_servers:\n  stays: {}\n  comes: {surface: discovery}")
	until(t, "the mistake is named", func() bool { return r.live.status().Problem != "" })
	if p := r.live.status().Problem; !strings.Contains(p, `line 5: virtual_servers.comes.surface: there is no surface "discovery"; did you mean "discover"?`) {
		t.Error(p)
	}
	r.write(t, lines+"virtual_servers: {stays: {}, comes: {meta_config: {default_search_limit: 3}}}\nmeta_server: {default: {enabled: false}}")
	until(t, "it changes, and the default one goes", func() bool {
		return strings.Contains(answered(t, web.URL+"/servers/comes/mcp"), "search_tools") && strings.HasPrefix(answered(t, web.URL+"/mcp"), "404")
	})
	if st := r.live.status(); len(st.Restart) > 0 || st.Problem != "" {
		t.Errorf("got %+v", st)
	}
	if _, err := r.Endpoint("default"); err == nil || err.Error() != `virtual server default is disabled; served are comes, stays` {
		t.Errorf("a disabled one: %v", err)
	}
	r.write(t, lines+"virtual_servers: {stays: {}}")
	until(t, "it goes", func() bool { return strings.HasPrefix(answered(t, web.URL+"/servers/comes/mcp"), "404") })
	if r.endpoints.host.Get("stays") != stays {
		t.Error("an endpoint that did not change was replaced")
	}
}

// An endpoint that is not to search by meaning searches by words, and says so;
// the others are not touched. Both hold from the change of the file on.
func TestWordsOnlyEndpoint(t *testing.T) {
	lines := fmt.Sprintf("mcpServers: {one: {url: %q}}\n", numbers(t))
	r := serving(t, lines+"virtual_servers: {words: {meta_config: {enable_semantic_search: false}}, three: {surface: discover, meta_config: {enable_semantic_search: false}}}")
	until(t, "listed", func() bool { return r.has("one/convert_units") })
	asked := func(endpoint, metaTool, arguments string) string {
		s := r.endpoints.host.Get(endpoint)
		if s == nil {
			return "none"
		}
		return string(s.Call(t.Context(), metaTool, json.RawMessage(arguments)).JSON)
	}
	const query = `{"query":"how far apart are two places"}`
	const turnedOff = `the operator turned it off (meta_config.enable_semantic_search of virtual server `
	if got := asked("words", "search_tools", query); !strings.Contains(got, `"search_type":"keyword","requested":"hybrid","degraded":true,"reason":"`+turnedOff+`words)"`) || strings.Contains(got, "query_embedding_model") {
		t.Errorf("words: %s", got)
	}
	if got := asked("words", "search_tools", `{"query":"distance","search_type":"semantic"}`); !strings.Contains(got, turnedOff+`words)`) || !strings.Contains(got, `"error"`) {
		t.Errorf("by meaning: %s", got)
	}
	if got := asked("three", "discover_tools", `{"query":"distance","search_mode":"semantic"}`); !strings.Contains(got, turnedOff+`three)`) {
		t.Errorf("discover by meaning: %s", got)
	}
	until(t, "the others search by meaning", func() bool {
		got := asked("default", "search_tools", query)
		return strings.Contains(got, `"search_type":"hybrid"`) && !strings.Contains(got, "degraded")
	})
	r.write(t, lines+"virtual_servers: {words: {}}")
	until(t, "it searches by meaning", func() bool { return strings.Contains(asked("words", "search_tools", query), `"search_type":"hybrid"`) })
	r.write(t, lines+"meta_config: {enable_semantic_search: false}")
	until(t, "none does", func() bool {
		return strings.Contains(asked("default", "search_tools", query), `the operator turned it off (meta_config.enable_semantic_search in tooldex.yaml)`)
	})
	if st := r.live.status(); len(st.Restart) > 0 {
		t.Errorf("it needs a restart: %v", st.Restart)
	}
}

// Where no endpoint searched by meaning at the start there are no vectors: one
// that is to is told of, as is the restart.
func TestSemanticLater(t *testing.T) {
	lines := fmt.Sprintf("mcpServers: {one: {url: %q}}\nmeta_config: {enable_semantic_search: false}\n", numbers(t))
	r := serving(t, lines)
	r.write(t, lines+"virtual_servers: {meaning: {meta_config: {enable_semantic_search: true}}}")
	until(t, "what needs a restart is said", func() bool {
		return slices.Equal(r.live.status().Restart, []string{"meta_config.enable_semantic_search"})
	})
	if all := r.Endpoints(); len(all) != 2 || !strings.Contains(strings.Join(all[1].Warnings, "; "), "it is to search by meaning") {
		t.Errorf("endpoints are %+v", all)
	}
}

// Endpoints from another source come and go like those of the file, which wins;
// one whose template is gone is not served.
func TestStoredEndpoints(t *testing.T) {
	lines := fmt.Sprintf("mcpServers: {one: {url: %q, tags: [finance]}}\n", numbers(t))
	templates := "meta_server: {scope_templates: {money: {include_tags: [finance]}}}\n"
	r := serving(t, lines+templates+"virtual_servers: {ours: {}}")
	ours := r.endpoints.host.Get("ours")
	stored := []config.Definition{
		{Name: "ours", JSON: []byte(`{}`)}, {Name: "bad", JSON: []byte(`{"scoped": 1}`)},
		{Name: "money", JSON: []byte(`{"type": "meta", "scope": "money"}`)}, {Name: "off", JSON: []byte(`{"enabled": false}`)},
	}
	if err := r.SetStored(stored); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		var out []string
		for _, x := range r.Endpoints() {
			if x.Stored {
				out = append(out, fmt.Sprintf("%s %v %s", x.Name, x.Enabled && r.endpoints.host.Get(x.Name) != nil, x.Problem))
			}
		}
		return strings.Join(out, "\n")
	}
	want := `ours false the configuration has one of this name
bad false unknown key "scoped"; did you mean "scope"?
money true 
off false `
	if got := states(); got != want || r.endpoints.host.Get("ours") != ours {
		t.Errorf("got %s", got)
	}
	r.write(t, lines+"virtual_servers: {ours: {}}")
	until(t, "its template is gone", func() bool { return r.endpoints.host.Get("money") == nil })
	if got := states(); !strings.Contains(got, `money false scope: there is no scope template "money"`) {
		t.Errorf("got %s", got)
	}
	if _, err := r.Endpoint("money"); err == nil || !strings.HasPrefix(err.Error(), "virtual server money is disabled: scope: there is no scope template") {
		t.Errorf("got %v", err)
	}
	r.write(t, lines+templates)
	until(t, "it is back, and the file's has gone", func() bool {
		return strings.Contains(states(), "money true") && strings.Contains(states(), "ours true")
	})
	if r.endpoints.host.Get("ours") != ours {
		t.Error("one that is stored as the file had it was replaced")
	}
	if err := r.SetStored(nil); err != nil || r.endpoints.host.Get("ours") != nil || states() != "" {
		t.Errorf("after their end: %s, %v", states(), err)
	}
}

// One that is stored and cannot be opened costs no other one.
func TestStoredFailure(t *testing.T) {
	e := opened(t, written(t, "mcpServers: {}"), Options{Online: true}) // which does not know the surfaces
	bad := config.Definition{Name: "bad", JSON: []byte(`{"surface": "nope"}`)}
	good := config.Definition{Name: "good", JSON: []byte(`{"surface": "discover"}`)}
	if err := e.SetStored([]config.Definition{bad, good}); err != nil {
		t.Fatal(err)
	}
	if e.endpoints.host.Get("good") == nil || e.endpoints.host.Get("bad") != nil {
		t.Error("good is not served, or bad is")
	}
	if x := e.Endpoints()[1]; x.Name != "bad" || x.Enabled || !strings.Contains(x.Problem, `there is no surface "nope"`) {
		t.Errorf("bad is %+v", x)
	}
	bad.JSON = []byte(`{}`)
	if err := e.SetStored([]config.Definition{bad, good}); err != nil || e.endpoints.host.Get("bad") == nil || e.Endpoints()[1].Problem != "" {
		t.Errorf("after its correction: %v, %+v", err, e.Endpoints()[1])
	}
}

// Whoever is known is told of each address without an endpoint that there is
// none, and whoever is not learns of none.
func TestNoEndpointWithAuth(t *testing.T) {
	secret := auth.NewSecret()
	r := serving(t, fmt.Sprintf("auth: {tokens: {bot: {hash: %q}}, grants: [{anyone: true, endpoints: ['*'], role: use}]}\n", auth.HashToken(secret)))
	web := httptest.NewServer(r.endpoints.host.Handler())
	defer web.Close()
	for _, path := range []string{"/servers/default/mcp", "/servers/nobody/mcp"} {
		for token, want := range map[string]int{secret: http.StatusNotFound, "": http.StatusUnauthorized} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				q.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != want {
				t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
			}
		}
	}
}
