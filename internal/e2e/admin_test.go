package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is the address of a server whose tools answer with their names.
func mcpServer(t *testing.T, tools ...string) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "sample", Version: "1"}, nil)
	for _, name := range tools {
		s.AddTool(&mcp.Tool{Name: name, Description: "Work with the books: " + name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name}}}, nil
			})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	return web.URL
}

// An admin uses the API of a process.
type admin struct {
	t    *testing.T
	addr string
	s    setup
}

// ask sends a request with the key and expects a status.
func (a admin) ask(method, path, body string, status int, headers ...string) (object, http.Header) {
	a.t.Helper()
	key, err := os.ReadFile(filepath.Join(a.s.state, "admin.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, "http://"+a.addr+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var out object
	if err != nil || len(text) > 0 && json.Unmarshal(text, &out) != nil || res.StatusCode != status {
		a.t.Fatalf("%s %s: %d, want %d: %s %v", method, path, res.StatusCode, status, text, err)
	}
	return out, res.Header
}

// process starts "tooldex serve" of the setup; stop kills it.
func process(t *testing.T, s setup) (a admin, stop func()) {
	t.Helper()
	addr := freeAddress(t)
	cmd := exec.Command(tooldex(t), "serve", "--config", s.config, "--listen", addr)
	log := &logBuffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // the signal is its error
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("tooldex on %s:\n%s", addr, log)
		}
	})
	waitHTTP(t, "http://"+addr+"/readyz", is200)
	return admin{t, addr, s}, stop
}

// books is a setup with the servers of US-7, and one outside its scope.
func books(t *testing.T) setup {
	t.Helper()
	return configure(t, object{
		"quickbooks-server": object{
			"url": mcpServer(t, "finance_ledger", "finance_draft", "admin_reset"), "tags": []string{"finance"}, "visibility": "team", "teams": []string{"finance-team"},
			"tools": object{"finance_draft": object{"tags": []string{"experimental"}}}, "start": "eager",
		},
		"reporting-server": object{"url": mcpServer(t, "report_sales", "report_board"), "tags": []string{"accounting"}, "start": "eager"},
		"files":            object{"url": mcpServer(t, "finance_files"), "tags": []string{"finance"}, "start": "eager"},
	})
}

// S4's US-7, typed as requests: made at run time, a virtual server shows the
// meta-tools alone and its scope alone, in every process of the state folder,
// also after a kill.
func TestUS7(t *testing.T) {
	us7, err := os.ReadFile(filepath.Join("..", "manage", "testdata", "us7.json")) // its body, word for word
	if err != nil {
		t.Fatal(err)
	}
	s := books(t)
	first, kill := process(t, s)
	second, _ := process(t, s) // a process of its own on the same folder
	find(t, connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + first.addr + "/mcp"}, ""), "finance files", "files/finance_files")

	made, header := first.ask("POST", "/servers", string(us7), http.StatusCreated)
	if made["mcp_url"] != "http://"+first.addr+"/servers/finance-ai-tools/mcp" || header.Get("Location") != "/servers/finance-ai-tools" {
		t.Errorf("made %v, at %s", made, header.Get("Location"))
	}
	scoped(t, fmt.Sprint(made["mcp_url"])) // at once
	other := "http://" + second.addr + "/servers/finance-ai-tools/mcp"
	waitServed(t, other, true)
	scoped(t, other)

	kill()
	first, _ = process(t, s)
	scoped(t, "http://"+first.addr+"/servers/finance-ai-tools/mcp")
	_, header = second.ask("GET", "/servers/finance-ai-tools", "", http.StatusOK)
	tag := header.Get("ETag")
	second.ask("PATCH", "/servers/finance-ai-tools", `{"surface":"discover"}`, http.StatusOK, "If-Match", tag)
	first.ask("PATCH", "/servers/finance-ai-tools", `{"surface":"toolbox"}`, http.StatusPreconditionFailed, "If-Match", tag)
	first.ask("DELETE", "/servers/finance-ai-tools", "", http.StatusNoContent, "If-Match", "*")
	waitServed(t, other, false)
}

// scoped asserts what US-7 asks of the virtual server at an address.
func scoped(t *testing.T, url string) {
	t.Helper()
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: url}, "")
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"describe_tool", "execute_tool", "get_similar_tools", "get_tool_categories", "list_tools", "search_tools"}; !slices.Equal(names, want) {
		t.Errorf("tools/list has %v", names)
	}
	out, _ := call(t, session, "list_tools", object{})
	for _, row := range out["tools"].([]any) {
		names = append(names, row.(object)["qualified_name"].(string))
	}
	if got, want := names[6:], []string{"quickbooks-server/finance_ledger", "reporting-server/report_board", "reporting-server/report_sales"}; !slices.Equal(got, want) {
		t.Errorf("it shows %v, want %v", got, want)
	}
	if got, _ := execute(t, session, "quickbooks-server/finance_ledger", object{}); got != "ran finance_ledger" {
		t.Errorf("a tool of the scope answers %v", got)
	}
	for _, hidden := range []string{"quickbooks-server/finance_draft", "quickbooks-server/admin_reset", "files/finance_files", "nobody/nothing"} {
		out, res := call(t, session, "execute_tool", object{"tool_name": hidden, "arguments": object{}})
		if !res.IsError || !strings.Contains(fmt.Sprint(out["error"]), "there is no") && !strings.Contains(fmt.Sprint(out["error"]), "unknown") {
			t.Errorf("%s answers %v", hidden, out)
		}
	}
	if res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "quickbooks-server__finance_ledger"}); err == nil && !res.IsError {
		t.Error("a tool can be called past execute_tool")
	}
}

// waitServed returns once an address is served, or is no longer.
func waitServed(t *testing.T, url string, served bool) {
	t.Helper()
	waitHTTP(t, url, func(status int) bool { return (status != http.StatusNotFound) == served })
}
