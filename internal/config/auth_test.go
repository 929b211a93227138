package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/auth"
)

// loadAuth reads a configuration.
func loadAuth(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tooldex.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{Path: path})
}

func TestAuth(t *testing.T) {
	c, err := loadAuth(t, `auth:
  tokens: {bot: {hash: "`+auth.HashToken("x")+`", teams: [platform]}}
  grants:
    - {teams: [platform], endpoints: ["*"], role: use}
    - {principals: ["local:ada"], role: admin}
`)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Auth
	if !a.Enabled || len(a.Tokens) != 1 || len(a.Grants) != 2 || a.Grants[0].Role != auth.Use || a.Grants[1].Role != auth.Admin {
		t.Errorf("read %+v", a)
	}
	if none, err := loadAuth(t, "listen: 127.0.0.1:7420\n"); err != nil || none.Auth.Enabled {
		t.Errorf("without the section: %+v, %v", none, err)
	}
	if empty, err := loadAuth(t, "auth: {}\n"); err != nil || !empty.Auth.Enabled {
		t.Errorf("an empty section lets everybody in: %v", err)
	}
}

func TestAuthMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"auth: {tokens: {bot: {hash: abc}}}":                                  `auth.tokens.bot.hash: a token's hash is "sha256:"`,
		"auth: {tokens: {\"a b\": {hash: abc}}}":                              "a token's name",
		"auth: {grants: [{anyone: true, endpoints: [default], role: owner}]}": `"owner" is none of discover, use, admin`,
		"auth: {grant: []}":                                                   `did you mean "grants"`,
		"auth: {}\nphrases: {learn: on}":                                      "phrases.learn: on",
	} {
		if _, err := loadAuth(t, text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %s", text, err, want)
		}
	}
}

// A server that is called with a token in place of its caller's is disabled
// while no caller has one.
func TestTokenExchangeNeedsCallers(t *testing.T) {
	const text = `
mcpServers:
  mine: {url: "https://x.example/mcp", auth: {type: token_exchange, issuer: "https://id.example", client_id: a, client_secret: b}}
  other: {url: "https://y.example/mcp"}
rest:
  billing: {openapi: x.yaml, base_url: "https://b.example", auth: {type: token_exchange, issuer: "https://id.example", client_id: a, client_secret: b}}
`
	c, err := loadAuth(t, text)
	if err != nil || len(c.Servers) != 1 || len(c.Disabled) != 2 || c.Disabled[0].Name != "billing" || !strings.Contains(c.Disabled[1].Reason, "set auth.oauth") {
		t.Errorf("without callers: %+v, %v", c, err)
	}
	c, err = loadAuth(t, text+"auth: {oauth: {issuer: \"https://id.example\"}}\n")
	if err != nil || len(c.Servers) != 3 || len(c.Disabled) != 0 {
		t.Errorf("with callers: %+v, %v", c, err)
	}
}
