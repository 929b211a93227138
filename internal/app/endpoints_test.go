package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Each endpoint has its surface and shows its scope and nothing else; what the
// operator did not label himself opens none.
func TestEndpoints(t *testing.T) {
	address := numbers(t)
	cfg := written(t, fmt.Sprintf(`
mcpServers:
  one: {url: %q, tags: [finance], tools: {distance_between_points: {tags: [geo]}}}
  two: {url: %q}
meta_server:
  scope_templates: {money: {include_tags: [finance]}}
virtual_servers:
  money: {surface: discover, scope: money}
  empty: {scope: {include_tags: [nothing]}}
  closed: {enabled: false}
`, address, address+"?2"))
	e := opened(t, cfg, Options{Online: true})
	if _, err := e.Relist(t.Context(), cfg.Names(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	all := e.Endpoints()
	if len(all) != 4 || all[0].Tools != 2*all[3].Tools || all[3].Tools == 0 || all[3].Path != "/servers/money/mcp" {
		t.Errorf("endpoints are %+v", all)
	}
	if w := all[2].Warnings; len(w) != 1 || !strings.Contains(w[0], "none of the") {
		t.Errorf("empty warns %q", w)
	}
	said := string(e.endpoints.byName["money"].Call(t.Context(), "discover_tools", nil).JSON)
	if !strings.Contains(said, `"name":"one"`) || strings.Contains(said, `"two"`) {
		t.Errorf("money shows %s", said)
	}
	hidden := e.endpoints.byName["money"].Call(t.Context(), "execute_tool", json.RawMessage(`{"tool_name":"two/distance_between_points"}`))
	if !hidden.IsError || strings.Contains(string(hidden.JSON), "'two/") && !strings.Contains(string(hidden.JSON), "Unknown tool") {
		t.Errorf("a hidden tool answers %s", hidden.JSON)
	}

	web := httptest.NewServer(e.Server.Handler())
	defer web.Close()
	for path, want := range map[string]string{"/mcp": "search_tools", "/servers/money/mcp": "discover_tools", "/servers/closed/mcp": "404", "/servers/nobody/mcp": "404"} {
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
