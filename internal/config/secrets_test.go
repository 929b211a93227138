package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// References to secrets stay as they are; where they may not stand, or are
// written wrong, they disable the one server.
func TestSecretReferences(t *testing.T) {
	t.Setenv("HIDES_A_COMMAND", "${cmd:id}")
	const text = `
allow_commands: %
mcpServers:
  good:
    url: "https://x.example/mcp?key=${file:keys/one}"
    headers: {Authorization: "Bearer ${keyring:tracker/me}", X-B: "${file:/run/secrets/b}"}
  command: {command: x, env: {K: "${cmd:print-token --for x}"}}
  program: {command: "${file:/x}"}
  item: {command: x, args: ["${keyring:me}"]}
  hidden: {command: x, env: {K: "${HIDES_A_COMMAND}"}}
rest:
  api: {openapi: x.yaml, auth: {bearer: "${file:token}"}}
  base: {openapi: x.yaml, base_url: "https://${file:/x}"}
`
	for _, allowed := range []string{"false", "true"} {
		c, err := load(t, "t.yaml", strings.Replace(text, "%", allowed, 1))
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(c.Path)
		for _, s := range c.Servers {
			switch {
			case s.REST != nil:
				if want := "${file:" + filepath.Join(folder, "token") + "}"; s.REST.Auth.Bearer.Text != want {
					t.Errorf("got %s, want %s", s.REST.Auth.Bearer.Text, want)
				}
			case s.Spec.Name == "good":
				b := "/run/secrets/b"
				if !filepath.IsAbs(b) { // it lacks a drive
					b = filepath.Join(folder, b)
				}
				if want := "https://x.example/mcp?key=${file:" + filepath.Join(folder, "keys", "one") + "}"; s.Spec.URL != want || s.Spec.Headers["X-B"] != "${file:"+b+"}" {
					t.Errorf("got %+v, want %s", s.Spec, want)
				}
			case s.Spec.Env["K"] != "${cmd:print-token --for x}":
				t.Errorf("got %+v", s.Spec)
			}
		}
		want := map[string]string{
			"program": "stands for a secret, which only args, env, url, headers and auth may have", "item": "names no item of the keyring",
			"hidden": "HIDES_A_COMMAND refers to a secret itself", "base": "stands for a secret",
			"command": "allow_commands: true at the top",
		}
		if allowed == "true" {
			delete(want, "command")
		}
		if len(c.Disabled) != len(want) {
			t.Errorf("disabled are %+v", c.Disabled)
		}
		for name, reason := range want {
			if got := c.DisabledReason(name); !strings.Contains(got, reason) {
				t.Errorf("%s: got %q, want %q", name, got, reason)
			}
		}
	}
}
