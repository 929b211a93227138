package manage

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/admin/stored"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/sample"
)

const configuration = `
state: %q
mcpServers:
  quickbooks-server:
    command: "true"
    tags: [finance, production]
    visibility: team
    teams: [finance-team]
    tools: {finance_draft: {tags: [experimental]}, finance_ledger: {effect: read}}
  reporting-server: {command: "true", tags: [accounting]}
  files: {command: "true", tags: [production]}
meta_server:
  scope_templates: {production: {include_tags: [production], exclude_tags: [experimental]}}
virtual_servers:
  ops: {surface: discover, scope: production}
`

// tools are what each server lists.
var tools = map[string][]string{
	"quickbooks-server": {"finance_ledger", "finance_draft", "admin_reset"},
	"reporting-server":  {"report_sales"},
	"files":             {"read_file", "write_file"},
}

// us7 is the body of S4's US-7, word for word.
//
//go:embed testdata/us7.json
var us7 string

// A fixture is the API of an engine that runs no servers, over their tools.
type fixture struct {
	t      *testing.T
	e      *app.Engine
	web    *httptest.Server
	key    string
	config string
	state  string
	check  func(*http.Request, *http.Response) // of every answer; nil checks nothing
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := open(t, configuration, app.Options{Writing: true})
	for server, names := range tools {
		var l upstream.Listing
		for _, name := range names {
			l.Tools = append(l.Tools, fmt.Appendf(nil, `{"name":%q,"description":"The tool %s of %s","inputSchema":{"type":"object"}}`, name, name, server))
		}
		if _, err := f.e.Gateway.Sync(t.Context(), server, l); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// newOnline is the API of an engine that runs one server.
func newOnline(t *testing.T) *fixture {
	t.Helper()
	s, err := sample.New(sample.Options{Groups: []string{"numbers"}, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { web.Close(); s.Close() })
	f := open(t, "state: %q\nmcpServers: {numbers: {url: "+web.URL+"/mcp}}\n", app.Options{Online: true})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- f.e.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

func open(t *testing.T, text string, o app.Options) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, config: filepath.Join(dir, "tooldex.yaml"), state: filepath.Join(dir, "state")}
	if err := os.WriteFile(f.config, fmt.Appendf(nil, text, f.state), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Path: f.config, Surfaces: serve.Surfaces()})
	if err != nil {
		t.Fatal(err)
	}
	if f.e, err = app.Open(cfg, o); err != nil {
		t.Fatal(err)
	}
	h, key, err := API(f.e, Options{Version: "test", URL: func() string { return "http://127.0.0.1:7420" }})
	if err != nil {
		t.Fatal(err)
	}
	f.key, f.web = key, httptest.NewServer(h)
	t.Cleanup(func() {
		f.web.Close()
		if err := f.e.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// An answer is one of the API.
type answer struct {
	status int
	header http.Header
	text   string
	object map[string]any
}

// ask sends a request; headers are pairs of a name and a value.
func (f *fixture) ask(method, path, body string, headers ...string) answer {
	f.t.Helper()
	return f.send(method, path, strings.NewReader(body), append([]string{"Authorization", "Bearer " + f.key}, headers...)...)
}

func (f *fixture) send(method, path string, body io.Reader, headers ...string) answer {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.web.URL+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.check != nil {
		res.Body = io.NopCloser(strings.NewReader(string(text)))
		f.check(r, res)
	}
	a := answer{status: res.StatusCode, header: res.Header, text: string(text)}
	if len(text) > 0 && json.Unmarshal(text, &a.object) != nil {
		f.t.Errorf("%s %s answers what is no object: %s", method, path, text)
	}
	return a
}

// wants asserts a status and texts of an answer.
func (f *fixture) wants(a answer, status int, texts ...string) answer {
	f.t.Helper()
	if a.status != status {
		f.t.Errorf("status %d, want %d: %s", a.status, status, a.text)
	}
	if want := map[bool]string{true: "application/problem+json", false: "application/json"}[status >= 400]; a.text != "" && a.header.Get("Content-Type") != want {
		f.t.Errorf("sent as %s, want %s: %s", a.header.Get("Content-Type"), want, a.text)
	}
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			f.t.Errorf("answered %s\nwithout %s", a.text, text)
		}
	}
	return a
}

func TestUS7(t *testing.T) {
	f := newFixture(t)
	made := f.wants(f.ask("POST", "/servers", us7), 201, `"mcp_url":"http://127.0.0.1:7420/servers/finance-ai-tools/mcp"`)
	if made.header.Get("Location") != "/servers/finance-ai-tools" || made.header.Get("ETag") == "" {
		t.Errorf("headers are %v", made.header)
	}
	var sent map[string]any
	if err := json.Unmarshal([]byte(us7), &sent); err != nil {
		t.Fatal(err)
	}
	for key, value := range sent { // every key comes back as it was sent
		if got, want := fmt.Sprint(made.object[key]), fmt.Sprint(value); got != want {
			t.Errorf("%s came back as %s, want %s", key, got, want)
		}
	}
	if made.object["tools"] != 2.0 || made.object["source"] != "api" {
		t.Errorf("made %s", made.text)
	}
	shown := f.wants(f.ask("GET", "/servers/finance-ai-tools/tools?hidden=true", ""), 200, `"hidden_total":4`,
		`{"qualified_name":"quickbooks-server/finance_draft","taken_by":"scope.exclude_tags"}`,
		`{"qualified_name":"quickbooks-server/admin_reset","taken_by":"scope.name_patterns"}`,
		`{"qualified_name":"files/read_file","taken_by":"scope.include_servers"}`)
	if list := fmt.Sprint(shown.object["tools"]); !strings.Contains(list, "finance_ledger") || !strings.Contains(list, "report_sales") || shown.object["total"] != 2.0 {
		t.Errorf("it shows %s", shown.text)
	}
	got := f.wants(f.ask("GET", made.header.Get("Location"), ""), 200)
	if got.text != made.text || got.header.Get("ETag") != made.header.Get("ETag") {
		t.Errorf("shown as\n%s %s, made as\n%s %s", got.text, got.header.Get("ETag"), made.text, made.header.Get("ETag"))
	}
	f.wants(f.ask("GET", "/servers", ""), 200, `"name":"default"`, `"name":"ops"`, `"name":"finance-ai-tools"`)
}

func TestNamesThatAreTaken(t *testing.T) {
	f := newFixture(t)
	f.wants(f.ask("POST", "/servers", `{"name":"mine"}`), 201)
	f.wants(f.ask("POST", "/servers", `{"name":"mine"}`), 409, "the name mine is taken", "PUT or PATCH /servers/mine")
	f.wants(f.ask("POST", "/servers", `{"name":"ops"}`), 409, "the name ops is taken", f.config)
	f.wants(f.ask("POST", "/servers", `{"name":"default"}`), 409, "the name default is taken", f.config)
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		f.wants(f.ask(method, "/servers/ops", `{"surface":"meta"}`, "If-Match", "*"), 409, "virtual server ops is of the configuration "+f.config)
		f.wants(f.ask(method, "/servers/mime", `{}`, "If-Match", "*"), 404, `there is no virtual server \"mime\"; did you mean \"mine\"?`)
	}
}

func TestBadBodies(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"name":"a","scope":{"include_tag":["x"]}}`, 422, `virtual server a: unknown key \"scope.include_tag\"; did you mean \"include_tags\"?`},
		{`{"name":"a","scopes":{},"hide":true}`, 422, `"errors":["unknown key \"hide\"`},
		{`{"name":"a","scope":"prodution"}`, 422, `scope: there is no scope template \"prodution\"; did you mean \"production\"?`},
		{`{"name":"a","scope":[{"name_patterns":["("]}]}`, 422, "scope[0].name_patterns[0]: error parsing regexp"},
		{`{"name":"a","surface":"metta"}`, 422, `did you mean \"meta\"?`},
		{`{"name":"a","meta_config":{"default_search_limit":51}}`, 422, "meta_config.default_search_limit: 51 is outside 1 to 50"},
		{`{"name":"a","type":"proxy"}`, 422, `type: \"proxy\" is not served`},
		{`{"name":"a","enabled":"maybe"}`, 422, "where true or false is expected"},
		{`{"name":"..","scope":{}}`, 422, "is not . or .."},
		{`{"name":"a/b"}`, 422, "a virtual server's name has 1 to 64"},
		{`{"name":"` + strings.Repeat("x", 65) + `"}`, 422, "a virtual server's name has 1 to 64"},
		{`{"name":7}`, 422, "name: it is missing or no text"},
		{`{}`, 422, "name: it is missing or no text"},
		{`[]`, 400, "the body is of type array"},
		{`null`, 400, "the body is null"},
		{"{\n\"name\": }", 400, "line 2: invalid character"},
		{``, 400, "the body is empty"},
		{`{"name":"a","x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "more than 1 MB"},
		{strings.Repeat(`{"scope":`, 20000), 400, "exceeded max depth"},
	} {
		f.wants(f.ask("POST", "/servers", tt.body), tt.status, tt.want, `"next":"`)
	}
	if entries, err := stored.In(f.state).All(); len(entries) > 0 || err != nil {
		t.Errorf("kept %v, %v", entries, err)
	}
	f.wants(f.ask("GET", "/servers?verbose=1", ""), 400, `unknown parameter \"verbose\"`)
	f.wants(f.ask("GET", "/tools?serve=x", ""), 400, `did you mean \"server\"?`)
	f.wants(f.ask("GET", "/tools?page=0", ""), 400, "page is a whole number from 1")
	f.wants(f.ask("GET", "/servers/ops/tools?hidden=yes", ""), 400, "hidden is true or false")
	f.wants(f.ask("GET", "/nothing", ""), 404, "there is no /nothing")
	if a := f.wants(f.ask("DELETE", "/servers", ""), 405, "/servers takes no DELETE"); a.header.Get("Allow") != "GET, POST" {
		t.Errorf("allowed are %s", a.header.Get("Allow"))
	}
}

// Of two writers that know the same version one is told so, and nothing of the
// other's is lost.
func TestVersions(t *testing.T) {
	f := newFixture(t)
	first := f.ask("POST", "/servers", `{"name":"a","scope":{"include_tags":["finance"]},"meta_config":{"default_search_limit":5}}`).header.Get("ETag")
	f.wants(f.ask("PATCH", "/servers/a", `{"surface":"discover"}`), 428, "send If-Match")
	second := f.wants(f.ask("PATCH", "/servers/a", `{"surface":"discover","meta_config":{"default_search_limit":null,"max_search_limit":20}}`, "If-Match", first), 200,
		`"surface":"discover"`, `"meta_config":{"max_search_limit":20}`, `"include_tags":["finance"]`).header.Get("ETag")
	f.wants(f.ask("PUT", "/servers/a", `{}`, "If-Match", first), 412, "virtual server a has changed meanwhile")
	f.wants(f.ask("PATCH", "/servers/a", `{"readonly":true}`, "If-Match", first), 412)
	f.wants(f.ask("DELETE", "/servers/a", "", "If-Match", first), 412)
	f.wants(f.ask("PATCH", "/servers/a", `{"scope":{"include_tagz":[]}}`, "If-Match", second), 422)
	f.wants(f.ask("PATCH", "/servers/a", `{"name":"b"}`, "If-Match", second), 422, "a virtual server keeps its name")
	// A reply that is sent back, changed, is a definition.
	back := f.wants(f.ask("PUT", "/servers/a", strings.Replace(f.ask("GET", "/servers/a", "").text, `"readonly":false`, `"readonly":true`, 1), "If-Match", second), 200, `"readonly":true`, `"max_search_limit":20`)
	f.wants(f.ask("PUT", "/servers/a", `{"name":"a"}`, "If-Match", `"x", `+back.header.Get("ETag")), 200, `"surface":"meta"`, `"readonly":false`)
	f.wants(f.ask("DELETE", "/servers/a", "", "If-Match", "*"), 204)
	f.wants(f.ask("GET", "/servers/a", ""), 404)
}

// A file that is damaged, or whose template is gone, concerns one virtual
// server alone, which is not served and says why.
func TestWhatCannotBeServed(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"good", "bad"} {
		f.wants(f.ask("POST", "/servers", `{"name":"`+name+`"}`), 201)
	}
	folder := stored.In(f.state)
	bad, err := folder.Get("bad")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad.File, []byte(`{"format":1,"endpo`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.broken("Late")
	f.wants(f.ask("GET", "/servers", ""), 200, `file `+bad.File+`: it is damaged`, `there is no scope template \"gone\"`)
	f.wants(f.ask("GET", "/servers/good/tools", ""), 200, `"total":6`)
	f.wants(f.ask("GET", "/servers/Late", ""), 200, `"enabled":false`, `"tools":0`)
	f.wants(f.ask("GET", "/servers/Late/tools", ""), 409, "virtual server Late is not served")
	f.wants(f.ask("POST", "/search", `{"query":"x","endpoint":"Late"}`), 409)
	f.wants(f.ask("PATCH", "/servers/bad", `{}`, "If-Match", "*"), 409, "replace it with PUT, or delete it")
	f.wants(f.ask("PUT", "/servers/bad", `{}`, "If-Match", f.ask("GET", "/servers/bad", "").header.Get("ETag")), 200, `"tools":6`)
}

func TestKeyIsNeeded(t *testing.T) {
	f := newFixture(t)
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x" + f.key, "Basic " + f.key, f.key, "Bearer " + f.key[:len(f.key)-1]} {
		for _, path := range []string{"/servers", "/nothing", "/status"} {
			a := f.wants(f.send("GET", path, nil, "Authorization", header), 401, "admin.key")
			if strings.Contains(a.text, f.key) || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("answered %s with %v", a.text, a.header)
			}
		}
	}
	if _, err := stored.In(f.state).Get("x"); err == nil {
		t.Error("made without a key")
	}
	again, key, err := API(f.e, Options{URL: func() string { return "" }})
	if err != nil || key != f.key || again == nil {
		t.Errorf("another process has key %q, %v", key, err)
	}
}

// broken makes a virtual server whose template is gone.
func (f *fixture) broken(name string) {
	f.t.Helper()
	if _, err := stored.In(f.state).Create(name, json.RawMessage(`{"scope":"gone"}`)); err != nil {
		f.t.Fatal(err)
	}
}
