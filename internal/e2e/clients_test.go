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

// A realClient is a client of an SDK of another language.
type realClient struct {
	name, version string // the version of the protocol that it speaks; "" for any
	command       []string
}

// realClients are the SDKs of TypeScript, of which the second negotiates the
// protocol era, and of Python.
func realClients(t *testing.T) []realClient {
	modules, python := need(t, "TOOLDEX_E2E_NPM"), need(t, "TOOLDEX_E2E_PYTHON")
	return []realClient{
		{"v1", "2025-11-25", []string{"node", install(t, modules, "client-v1.mjs"), ""}},
		{"v2 legacy", "2025-11-25", []string{"node", install(t, modules, "client-v2.mjs"), "legacy"}},
		{"v2 auto", "2026-07-28", []string{"node", install(t, modules, "client-v2.mjs"), "auto"}},
		{"python", "", []string{python, absolute(t, "testdata", "client.py")}},
	}
}

// realAnswers is what a client saw: the names of tools, and the first text of
// the answer to each call.
type realAnswers struct {
	Version        string
	Tools, Answers []string
}

// runs has the client list tools and make calls, each a name and arguments.
func (c realClient) runs(t *testing.T, target []string, calls ...[2]any) (got realAnswers) {
	t.Helper()
	t.Setenv("CALLS", toJSON(t, calls))
	out := output(t, c.command[0], slices.Concat(c.command[1:], target)...)
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Answers) != len(calls) {
		t.Fatalf("%v in %s", err, out)
	}
	if c.version != "" && got.Version != c.version {
		t.Errorf("it speaks %s, want %s", got.Version, c.version)
	}
	slices.Sort(got.Tools)
	return got
}

// over are the ways to a virtual server: a process of its own, and HTTP.
func over(t *testing.T, s setup, endpoint, name string) map[string][]string {
	return map[string][]string{
		"stdio": {tooldex(t), "serve", "--stdio", "--server", name, "--config", s.config}, "http": {strings.Replace(endpoint, "/mcp", "/servers/"+name+"/mcp", 1)},
	}
}

// TestRealSurfaces finds and runs a tool through every surface.
func TestRealSurfaces(t *testing.T) {
	clients := realClients(t)
	text := object{"text": "one two three"}
	count := object{"tool_name": "sample/count_text", "arguments": text}
	surfaces := map[string]struct {
		defined object
		tools   []string // all, in order; nil for many
		calls   [][2]any
	}{
		"meta": {object{}, metaTools, [][2]any{{"search_tools", object{"query": "count the words of a text"}}, {"execute_tool", count}}},
		"split": {
			object{"meta_config": object{"split_execute": true}},
			[]string{"describe_tool", "get_similar_tools", "get_tool_categories", "list_tools", "run_destructive_tool", "run_read_tool", "run_write_tool", "search_tools"},
			[][2]any{{"describe_tool", object{"tool_name": "sample/count_text"}}, {"run_destructive_tool", count}},
		},
		"discover": {object{"surface": "discover"}, []string{"discover_tools", "execute_tool", "get_tool_schema"}, [][2]any{
			{"discover_tools", object{"domain": "sample"}}, {"get_tool_schema", object{"tool_name": "count_text"}},
			{"execute_tool", object{"tool_name": "count_text", "arguments": text}},
		}},
		"toolbox": {object{"surface": "toolbox"}, []string{"open_toolbox", "use_tool"}, [][2]any{
			{"open_toolbox", object{"name": "sample"}}, {"use_tool", object{"tool": object{"toolbox": "sample", "server": "sample", "name": "count_text"}, "arguments": text}},
		}},
		"direct": {object{"surface": "direct"}, nil, [][2]any{{"sample__count_text", text}}},
	}
	defined := object{}
	for name, x := range surfaces {
		defined[name] = x.defined
	}
	s := configureWith(t, object{"sample": object{"command": tooldex(t), "args": []string{"sample-server", "--root", t.TempDir()}}}, object{"virtual_servers": defined})
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := serveHTTP(t, s)
	for name, x := range surfaces {
		for _, client := range clients {
			for way, target := range over(t, s, endpoint, name) {
				t.Run(name+"/"+client.name+"/"+way, func(t *testing.T) {
					got := client.runs(t, target, x.calls...)
					if x.tools != nil && !slices.Equal(got.Tools, x.tools) || x.tools == nil && !slices.Contains(got.Tools, "sample__count_text") {
						t.Errorf("it lists %v, want %v", got.Tools, x.tools)
					}
					last := len(got.Answers) - 1
					for _, answer := range got.Answers[:last] {
						if !strings.Contains(answer, "count_text") {
							t.Errorf("it finds %s", answer)
						}
					}
					if !strings.Contains(got.Answers[last], `"words":3`) {
						t.Errorf("the tool answers %s", got.Answers[last])
					}
				})
			}
		}
	}
}

// TestRealNative lists and calls tools themselves beside the meta-tools, some of
// which are not as the protocol has them.
func TestRealNative(t *testing.T) {
	clients := realClients(t)
	s := configureWith(t, object{
		"sample": object{"command": tooldex(t), "args": []string{"sample-server", "--root", t.TempDir()}},
		"odd":    object{"command": need(t, "TOOLDEX_E2E_PYTHON"), "args": []string{absolute(t, "testdata", "odd.py")}},
	}, object{"virtual_servers": object{"open": object{"hide_underlying_tools": false}}})
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := serveHTTP(t, s)
	for _, client := range clients {
		for way, target := range over(t, s, endpoint, "open") {
			t.Run(client.name+"/"+way, func(t *testing.T) {
				got := client.runs(t, target, [2]any{"sample__count_text", object{"text": "one two three"}})
				for _, name := range []string{"search_tools", "sample__count_text", "odd__null_schema", "odd__no_schema", "odd__odd_members", "odd__odd_hints", "odd__lists"} {
					if !slices.Contains(got.Tools, name) {
						t.Errorf("%s is not among %v", name, got.Tools)
					}
				}
				if !strings.Contains(got.Answers[0], `"words":3`) {
					t.Errorf("the call gave %s", got.Answers[0])
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
