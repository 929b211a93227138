package manage

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tooldex/tooldex/internal/app"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

// The document in the repository is the one that is served.
func TestDocumentIsCurrent(t *testing.T) {
	f := newFixture(t)
	var text bytes.Buffer
	if err := json.Indent(&text, []byte(f.send("GET", "/openapi.json", nil).text), "", "  "); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, text.Bytes()) {
		t.Errorf("%s is not what is served (%v); write it with go test ./internal/manage -update", path, err)
	}
}

// operations are those of the document, as "GET /servers/{name} 404", with the
// statuses that they are said to have.
func operations(t *testing.T, document string) map[string]bool {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for path, item := range doc.Paths {
		for method, raw := range item {
			var op struct{ Responses map[string]any }
			if method == "parameters" || json.Unmarshal(raw, &op) != nil {
				continue
			}
			for status := range op.Responses {
				out[strings.ToUpper(method)+" "+path+" "+status] = true
			}
		}
	}
	return out
}

// pathOf is the document's path of a request's.
func pathOf(path string) string {
	return regexp.MustCompile(`^/(servers|upstreams)/[^/]+`).ReplaceAllString(path, "/$1/{name}")
}

const documentURL = "https://tooldex.example/openapi.json"

// compiler finds the schemas of the document, which are JSON Schema 2020-12 as
// OpenAPI 3.1 has them.
func compiler(t *testing.T, document string) *jsonschema.Compiler {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(documentURL, doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// checkBody holds an answer to the schema of its status and type.
func checkBody(t *testing.T, c *jsonschema.Compiler, r *http.Request, res *http.Response) {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) == 0 && res.StatusCode == http.StatusNoContent {
		return
	}
	escaped := func(s string) string {
		return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
	}
	at := fmt.Sprintf("%s#/paths/%s/%s/responses/%d/content/%s/schema", documentURL, escaped(pathOf(r.URL.Path)), strings.ToLower(r.Method), res.StatusCode, escaped(res.Header.Get("Content-Type")))
	schema, err := c.Compile(at)
	if err != nil {
		t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(body)
	}
	if err != nil {
		t.Errorf("%s %s: %v\n%s", r.Method, r.URL, err, text)
	}
}

// Every operation of the document answers, every status that it names occurs
// and no other does, and every body is what its schema says.
func TestDocumentIsKept(t *testing.T) {
	f := newFixture(t)
	document := f.send("GET", "/openapi.json", nil).text
	schemas := compiler(t, document)
	said, seen := operations(t, document), map[string]bool{}
	f.check = func(r *http.Request, res *http.Response) {
		op := fmt.Sprint(r.Method, " ", pathOf(r.URL.Path), " ", res.StatusCode)
		seen[op] = true
		if !said[op] {
			t.Errorf("the document does not have %s", op)
			return
		}
		checkBody(t, schemas, r, res)
	}
	exercise(f)
	online := newOnline(t)
	online.check = f.check
	online.ask("POST", "/upstreams/numbers/reindex", "")
	online.ask("GET", "/upstreams", "")
	online.ask("GET", "/status", "")
	for _, op := range slices.Sorted(maps.Keys(said)) {
		if !seen[op] && !strings.HasSuffix(op, " 500") { // which nothing is known to lead to
			t.Errorf("nothing made it answer %s", op)
		}
	}
}

// exercise asks for everything, in every way that can go wrong.
func exercise(f *fixture) {
	long := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, path := range []string{"/servers", "/servers/ops", "/servers/ops/tools", "/upstreams", "/tools", "/status"} {
		f.send("GET", path, nil)
	}
	for _, path := range []string{"/servers", "/scopes/preview", "/upstreams/files/reindex", "/search"} {
		f.send("POST", path, nil)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		f.send(method, "/servers/ops", nil)
	}
	for _, path := range []string{"/servers", "/servers/ops", "/servers/default", "/servers/nobody", "/servers/ops/tools?hidden=true&page=1&page_size=2", "/servers/nobody/tools", "/servers/ops/tools?x=1",
		"/upstreams", "/tools", "/tools?tag=finance&include_schemas=true&sort_by=execution_count", "/tools?page=9", "/tools?page=x", "/status", "/openapi.json"} {
		f.ask("GET", path, "")
	}
	made := f.ask("POST", "/servers", us7)
	for _, body := range []string{us7, `{"name":"x","y":1}`, `{`, long} {
		f.ask("POST", "/servers", body)
	}
	at := "/servers/finance-ai-tools"
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		f.ask(method, "/servers/ops", "{}", "If-Match", "*")
		f.ask(method, "/servers/nobody", "{}", "If-Match", "*")
		f.ask(method, at, "{}")
		f.ask(method, at, "{}", "If-Match", `"old"`)
	}
	for _, method := range []string{"PUT", "PATCH"} {
		for _, body := range []string{`{"y":1}`, `{`, long, `{"scope":["production",{"exclude_tags":["x"]}]}`} {
			f.ask(method, at, body, "If-Match", "*")
		}
	}
	f.ask("GET", at, "")
	f.ask("GET", made.header.Get("Location")+"/tools", "")
	f.ask("DELETE", at, "", "If-Match", "*")
	for _, body := range []string{`{"scope":"production"}`, `{"scope":"gone"}`, `{`, long} {
		f.ask("POST", "/scopes/preview?hidden=true", body)
	}
	for _, body := range []string{`{"query":"ledger","explain":true,"endpoint":"ops"}`, `{"query":"read a file"}`, `{"query":"x","endpoint":"nobody"}`, `{"q":"x"}`, `{`, long} {
		f.ask("POST", "/search", body)
	}
	f.ask("POST", "/upstreams/files/reindex", "")
	f.ask("POST", "/upstreams/nobody/reindex", "")
	f.broken("late")
	f.ask("GET", "/servers/late/tools", "")
	f.ask("POST", "/search", `{"query":"x","endpoint":"late"}`)
	f.ask("GET", "/servers", "")
}

// Whatever key a definition may have, the document has, and no other.
func TestDocumentHasEveryKey(t *testing.T) {
	f := newFixture(t)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ ReadOnly bool }
			}
		}
	}
	if err := json.Unmarshal([]byte(f.send("GET", "/openapi.json", nil).text), &doc); err != nil {
		t.Fatal(err)
	}
	for body, schema := range map[string]string{`{%s}`: "Definition", `{"scope":{%s}}`: "Rule", `{"meta_config":{%s}}`: "MetaConfig"} {
		_, err := app.Managed{Engine: f.e}.Define("x", fmt.Appendf(nil, body, `"qqqqqqqqqqqqqqqqqqqq":1`))
		if err == nil {
			t.Fatal("an unknown key is accepted")
		}
		_, list, _ := strings.Cut(err.Error(), "known are ")
		known := strings.Split(list, ", ")
		slices.Sort(known)
		var said []string
		for key, p := range doc.Components.Schemas[schema].Properties {
			if !p.ReadOnly {
				said = append(said, key)
			}
		}
		if slices.Sort(said); !slices.Equal(said, known) {
			t.Errorf("%s has %v in the document, and %v", schema, said, known)
		}
	}
}
