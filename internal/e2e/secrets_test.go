package e2e

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/auth"
)

// as makes a request with a token and returns what is answered.
func as(t *testing.T, token, method, url, tool string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_tool","arguments":{"tool_name":%q,"arguments":{}},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool)
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute_tool",
	} {
		r.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(res.StatusCode, " ", string(text))
}

// folderText is all that the files of a folder hold.
func folderText(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// No secret is in what a gateway logs, keeps, counts, shows or answers, though
// a server repeats those it is sent.
func TestSecretsStayInside(t *testing.T) {
	token := auth.NewSecret()
	const header, file, bearer = "of-the-header-8Jd2kq", "of-the-file-Zp41mv", "eyJhbGciOiJub25lIn0.b2YtdGhlLWJlYXJlcg.c2ln"
	repeats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "denied for "+r.Header.Get("X-Header")+" and "+r.Header.Get("X-File"), http.StatusUnauthorized)
	}))
	t.Cleanup(repeats.Close)
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	headers := object{"X-Header": header, "X-File": "${file:" + path + "}"}
	s := configureWith(t, object{
		"books": object{"url": mcpServer(t, "ledger"), "headers": headers, "start": "eager"},
		"gone":  object{"url": repeats.URL, "headers": headers, "start": "eager"},
	}, object{
		"audit": object{"enabled": true, "required": true, "arguments": true},
		"auth":  object{"tokens": object{"ops": object{"hash": auth.HashToken(token)}}, "grants": []object{{"principals": []string{"token:ops"}, "role": "admin"}}},
	})
	addr := freeAddress(t)
	log := start(t, nil, tooldex(t), "serve", "--config", s.config, "--listen", addr, "--log.level", "debug")
	url := "http://" + addr
	waitHTTP(t, url+"/readyz", is200)
	if out, err := command(t, s, "reindex"); !strings.Contains(out, "[masked]") { // a server of two fails
		t.Fatal(out, err)
	}

	replies := map[string]string{"good": as(t, token, "POST", url+"/mcp", "books/ledger"), "failing": as(t, token, "POST", url+"/mcp", "gone/ledger"),
		"unknown": as(t, token, "POST", url+"/mcp", "books/none"), "rejected": as(t, bearer, "POST", url+"/mcp?access_token="+bearer, "books/ledger"),
		"metrics": as(t, token, "GET", url+"/metrics", ""), "API": as(t, token, "GET", url+"/status", "")}
	for name, want := range map[string]string{"good": "ran ledger", "failing": "[masked]", "unknown": "there is no tool", "rejected": "401", "metrics": "tooldex_", "API": "[masked]"} {
		if !strings.Contains(replies[name], want) {
			t.Errorf("%s: %s, want %s", name, replies[name], want)
		}
	}
	for _, name := range []string{"status --json", "doctor", "audit --json"} {
		replies[name], _ = command(t, s, strings.Fields(name)...) // a server that fails is doctor's error
	}
	replies["log"], replies["state folder"] = log.String(), folderText(t, s.state)
	without(t, replies, token, header, file, bearer)
}

// without asserts that none of the secrets is in one of the texts.
func without(t *testing.T, texts map[string]string, secrets ...string) {
	t.Helper()
	for name, text := range texts {
		for _, secret := range secrets {
			if text == "" || strings.Contains(text, secret) {
				t.Errorf("%s has %q: %s", name, secret, text)
			}
		}
	}
}
