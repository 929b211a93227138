// Package gatewaytest has a small catalog for the tests of the gateway and of
// the packages over it.
package gatewaytest

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// Catalog is what three servers list, in the order of their names.
var Catalog = map[string][]string{
	"analytics": {
		`{"name":"csv_analyzer","title":"CSV Analyzer","description":"Analyze CSV files and generate statistical insights. Works on files up to 1 GB.","inputSchema":{"type":"object","properties":{"file_url":{"type":"string","description":"URL to the CSV file"},"columns":{"type":"array","items":{"type":"string"}},"output_format":{"type":"string","enum":["json","markdown"]}},"required":["file_url"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"mean":{"type":"number"}}},"annotations":{"readOnlyHint":true,"vendorHint":12345678901234567890},"_meta":{"category":"Data Processing","tags":["data","csv"],"examples":[{"description":"Analyze sales","arguments":{"file_url":"https://example.com/sales.csv"}}]}}`,
		`{"name":"chart_generator","description":"Draw a chart from a table of numbers.","inputSchema":{"type":"object","properties":{"rows":{"type":"array"}}},"_meta":{"category":"Data Processing","tags":["data"]}}`,
		`{"name":"remote_schema","description":"Tool whose schema refers elsewhere.","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/schema.json"}}}}`,
	},
	"files": {
		`{"name":"read_file","description":"Read a text file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"_meta":{"category":"File Operations","tags":["fs"]}}`,
		`{"name":"write_file","description":"Write text to a file.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]},"_meta":{"category":"File Operations","tags":["fs"]}}`,
		`{"name":"search","description":"Search for files by name.","inputSchema":{"type":"object","properties":{"pattern":{"type":"string"}}},"_meta":{"category":"File Operations"}}`,
	},
	"github": {
		`{"name":"create_issue","description":"Open a new issue in a repository.","inputSchema":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"]},"annotations":{"idempotentHint":true},"_meta":{"category":"Code"}}`,
		`{"name":"list_pull_requests","description":"List the pull requests of a repository.","inputSchema":{"type":"object","properties":{"state":{"enum":["open","closed"]}}},"_meta":{"category":"Code"}}`,
		`{"name":"search","description":"Search code, issues and repositories.","inputSchema":null}`,
	},
	"vault": {
		`{"name":"read_secret","description":"Read a secret from the vault.","inputSchema":{"type":"object"},"_meta":{"category":"Secrets","tags":["secret"]}}`,
	},
}

// View hides the server vault.
var View = view.View{Scope: index.NewScope(func(t *index.Tool) bool { return t.Server != "vault" })}

// Open opens an index in memory until the test ends.
func Open(t testing.TB) *index.Index {
	t.Helper()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return ix
}

// Fill stores the Catalog in g.
func Fill(t testing.TB, g *gateway.Gateway) {
	t.Helper()
	Store(t, g, Catalog)
}

// Store stores what servers list in g.
func Store(t testing.TB, g *gateway.Gateway, catalog map[string][]string) {
	t.Helper()
	for _, server := range slices.Sorted(maps.Keys(catalog)) {
		var l upstream.Listing
		for _, raw := range catalog[server] {
			l.Tools = append(l.Tools, json.RawMessage(raw))
		}
		diff, err := g.Sync(t.Context(), server, l)
		if err != nil {
			t.Fatal(err)
		}
		if len(diff.Added) != len(l.Tools) {
			t.Fatalf("added %v of %d tools of %s: %v", diff.Added, len(l.Tools), server, diff.Warnings)
		}
	}
}

// RealCatalog are the tools of the files SERVER.json in the folder that
// TOOLDEX_CATALOG names, by server;
// without one the test is skipped.
func RealCatalog(t testing.TB) map[string][]string {
	t.Helper()
	folder := os.Getenv("TOOLDEX_CATALOG")
	if folder == "" {
		t.Skip("TOOLDEX_CATALOG names no folder of catalogs")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogs in %s: %v", folder, err)
	}
	out := map[string][]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(data, &l); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, raw := range l.Tools {
			server := strings.TrimSuffix(filepath.Base(file), ".json")
			out[server] = append(out[server], string(raw))
		}
	}
	return out
}

// Tokens counts as cl100k does.
func Tokens(t testing.TB, text string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Budget checks that the definitions and the instructions of a surface take no
// more tokens than every client is to pay for them.
func Budget(t testing.TB, s surface.Surface, tools, instructions int) {
	t.Helper()
	total := 0
	for _, d := range s.Tools() {
		b, err := rawjson.Marshal(struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			InputSchema any    `json:"inputSchema"`
		}{d.Name, d.Description, d.Schema})
		if err != nil {
			t.Fatal(err)
		}
		n := Tokens(t, string(b))
		t.Logf("%4d  %s", n, d.Name)
		total += n
	}
	n := Tokens(t, s.Instructions())
	t.Logf("%4d  in all, instructions %d", total, n)
	if total > tools {
		t.Errorf("the schemas take %d tokens, want at most %d", total, tools)
	}
	if n > instructions {
		t.Errorf("the instructions take %d tokens, want at most %d", n, instructions)
	}
}

// A Caller is a [gateway.Caller] of one function.
type Caller func(ctx context.Context, r upstream.Request) (upstream.Result, error)

// Call implements [gateway.Caller].
func (f Caller) Call(ctx context.Context, r upstream.Request) (upstream.Result, error) {
	return f(ctx, r)
}

// Done is a Caller whose tools all say "done".
var Done = Caller(func(context.Context, upstream.Request) (upstream.Result, error) {
	return upstream.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), Protocol: gateway.StatelessEra, Sent: true}, nil
})

// An Answerer answers meta-tools.
type Answerer interface {
	Call(ctx context.Context, tool string, args json.RawMessage) *surface.Answer
}

// Ask calls a meta-tool and decodes its object.
func Ask(t testing.TB, c Answerer, tool, args string) map[string]any {
	t.Helper()
	a := c.Call(t.Context(), tool, json.RawMessage(args))
	if a.IsError {
		t.Fatalf("%s %s: %s", tool, args, a.JSON)
	}
	var out map[string]any
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Fail calls a meta-tool that must answer with an error, and returns its
// object.
func Fail(t testing.TB, c Answerer, tool, args string) (msg, hint string) {
	t.Helper()
	a := c.Call(t.Context(), tool, json.RawMessage(args))
	var out struct{ Error, Hint string }
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatalf("%s: %v", a.JSON, err)
	}
	if !a.IsError || out.Error == "" {
		t.Fatalf("%s %s gave %s, want an error", tool, args, a.JSON)
	}
	return out.Error, out.Hint
}
