package index

import (
	"encoding/json"
	"fmt"
	"testing"
)

// rawTool is a tool object with string parameters.
func rawTool(name, description string, params ...string) json.RawMessage {
	props := map[string]any{}
	for _, p := range params {
		props[p] = map[string]any{"type": "string", "description": "the " + p}
	}
	raw, err := json.Marshal(map[string]any{
		"name": name, "description": description,
		"inputSchema": map[string]any{"type": "object", "properties": props},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// newIndex is an index in memory of the tools of each server.
func newIndex(t testing.TB, o Options, catalog map[string][]json.RawMessage) *Index {
	t.Helper()
	ix, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for server, list := range catalog {
		replace(t, ix, server, list...)
	}
	return ix
}

func replace(t testing.TB, ix *Index, server string, list ...json.RawMessage) Diff {
	t.Helper()
	var tools []Tool
	for _, raw := range list {
		tl, err := Decode(server, raw)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tl)
	}
	d, err := ix.Replace(t.Context(), server, tools)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func small(t testing.TB) *Index {
	return newIndex(t, Options{}, map[string][]json.RawMessage{
		"github": {
			rawTool("create_pull_request", "Open a new pull request in a repository", "owner", "repo", "title"),
			rawTool("list_issues", "List issues of a repository", "owner", "repo", "state"),
		},
		"files": {
			rawTool("read_file", "Read the contents of a file", "path"),
			rawTool("search", "Find files by name", "pattern"),
		},
	})
}

func names(hits []Hit) string {
	out := ""
	for _, h := range hits {
		out += fmt.Sprintf("%s ", h.Tool.QualifiedName())
	}
	return out
}

func TestSearchKeyword(t *testing.T) {
	ix := small(t)
	for q, want := range map[string]string{
		"open a pull request":        "github/create_pull_request ",
		"reading file contents":      "files/read_file files/search ",
		"search":                     "files/search ",
		"search the web for news":    "files/search ",
		"list_issues":                "github/list_issues ",
		"createPullRequest":          "github/create_pull_request ",
		"please use files/read_file": "files/read_file files/search ",
	} {
		res, err := ix.Search(t.Context(), Query{Text: q, Mode: Keyword})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(res.Hits); got != want {
			t.Errorf("%q: got %s, want %s", q, got, want)
		}
	}
}
