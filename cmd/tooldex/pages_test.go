package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A page is what its commands need to be typed.
type page struct {
	files   map[string]string // of the home folder, in which they are typed
	own     bool              // the page's first YAML is the configuration
	instead []string          // of what the page has, what there is here
	env     []string
	before  string            // typed first
	serves  []string          // runs meanwhile
	answers string            // what it answers once it serves
	not     map[string]string // commands that are not typed, and why
	varies  map[string]string // commands that print something else here than the page shows, and why
}

const (
	named = "named, rather than shown"
	runs  = "serves until it is ended: TestScripts"
)

// pages are those that have commands. Those of docs/decisions tell how a figure
// was measured, on sets that are not here.
var pages = map[string]page{
	"docs/README.md": {instead: []string{"COMMAND", "search"}},
	"docs/auth.md":   {files: map[string]string{config: twoServers + `auth: {grants: [{principals: ["token:ci-bot"], endpoints: ["*"], role: discover}]}`}, before: "tooldex reindex"},
	"docs/clients.md": {
		files:   map[string]string{".cursor/mcp.json": `{"mcpServers": {"github": {"command": "npx", "args": ["-y", "server-github"]}, "web": {"url": "https://example.com/mcp"}}}`},
		instead: []string{"/home/ann/bin/tooldex", "${TOOLDEX}", "/home/ann", "${HOME}"},
		not:     map[string]string{"tooldex serve": runs, "tooldex serve --stdio": runs},
	},
	"docs/configuration.md": {
		files: map[string]string{config: twoServers}, before: "tooldex reindex",
		instead: []string{"NAME -- COMMAND…", "time -- tooldex sample-server --group time"},
	},
	"docs/credentials.md": {
		files: map[string]string{config: twoServers}, before: "tooldex reindex",
		not: map[string]string{
			"tooldex add notion https://mcp.notion.com/mcp": "needs a server that asks for a login: internal/logins",
			"tooldex auth login notion":                     "needs a browser: internal/logins",
			"tooldex auth logout notion":                    "needs a login: internal/logins",
			"tooldex auth login":                            named,
		},
	},
	"docs/evaluating.md": {
		files: map[string]string{
			config:                twoServers,
			"asked/queries.jsonl": `{"id":"1","text":"count the words of a text"}` + "\n" + `{"id":"2","text":"book a flight to Rome"}` + "\n",
			"asked/qrels.tsv":     "1\ttext/count_text\t1\n",
		},
		not: map[string]string{
			"tooldex eval ablate a b c":                                           tuning,
			"tooldex eval tune a b c --out params.json":                           tuning,
			"tooldex eval calibrate a b c --params params.json --out params.json": tuning,
		},
	},
	"docs/operating.md": {
		own:     true,
		instead: []string{"/var/lib/tooldex", "${HOME}/state", "/var/backups", "${HOME}"},
		not: map[string]string{
			"tooldex audit --follow --event denied":                 "waits for more until it is ended",
			"tooldex restore /var/backups/tooldex.backup --replace": "shows what it says while one serves: TestBackup",
		},
		varies: map[string]string{
			"tooldex audit":                              "nobody called meanwhile",
			"tooldex audit verify":                       "one process wrote each file, at another time",
			"tooldex backup /var/backups/tooldex.backup": "the folder has other files",
		},
	},
	"docs/phrases.md": {
		files: map[string]string{config: twoServers}, before: "tooldex reindex",
		instead: []string{
			" [SERVER[/TOOL]]…", " text/count_text --dry-run", "--all --max-tools 50", "--all --max-tools 50 --dry-run", // there is no chat model here
			" [TOOL] [--source S]", " text/count_text --source import", " [TOOL|--all] [--source S]", " text/count_text --source import",
			" TOOL ", " text/count_text ", " …", "",
		},
		not: map[string]string{
			"tooldex phrases add": named, "tooldex phrases import": named, "tooldex search --explain": named, "tooldex tools show": named,
		},
	},
	"docs/rest.md": {
		instead: []string{"tooldex add billing", "tooldex remove billing && tooldex add billing"},
		files: map[string]string{config: twoServers, "billing.yaml": `openapi: 3.1.0
info: {title: Billing, version: "1"}
servers: [{url: "https://api.example.com/v1"}]
paths:
  /invoices:
    get: {operationId: listInvoices, summary: List invoices, tags: [invoices], responses: {"200": {description: all}}}
`},
	},
	"docs/surfaces.md": {not: map[string]string{"tooldex demo": "waits until it is ended: TestDocumentedDemo"}},
	"docs/virtual-servers.md": {
		files: map[string]string{config: twoServers}, before: "tooldex reindex",
		not: map[string]string{
			"tooldex serve --stdio --server NAME":                                                            runs,
			"tooldex servers preview --template production --include-tags writing":                           served,
			"tooldex servers create writing --template production --include-tags writing --surface discover": served,
			"tooldex servers edit writing --surface meta":                                                    served,
			"tooldex servers list": served,
		},
	},
	"examples/README.md":       {not: map[string]string{"tooldex serve": runs}},
	"examples/agent/README.md": {not: map[string]string{"tooldex serve": runs, "tooldex serve &": runs}},
	"examples/openapi/README.md": {
		files:  map[string]string{config: twoServers},
		not:    map[string]string{"tooldex serve &": "the test starts it at an address that is free"},
		serves: []string{"serve", "--listen", "${ADDR}"}, answers: "/readyz",
		env: []string{"TOOLDEX_API=http://${ADDR}", "KEY_FILE=${HOME}/state/admin.key", "TOOLDEX_CONFIG=${PROJECT}/examples/openapi/tooldex.yaml", "TOOLDEX_STATE=${HOME}/tooldex-openapi"},
	},
	"examples/rest-api/README.md": {
		before: `cp "$PROJECT"/examples/rest-api/*.yaml .`,
		not:    map[string]string{"tooldex sample-server --rest 127.0.0.1:7422 &": "the test starts it at an address that is free"},
		serves: []string{"sample-server", "--rest", "${ADDR}"}, answers: "/openapi.yaml",
		env: []string{"DESK_URL=http://${ADDR}"},
	},
}

const (
	served     = "goes through a tooldex that serves: internal/e2e, TestAPIDialogues"
	tuning     = "takes long: testdata/script/eval_tuning.txt"
	config     = "tooldex.yaml" // of the home folder
	twoServers = `mcpServers:
  text: {command: tooldex, args: [sample-server, --group, text]}
  numbers: {command: tooldex, args: [sample-server, --group, numbers]}
`
)

// TestDocumentedPages types what the other pages say, each in its order and in
// a home folder of its own.
func TestDocumentedPages(t *testing.T) {
	for _, dir := range []string{"docs/*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(project(t), dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(project(t), path)
			if err != nil {
				t.Fatal(err)
			}
			shown := lines(string(text))
			p, known := pages[filepath.ToSlash(name)]
			if known != (len(shown) > 0) {
				t.Errorf("%s has %d commands and an entry of pages: %t; pages says what a page with commands needs, and has no others", name, len(shown), known)
			}
			if known {
				t.Run(name, func(t *testing.T) { p.typed(t, string(text), shown) })
			}
		}
	}
}

func (p *page) typed(t *testing.T, text string, shown []typed) {
	r := p.reader(t, text)
	for except := range p.not {
		if !slices.ContainsFunc(shown, func(s typed) bool { return s.line == except }) {
			t.Errorf("the page has no command %s any more, which is said not to be typed", except)
		}
	}
	for except := range p.varies {
		if !slices.ContainsFunc(shown, func(s typed) bool { return s.line == except && s.shown != "" }) {
			t.Errorf("the page has no output of %s any more, which is said to vary", except)
		}
	}
	for _, s := range shown {
		if p.not[s.line] != "" {
			continue
		}
		out, err := r.enter(s.line)
		if err != nil {
			t.Errorf("%s\n%s%v", s.line, out, err)
		} else if line := missing(out, r.replace.Replace(s.shown)); line != "" && p.varies[s.line] == "" {
			t.Errorf("%s prints\n%sand not, in its place, %s", s.line, out, line)
		}
	}
}

// reader is somebody who has what the page needs.
func (p *page) reader(t *testing.T, text string) *reader {
	r := newReader(t)
	tooldex, err := exec.LookPath("tooldex")
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]string{"HOME": r.home, "PROJECT": project(t), "TOOLDEX": tooldex, "ADDR": unused(t)}
	expand := func(s string) string { return os.Expand(s, func(name string) string { return here[name] }) }
	instead := make([]string, len(p.instead))
	for i, s := range p.instead {
		instead[i] = expand(s)
	}
	r.replace = strings.NewReplacer(instead...)
	for path, text := range p.files {
		r.put(path, text)
	}
	if p.own {
		r.put(config, firstYAML.FindStringSubmatch(text)[1])
	}
	if p.own || p.files[config] != "" {
		r.env = []string{"TOOLDEX_CONFIG=" + filepath.Join(r.home, config), "TOOLDEX_STATE=" + filepath.Join(r.home, "state")}
	}
	p.prepare(r, expand, here)
	return r
}

// prepare does what comes before the page, and starts what runs meanwhile.
func (p *page) prepare(r *reader, expand func(string) string, here map[string]string) {
	if p.before != "" {
		r.env = append(r.env, "PROJECT="+here["PROJECT"])
		if out, err := r.enter(p.before); err != nil {
			r.Fatalf("%s %v", out, err)
		}
	}
	if len(p.serves) > 0 {
		args := make([]string, len(p.serves))
		for i, a := range p.serves {
			args[i] = expand(a)
		}
		r.background("http://"+here["ADDR"]+p.answers, args...)
	}
	for _, e := range p.env {
		r.env = append(r.env, expand(e))
	}
}

var firstYAML = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
