package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/gateway/upstream/mcp"
)

// write puts one configuration file into an empty folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, name, text string) (*Config, error) {
	t.Helper()
	return Load(Options{Path: write(t, name, text)})
}

const example = `
listen: 127.0.0.1:9000
mcpServers:
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "${HERE_DIR}"]
    env: {TOKEN: "${env:HERE_TOKEN}", LEVEL: "${HERE_LEVEL:-low}"}
    tags: [local]
    timeout: 5s
    tools:
      read_file: {phrases: [open a document], hidden: false}
      Write_File:
        description: Writes ${NOT_EXPANDED}
        examples: [{description: one, arguments: {path: a.txt, count: 2}}]
  Web:
    url: https://example.com/mcp
    type: streamableHttp
    headers: {Authorization: "Bearer ${HERE_TOKEN}"}
  off: {command: "${HERE_MISSING}", disabled: true}
`

func TestLoad(t *testing.T) {
	t.Setenv("HERE_DIR", "/data")
	t.Setenv("HERE_TOKEN", "secret")
	c, err := load(t, "tooldex.yaml", example)
	if err != nil {
		t.Fatal(err)
	}
	want := []Server{
		{Spec: mcp.Spec{Name: "Web", Type: "streamableHttp", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer secret"}, Variables: map[string]string{"HERE_TOKEN": "secret"}}},
		{
			Spec: mcp.Spec{
				Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/data"},
				Env: map[string]string{"TOKEN": "secret", "LEVEL": "low"}, Timeout: 5 * time.Second,
				Variables: map[string]string{"HERE_DIR": "/data", "HERE_TOKEN": "secret", "HERE_LEVEL": "low"},
			},
			Tags: []string{"local"},
			Tools: map[string]Tool{
				"read_file": {Hidden: new(bool), Phrases: []string{"open a document"}},
				"Write_File": {
					Description: "Writes ${NOT_EXPANDED}",
					Examples:    []Example{{Description: "one", Arguments: map[string]any{"path": "a.txt", "count": 2}}},
				},
			},
		},
	}
	if d := cmp.Diff(want, c.Servers); d != "" {
		t.Errorf("servers (-want +got):\n%s", d)
	}
	if c.Listen != "127.0.0.1:9000" || !cmp.Equal(c.Disabled, []Disabled{{Name: "off"}}) {
		t.Errorf("listen %q, disabled %q", c.Listen, c.Disabled)
	}
	if c.Execution.Timeout != 30*time.Second || c.Embedding.Provider != "builtin" || c.Meta.MaxSearchLimit != 50 {
		t.Errorf("defaults: %+v %+v %+v", c.Execution, c.Embedding, c.Meta)
	}
}

func TestLoadJSONWithComments(t *testing.T) {
	c, err := load(t, "mcp.json", "{\n\t// my servers\n\t\"mcpServers\": {\"a\": {\"command\": \"x\", \"autoApprove\": [\"y\"]}},\n}")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 1 || c.Servers[0].Spec.Command != "x" || !cmp.Equal(c.Foreign, []string{"mcpServers.a.autoApprove"}) {
		t.Errorf("got %+v, foreign %q", c.Servers, c.Foreign)
	}
}

// The example of the meta-server specification must load as it stands.
const specExample = `
meta_server:
  default: {enabled: true, name: "tool-discovery", hide_underlying_tools: true}
  scope_templates:
    production:
      include_tags: ["production", "stable"]
      exclude_tags: ["experimental", "deprecated", "internal"]
    internal: {include_visibility: ["internal", "team"], include_teams: ["platform-team"]}
    finance: {include_tags: ["finance"], include_servers: ["quickbooks"]}
  meta_config:
    enable_semantic_search: true
    enable_categories: true
    enable_similar_tools: false
    default_search_limit: 7
    max_search_limit: 50
    include_metrics_in_search: false
    embedding_model: "text-embedding-3-small"
  execution: {timeout_seconds: 20, retry_attempts: 1, log_all_executions: true, validate_arguments: false}
`

func TestLoadSpecExample(t *testing.T) {
	c, err := load(t, "tooldex.yaml", specExample)
	if err != nil {
		t.Fatal(err)
	}
	if c.Meta.DefaultSearchLimit != 7 || c.Meta.EnableSimilarTools || c.Execution.Timeout != 20*time.Second || c.Execution.ValidateArguments {
		t.Errorf("got %+v %+v", c.Meta, c.Execution)
	}
	if e := c.Embedding; e.Provider != "openai" || e.Model != "text-embedding-3-small" {
		t.Errorf("embedding is %+v", e)
	}
	if d := c.Default; !d.Enabled || d.Title != "tool-discovery" || d.Surface != "meta" || !d.HideUnderlyingTools || len(d.Rules) > 0 {
		t.Errorf("default endpoint is %+v", d)
	}
}

func TestOverride(t *testing.T) {
	t.Setenv("TOOLDEX_EMBEDDING_PROVIDER", "ollama")
	t.Setenv("TOOLDEX_LISTEN", "127.0.0.1:1")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("listen", "", "")
	if err := flags.Parse([]string{"--listen=127.0.0.1:2"}); err != nil {
		t.Fatal(err)
	}
	path := write(t, "tooldex.yaml", "embedding: {provider: none, headers: {X-Key: a}}\nlog: {level: warn}\n")
	c, err := Load(Options{Path: path, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:2" || c.Embedding.Provider != "ollama" || c.Log.Level != "warn" || c.Embedding.Headers["X-Key"] != "a" {
		t.Errorf("got listen %q, %+v, %+v", c.Listen, c.Embedding, c.Log)
	}
}

func TestLoadBadInput(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"far key", "frobnicate: 1", `line 1: unknown key "frobnicate"; known are listen, state`},
		{"servers a list", "mcpServers: [a]", "where a map of servers by name is expected"},
		{"duplicate server", "mcpServers:\n  a: {command: x}\n  a: {command: y}", `mapping key "a" already defined at line 2`},
		{"no time", "execution: {timeout_seconds: 0}", "execution.timeout_seconds: 0 is not above 0 and at most max_timeout_seconds, which is 300"},
		{"limit", "meta_config: {max_search_limit: 500}", "meta_config.max_search_limit: 500 is outside 1 to 50"},
		{"provider", "embedding: {provider: magic}", `embedding.provider: "magic" is none of builtin, ollama, openai, none`},
		{"twice", "execution: {retry_attempts: 1}\nmeta_server: {execution: {retry_attempts: 2}}", "line 2: meta_server.execution repeats execution"},
		{"not a map", "- a", "line 1: a configuration is a map of settings"},
		{"collector's scheme", "otel: {endpoint: \"grpc://collector:4317\"}", `otel.endpoint: "grpc://collector:4317" is no http or https address`},
		{"collector's path", "otel: {endpoint: \"http://c:4318/v1/traces\"}", "otel.endpoint: it is the base of a collector"},
		{"collector's credentials", "otel: {endpoint: \"http://me:pw@c:4318\"}", "otel.endpoint: credentials do not stand in the address"},
		{"no collector", "otel: {headers: {A: b}}", "otel.headers: there is no otel.endpoint to send them to"},
		{"bad yaml", "a: [", "line 1: did not find expected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, "tooldex.yaml", tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "tooldex.yaml") {
				t.Errorf("got %v, want one with %q", err, tt.want)
			}
		})
	}
}

// A mistake in one entry disables that server alone, with the reason.
func TestLoadDisablesOneServer(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "mcpServers:\n  a:\n    comand: x", `line 3: unknown key "comand"; did you mean "command"?`},
		{"wrong type", "mcpServers:\n  a:\n    command: x\n    args: y", "line 4: wrong type: the text `y` where a list of texts is expected"},
		{"empty command", "mcpServers:\n  a: {command: \"\"}", "command is empty and there is no url; give one of them"},
		{"both", "mcpServers:\n  a: {command: x, url: http://y/}", "command and url are both set"},
		{"missing variable", "mcpServers:\n  a:\n    command: ${NO_SUCH_VARIABLE}", "line 3: command: the environment variable NO_SUCH_VARIABLE is not set"},
		{"foreign reference", "mcpServers:\n  a: {command: \"${input:key}\"}", "${input:key} is no reference that tooldex knows"},
		{"bad url", "mcpServers:\n  a: {url: \"ftp://x\"}", `url: "ftp://x" is no http or https address`},
		{"bad start", "mcpServers:\n  a: {command: x, start: never}", `start: "never" is none of lazy, eager`},
		{"bad idle", "mcpServers:\n  a: {command: x, idle: 10}", `"10" is no duration`},
		{"bad type", "mcpServers:\n  a: {command: x, type: sse}", `type "sse" does not go with a command; use stdio`},
		{"bad name", "mcpServers:\n  a/b: {command: x}", "a server's name has 1 to 64 of"},
		{"bare duration", "mcpServers:\n  a: {command: x, timeout: 5}", `line 2: "5" is no duration; write one with its unit`},
		{"null", "mcpServers:\n  a:", "command is empty and there is no url"},
		{"a text", "mcpServers:\n  a: npx", "wrong type: the text `npx` where a server's settings are expected"},
		{"a list", "mcpServers:\n  a: [npx]", "wrong type: a list where a server's settings are expected"},
		{"twice", "mcpServers:\n  a: {command: x, command: y}", `"command" already defined`},
		{"bad header", "mcpServers:\n  a: {url: \"http://x/\", headers: {\"b d\": x}}", `bad header "b d"`},
		{"bad variable list", "mcpServers:\n  a: {command: x, inherit_env: some}", "line 2: inherit_env: want a list of variables' names, or all"},
		{"bad disabled", "mcpServers:\n  a: {command: x, disabled: maybe}", "where true or false is expected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text + "\n  good: {command: x}\n  off: {disabled: true, comand: \"${NO_SUCH_VARIABLE}\"}\n"
			c, err := load(t, "tooldex.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Servers) != 1 || c.Servers[0].Spec.Name != "good" || len(c.Disabled) != 2 || c.Disabled[1] != (Disabled{Name: "off"}) {
				t.Fatalf("got %+v, disabled %+v", c.Servers, c.Disabled)
			}
			bad := c.Disabled[0]
			if !strings.Contains(bad.Reason, tt.want) || strings.Contains(bad.Reason, "\n") || c.DisabledReason(bad.Name) != bad.Reason {
				t.Errorf("got %+v, want a reason with %q", bad, tt.want)
			}
		})
	}
}

func TestLoadEnvironment(t *testing.T) {
	c, err := load(t, "tooldex.yaml", `
inherit_env: [BOTH]
mcpServers:
  all: {command: x, inherit_env: all, start_timeout: 2m}
  default: {command: x}
  none: {command: x, inherit_env: []}
  own: {command: x, inherit_env: [A, B]}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, s := range c.Servers {
		got = append(got, s.Spec.InheritEnv)
	}
	if d := cmp.Diff([][]string{{"all"}, {"BOTH"}, {}, {"A", "B"}}, got); d != "" {
		t.Errorf("inherit_env (-want +got):\n%s", d)
	}
	if got := c.Servers[0].Spec.StartTimeout; got != 2*time.Minute {
		t.Errorf("start_timeout: %v", got)
	}
}

func TestLoadReportsEveryMistake(t *testing.T) {
	_, err := load(t, "tooldex.yaml", "log: {level: loud}\nembedding: {provider: magic}\n")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two lines", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TOOLDEX_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	user := filepath.Join(dir, "tooldex")
	if err := os.Mkdir(user, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("folder: %v", err)
	}
	if _, err := Find("missing.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	touch(t, names[0])
	if got, err := Find(""); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), user) {
		t.Errorf("working folder: got %q, %v", got, err)
	}
	if got := Unused(""); len(got) != 1 || filepath.Base(got[0]) != names[0] {
		t.Errorf("unused: %q", got)
	}
	touch(t, filepath.Join(user, names[1]))
	if got, err := Find(""); got != filepath.Join(user, names[1]) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	touch(t, filepath.Join(user, names[0]))
	if _, err := Find(""); err == nil || !strings.Contains(err.Error(), "two configurations: ") {
		t.Errorf("two: %v", err)
	}
	t.Chdir(user)
	if got := Unused(filepath.Join(user, names[0])); len(got) != 1 || filepath.Base(got[0]) != names[1] {
		t.Errorf("unused in the user's folder: %q", got)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add(specExample)
	f.Add("{\"mcpServers\": {}} // x")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := load(t, "tooldex.yaml", text); (c == nil) == (err == nil) {
			t.Errorf("got %v and %v; want one of them", c, err)
		}
	})
}
