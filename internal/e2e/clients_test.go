package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var metaTools = []string{"describe_tool", "execute_tool", "get_similar_tools", "get_tool_categories", "list_tools", "search_tools"}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// output runs a client to its end and returns what it printed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// sampleSetup is a configuration with the sample server alone.
func sampleSetup(t *testing.T) setup {
	t.Helper()
	return configure(t, object{"sample": object{"command": tooldex(t), "args": []string{"sample-server", "--root", t.TempDir()}}})
}

func TestRealInspector(t *testing.T) {
	cli := npm(t, "inspector/cli/build/cli.js")
	s := sampleSetup(t)
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := serveHTTP(t, s)
	for name, target := range map[string][]string{
		"stdio": {"-e", "TOOLDEX_CONFIG=" + s.config, tooldex(t), "serve", "--stdio"}, // the inspector has a --config of its own
		"http":  {endpoint, "--transport", "http"},
	} {
		t.Run(name, func(t *testing.T) {
			inspect := func(args ...string) string {
				return output(t, "node", append(append([]string{cli, "--cli"}, target...), args...)...)
			}
			var list struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal([]byte(inspect("--method", "tools/list")), &list); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if slices.Sort(names); !slices.Equal(names, metaTools) {
				t.Errorf("tools/list gave %q, want %q", names, metaTools)
			}
			got := inspect("--method", "tools/call", "--tool-name", "search_tools", "--tool-arg", "query=count the words of a text")
			if !strings.Contains(got, "sample/") {
				t.Errorf("search_tools gave %s", got)
			}
		})
	}
}

// TestRealTypeScript runs the TypeScript SDKs: the first version, and the
// second, which negotiates the protocol era.
func TestRealTypeScript(t *testing.T) {
	modules := need(t, "TOOLDEX_E2E_NPM")
	s := sampleSetup(t)
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := serveHTTP(t, s)
	for _, tt := range []struct{ script, mode, version string }{
		{"client-v1.mjs", "", "2025-11-25"},
		{"client-v2.mjs", "legacy", "2025-11-25"},
		{"client-v2.mjs", "auto", "2026-07-28"},
	} {
		script := install(t, modules, tt.script)
		for name, target := range map[string][]string{
			"stdio": {tooldex(t), "serve", "--stdio", "--config", s.config},
			"http":  {endpoint},
		} {
			t.Run(tt.script+"/"+tt.mode+"/"+name, func(t *testing.T) {
				out := output(t, "node", append([]string{script, tt.mode}, target...)...)
				var got struct {
					Version string
					Tools   []string
					Found   string
					Result  string
				}
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("%v in %s", err, out)
				}
				slices.Sort(got.Tools)
				if got.Version != tt.version || !slices.Equal(got.Tools, metaTools) || !strings.HasPrefix(got.Found, "sample/") || !strings.Contains(got.Result, `"result"`) {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// TestRealNative lists and calls tools themselves, some of which are not as
// the protocol has them, through the SDKs of TypeScript and Python.
func TestRealNative(t *testing.T) {
	modules, python := need(t, "TOOLDEX_E2E_NPM"), need(t, "TOOLDEX_E2E_PYTHON")
	s := configureWith(t, object{
		"sample": object{"command": tooldex(t), "args": []string{"sample-server", "--root", t.TempDir()}},
		"odd":    object{"command": python, "args": []string{absolute(t, "testdata", "odd.py")}},
	}, object{"virtual_servers": object{"open": object{"hide_underlying_tools": false}}})
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := strings.Replace(serveHTTP(t, s), "/mcp", "/servers/open/mcp", 1)
	for name, client := range map[string][]string{
		"v1": {"node", install(t, modules, "client-v1.mjs"), ""}, "v2 legacy": {"node", install(t, modules, "client-v2.mjs"), "legacy"},
		"v2 auto": {"node", install(t, modules, "client-v2.mjs"), "auto"}, "python": {python, absolute(t, "testdata", "client.py")},
	} {
		for over, target := range map[string][]string{
			"stdio": {tooldex(t), "serve", "--stdio", "--server", "open", "--config", s.config}, "http": {endpoint},
		} {
			t.Run(name+"/"+over, func(t *testing.T) {
				var got struct {
					Tools  []string
					Direct string
				}
				out := output(t, client[0], slices.Concat(client[1:], target)...)
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("%v in %s", err, out)
				}
				for _, name := range []string{"search_tools", "sample__count_text", "odd__null_schema", "odd__no_schema", "odd__odd_members", "odd__odd_hints", "odd__lists"} {
					if !slices.Contains(got.Tools, name) {
						t.Errorf("%s is not among %v", name, got.Tools)
					}
				}
				if !strings.Contains(got.Direct, `"words":3`) {
					t.Errorf("the call gave %s", got.Direct)
				}
			})
		}
	}
}

// absolute is the path of a file of this folder.
func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// install copies a script beside the installed packages, where node finds
// what it imports.
func install(t *testing.T, modules, script string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(modules), script)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
