package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/internal/logins/loginstest"
	"github.com/tooldex/tooldex/internal/sample"
)

// said is what a command prints on both streams, which ends with code.
func said(t *testing.T, s setup, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(tooldex(t), append([]string{"--config", s.config}, args...)...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Errorf("tooldex %s: %v, want exit %d\n%s", strings.Join(args, " "), err, code, text)
	}
	return string(text)
}

// logIn runs "tooldex auth login" with a browser that opens the address that
// it prints.
func logIn(t *testing.T, s setup, server string) {
	t.Helper()
	cmd := exec.Command(tooldex(t), "--config", s.config, "auth", "login", server, "--no-browser")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); log.WriteString(lines.Text() + "\n") {
		if strings.HasPrefix(lines.Text(), "http://") {
			loginstest.Browser(t, lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("auth login: %v\n%s", err, &log)
	}
}

func wantIn(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: got\n%s\nwant %q in it", what, got, w)
		}
	}
}

// A server that answers 401 and names its authorization server is added all
// the same, says which command it needs, and is listed and called after that.
func TestLoginOfServer(t *testing.T) {
	x, s := loginstest.New(t), configureWith(t, object{}, object{"keyring": false})
	tools, err := sample.New(sample.Options{Groups: []string{"numbers"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	x.Set(func() { x.Behind = tools.Handler() })
	wantIn(t, "add", said(t, s, 0, "add", "notion", x.URL+"/mcp"), "notion", `It needs a login: "tooldex auth login notion"`)
	if text, err := os.ReadFile(s.config); err != nil || !strings.Contains(string(text), x.URL+"/mcp") {
		t.Fatalf("the entry was not kept: %s, %v", text, err)
	}
	const needs = "server notion needs a login: tooldex auth login notion"
	wantIn(t, "reindex", said(t, s, 1, "reindex"), needs)
	wantIn(t, "doctor", said(t, s, 1, "doctor"), needs, "tooldex auth login notion")
	wantIn(t, "auth status", said(t, s, 0, "auth", "status"), "not logged in")
	serving := serveHTTP(t, s)
	until(t, s, "needs login", "status")
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: serving}, "2025-06-18")
	out, res := call(t, session, "execute_tool", object{"tool_name": "notion/convert_units", "arguments": object{}})
	if !res.IsError {
		t.Error("a tool ran without a login")
	}
	wantIn(t, "execute_tool", fmt.Sprint(out), needs)
	logIn(t, s, "notion")
	find(t, session, "convert units", "notion/convert_units")
	execute(t, session, "notion/convert_units", convert)
	wantIn(t, "status", said(t, s, 0, "status"), "notion", "ready")
	wantIn(t, "auth status", said(t, s, 0, "auth", "status"), "logged in", x.URL)
	wantIn(t, "doctor", said(t, s, 0, "doctor"), "ok    server notion: ")
	wantIn(t, "auth logout", said(t, s, 0, "auth", "logout", "notion"), "its tokens were taken back")
	x.Set(func() { clear(x.Tokens) })
	out, _ = call(t, session, "execute_tool", object{"tool_name": "notion/convert_units", "arguments": convert})
	wantIn(t, "execute_tool after logging out", fmt.Sprint(out), "needs a login: tooldex auth login notion")
}

// convert are arguments of the sample server's convert_units.
var convert = object{"value": 1, "from": "km", "to": "m"}

// until runs a command until it prints something.
func until(t *testing.T, s setup, want string, args ...string) {
	t.Helper()
	text := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if text = said(t, s, 0, args...); strings.Contains(text, want) {
			return
		}
	}
	t.Fatalf("tooldex %s did not come to print %q but\n%s", strings.Join(args, " "), want, text)
}

// billing is a REST API behind the issuer, with one operation, that logs in as
// auth says.
func billing(t *testing.T, x *loginstest.Issuer, auth object) setup {
	t.Helper()
	x.Set(func() { x.Resource = "" }) // an API has no metadata
	auth["issuer"] = x.URL
	return configureWith(t, object{}, object{"keyring": false, "rest": object{"billing": object{
		"base_url": x.URL + "/api", "auth": auth,
		"tools": object{"list_invoices": object{"url": x.URL + "/api/invoices", "description": "List the invoices of a customer."}},
	}}})
}

// A person logs in at a REST API; its token is refreshed when it runs out, and
// when its refresh token holds no more it needs a login again.
func TestLoginOfAPI(t *testing.T) {
	x := loginstest.New(t)
	s := billing(t, x, object{"type": "oauth"})
	said(t, s, 0, "reindex") // its tools need no request
	const needs = "server billing needs a login: tooldex auth login billing"
	wantIn(t, "doctor", said(t, s, 1, "doctor"), "FAIL  server billing: "+needs)
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, s)}, "2025-06-18")
	invoices := object{"tool_name": "billing/list_invoices", "arguments": object{}}
	out, res := call(t, session, "execute_tool", invoices)
	if !res.IsError {
		t.Error("a tool ran without a login")
	}
	wantIn(t, "execute_tool", fmt.Sprint(out), needs, "when its operator has run that command")
	wantIn(t, "status", said(t, s, 0, "status"), "needs login", needs)
	x.Set(func() { x.Lasts = -1 }) // it has run out when it comes
	logIn(t, s, "billing")
	until(t, s, "ready", "status") // before anything is called
	wantIn(t, "doctor", said(t, s, 0, "doctor"), "ok    server billing: 1 tool")
	x.Set(func() { x.Lasts = 3600 })
	for range 2 {
		execute(t, session, "billing/list_invoices", object{})
	}
	wantIn(t, "status", said(t, s, 0, "status"), "ready")
	wantIn(t, "auth status", said(t, s, 0, "auth", "status"), "logged in", "(refreshed)")
	x.Set(func() {
		if x.Refreshed != 1 || x.Registered != 1 {
			t.Errorf("refreshed %d times, registered %d", x.Refreshed, x.Registered)
		}
		clear(x.Tokens)
		x.Refuses = "access_denied"
	})
	out, _ = call(t, session, "execute_tool", invoices)
	wantIn(t, "execute_tool", fmt.Sprint(out), "server billing needs a login again: tooldex auth login billing")
	wantIn(t, "status", said(t, s, 0, "status"), "needs login", "needs a login again")
	wantIn(t, "auth status", said(t, s, 0, "auth", "status"), "needs a login", "tooldex auth login billing")
}

// A machine gets its token of the issuer that the API's configuration names,
// and another one when that runs out.
func TestMachineAtAPI(t *testing.T) {
	x := loginstest.New(t)
	s := billing(t, x, object{"type": "client_credentials", "client_id": "machine", "client_secret": "s3cret-of-machine", "scopes": []string{"invoices"}})
	said(t, s, 0, "reindex")
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, s)}, "2025-06-18")
	x.Set(func() { x.Lasts = -1 }) // it has run out when it comes
	execute(t, session, "billing/list_invoices", object{})
	before := 0
	x.Set(func() { x.Lasts, before = 3600, len(x.Forms) })
	for range 2 {
		execute(t, session, "billing/list_invoices", object{})
	}
	x.Set(func() {
		if n := len(x.Forms) - before; n != 1 || before == 0 || x.Forms[before].Get("scope") != "invoices" {
			t.Errorf("asked for %d tokens more after %d: %v", n, before, x.Forms)
		}
	})
	wantIn(t, "auth status", said(t, s, 0, "auth", "status"), "by itself")
	wantIn(t, "auth login", said(t, s, 1, "auth", "login", "billing"), "log in at server billing: nobody logs in there: its auth.type is client_credentials")
}
