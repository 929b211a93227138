// Package tooldex holds the rules of its house as a test: what may import
// what, one package comment each, and the sizes of functions, files and
// interfaces.
package tooldex

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tooldex/tooldex"

// arrows say which of our packages a package may import, by path prefix; ""
// is the package's own subpackages, "x/." the package x without those below it.
// A package that no entry names may import none of ours.
var arrows = map[string][]string{
	"index":               {"index"},
	"index/analysis":      {},
	"index/atomicfile":    {},
	"index/bm25":          {},
	"index/flat":          {},
	"index/group":         {},
	"index/hnsw":          {"index/atomicfile", "index/flat", "index/rank", "index/vector"},
	"index/pack":          {"index/phrase"},
	"index/rank":          {},
	"index/store":         {"index/atomicfile"},
	"index/tool":          {},
	"index/usage":         {"index/store"},
	"index/vector":        {"index/rank"},
	"index/catalog":       {"index/bm25", "index/derived", "index/folder", "index/phrase", "index/snapshot", "index/store", "index/tool", "index/usage"},
	"index/check":         {"index/derived", "index/hnsw", "index/store"},
	"index/spaces":        {"index/derived", "index/folder", "index/hnsw", "index/snapshot", "index/store", "index/tool", "index/vector"},
	"index/derived":       {"index/atomicfile", "index/bm25", "index/flat", "index/snapshot", "index/store", "index/tool", "index/vector"},
	"index/folder":        {"index/store"},
	"index/phrase":        {"index/analysis"},
	"index/snapshot":      {"index/analysis", "index/bm25", "index/group", "index/hnsw", "index/phrase", "index/rank", "index/tool", "index/vector"},
	"embed":               {"embed"},
	"gateway":             {"gateway/arguments", "gateway/audit", "gateway/limit", "gateway/rawjson", "gateway/upstream/.", "gateway/view", "gateway/words", "index"},
	"gateway/audit":       {"index/atomicfile"},
	"gateway/auth":        {"gateway/auth/.", "gateway/auth/oauth", "gateway/view", "index"},
	"gateway/arguments":   {"gateway/rawjson", "gateway/words", "index"},
	"gateway/rawjson":     {},
	"gateway/gatewaytest": {"gateway/.", "gateway/rawjson", "gateway/surface/.", "gateway/upstream/.", "gateway/view", "index"},
	"gateway/limit":       {},
	"gateway/learn":       {"gateway/.", "index"},
	"gateway/native":      {"gateway/.", "gateway/rawjson", "gateway/surface/.", "gateway/view", "gateway/words", "index"},
	"gateway/serve":       {"gateway/.", "gateway/auth/.", "gateway/native", "gateway/rawjson", "gateway/serve/heap", "gateway/serve/turnstile", "gateway/surface", "gateway/telemetry", "gateway/upstream/.", "gateway/view", "gateway/words", "index"},
	"gateway/telemetry":   {"gateway/rawjson", "gateway/upstream/.", "gateway/upstream/mask", "gateway/upstream/secret", "index"},
	"gateway/surface":     {"gateway/.", "gateway/rawjson", "gateway/surface", "gateway/view", "gateway/words", "index"},
	"gateway/upstream":    {"gateway/upstream/.", "gateway/upstream/login/dpop", "gateway/upstream/mask", "gateway/upstream/queue", "gateway/upstream/rest/web", "gateway/upstream/secret"},
	"gateway/view":        {"index"},
	"gateway/words":       {},
	"eval":                {"eval", "index", "embed"},
	"examples":            {"index", "embed"},
	"benchmarks":          {"benchmarks", "index", "embed", "gateway", "internal/sample"},
	"internal/app":        {"index", "embed", "gateway", "internal/app/access", "internal/attach", "internal/backup", "internal/chat", "internal/config", "internal/enrich", "internal/filewatch", "internal/keep", "internal/logins"},
	"internal/attach":     {},
	"internal/keep":       {"index/atomicfile"},
	"internal/logins":     {"gateway/upstream/.", "gateway/upstream/login", "gateway/upstream/mask", "gateway/upstream/secret", "internal/config", "internal/keep"},
	"internal/backup":     {"index"},
	"internal/certs":      {},
	"internal/filewatch":  {},
	"internal/chat":       {"embed/endpoint"},
	"internal/config":     {"gateway/auth", "gateway/limit", "gateway/upstream/login", "gateway/upstream/mcp", "gateway/upstream/rest", "gateway/upstream/secret", "gateway/view", "internal/settings"},
	"internal/clients":    {"internal/settings"},
	"internal/settings":   {"index/atomicfile"},
	"internal/sample":     {},
	"internal/enrich":     {"index/analysis", "index/phrase"},
	"internal/makepack":   {"index/pack", "index/phrase"},
	"internal/e2e/prism":  {"index", "gateway"},
	"internal/e2e":        {"index", "embed", "gateway", "internal"},
	"cmd/tooldex":         {"cmd/tooldex/internal"},

	"cmd/tooldex/internal/term":       {},
	"cmd/tooldex/internal/cli":        {"cmd/tooldex/internal/term", "index", "embed", "gateway", "eval/metric", "internal"},
	"cmd/tooldex/internal/searchcmd":  {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "index", "embed", "gateway", "internal"},
	"cmd/tooldex/internal/phrasecmd":  {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "index", "embed", "internal/app", "internal/enrich"},
	"cmd/tooldex/internal/servercmd":  {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "cmd/tooldex/internal/restcmd", "index", "embed", "gateway", "internal"},
	"cmd/tooldex/internal/auditcmd":   {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "gateway/audit", "internal/app", "internal/config"},
	"cmd/tooldex/internal/clientcmd":  {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "cmd/tooldex/internal/restcmd", "gateway/upstream/rest", "internal"},
	"cmd/tooldex/internal/restcmd":    {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "gateway/upstream/rest"},
	"cmd/tooldex/internal/evalcmd":    {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "index", "eval", "internal/app"},
	"cmd/tooldex/internal/authcmd":    {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "gateway/auth/.", "gateway/view", "internal/app", "internal/config", "internal/keep", "internal/logins"},
	"cmd/tooldex/internal/backupcmd":  {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "internal/backup"},
	"cmd/tooldex/internal/gatewaycmd": {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/searchcmd", "cmd/tooldex/internal/term", "index", "gateway", "internal"},

	"embed/static":    {},
	"embed/ollama":    {"embed"},
	"embed/openai":    {"embed"},
	"embed/embedtest": {},

	"gateway/upstream/login/dpop": {},

	"gateway/upstream/mcp":          {"gateway/rawjson", "gateway/upstream/.", "gateway/upstream/login", "gateway/upstream/mask", "gateway/upstream/mcp/remote", "gateway/upstream/mcp/stdio", "gateway/upstream/mcp/wire", "gateway/upstream/queue", "gateway/upstream/secret", "gateway/upstream/supervise"},
	"gateway/upstream/mcp/sessions": {"gateway/upstream/.", "gateway/upstream/login", "gateway/upstream/mcp/.", "gateway/upstream/queue"},
	"gateway/upstream/mcp/remote":   {"gateway/upstream/.", "gateway/upstream/login/dpop", "gateway/upstream/mcp/wire"},
	"gateway/upstream/mcp/stdio":    {"gateway/upstream/.", "gateway/upstream/mcp/wire"},
	"gateway/upstream/mcp/wire":     {"gateway/rawjson", "gateway/upstream/.", "gateway/upstream/mask"},

	"gateway/upstream/rest":            {"gateway/rawjson", "gateway/upstream/.", "gateway/upstream/login", "gateway/upstream/login/dpop", "gateway/upstream/mask", "gateway/upstream/queue", "gateway/upstream/rest", "gateway/upstream/secret", "gateway/upstream/supervise"},
	"gateway/upstream/rest/openapi":    {"gateway/rawjson"},
	"gateway/upstream/rest/web":        {},
	"gateway/admin/stored":             {"index/atomicfile"},
	"gateway/admin":                    {"gateway/.", "gateway/admin/stored", "gateway/audit", "gateway/rawjson", "gateway/surface", "gateway/upstream/.", "gateway/view", "gateway/words", "index"},
	"internal/manage":                  {"gateway", "internal/app", "internal/config"},
	"cmd/tooldex/internal/endpointcmd": {"cmd/tooldex/internal/cli", "cmd/tooldex/internal/term", "gateway/admin", "internal"},
}

// foreign are libraries that only some packages may import: the search engine
// and the embedders know nothing of MCP, flags or HTTP handlers.
var foreign = map[string][]string{
	"github.com/modelcontextprotocol/go-sdk": {"gateway/auth/httpauth", "gateway/serve", "gateway/upstream/login", "gateway/upstream/mcp", "internal/sample", "internal/e2e", "benchmarks", "cmd"},
	"github.com/spf13/cobra":                 {"cmd"},
	"github.com/spf13/viper":                 {"internal/config", "cmd"},
	"github.com/coder/hnsw":                  {"benchmarks/rivals"},
	"github.com/philippgille/chromem-go":     {"benchmarks/rivals"},
	"github.com/blevesearch/bleve":           {"benchmarks/rivals"},
	"modernc.org/sqlite":                     {"benchmarks/rivals"},
}

// A source is one parsed Go file of the module.
type source struct {
	path string // slash-separated, from the module's root
	file *ast.File
	fset *token.FileSet
}

func (s source) pkg() string { return path.Dir(s.path) }
func (s source) test() bool  { return strings.HasSuffix(s.path, "_test.go") }
func (s source) lines() int  { return s.fset.Position(s.file.FileEnd).Line }
func (s source) span(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// sources parses every Go file, in path order.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		out = append(out, source{path: filepath.ToSlash(p), file: f, fset: fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found %d Go files; is this the module's root?", len(out))
	}
	return out
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				checkArrow(t, s, ours)
			}
			for lib, allowed := range foreign {
				if under(imported, lib) && !slices.ContainsFunc(allowed, func(a string) bool { return under(s.pkg(), a) }) {
					t.Errorf("%s imports %s, which belongs to %v", s.path, imported, allowed)
				}
			}
		}
	}
}

// checkArrow reports an import against the arrows. Tests may also import what
// they test and the shared suites.
func checkArrow(t *testing.T, s source, imported string) {
	t.Helper()
	room := s.pkg()
	for room != "." && arrows[room] == nil {
		room = path.Dir(room)
	}
	allowed := arrows[room]
	if s.test() {
		allowed = append(slices.Clone(allowed), s.pkg(), "embed/embedtest", "gateway/gatewaytest", "gateway/upstream", "internal/sample", "internal/logins/loginstest")
	}
	parent := under(s.pkg(), imported) && s.pkg() != imported
	if parent && !s.test() && !slices.ContainsFunc(arrows[room], func(a string) bool { return strings.TrimSuffix(a, "/.") == imported }) {
		t.Errorf("%s imports its parent %s", s.path, imported)
	}
	if !slices.ContainsFunc(allowed, func(a string) bool { return points(a, imported) }) {
		t.Errorf("%s imports %s; %s may import %v", s.path, imported, room, allowed)
	}
}

// points says that an arrow leads to a package.
func points(arrow, imported string) bool {
	if alone, ok := strings.CutSuffix(arrow, "/."); ok {
		return imported == alone
	}
	return under(imported, arrow)
}

func under(p, prefix string) bool { return p == prefix || strings.HasPrefix(p, prefix+"/") }

func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() && s.pkg() != "." {
			continue
		}
		if s.file.Doc == nil {
			comments[s.pkg()] = append(comments[s.pkg()], "")
			continue
		}
		comments[s.pkg()] = append(comments[s.pkg()], s.path)
	}
	for pkg, files := range comments {
		files = slices.DeleteFunc(files, func(f string) bool { return f == "" })
		if len(files) != 1 {
			t.Errorf("package %s has %d package comments %v, want 1", pkg, len(files), files)
		}
	}
}

func TestSizes(t *testing.T) {
	var lengths []int
	for _, s := range sources(t) {
		if n := s.lines(); n > 500 {
			t.Errorf("%s has %d lines, want at most 500", s.path, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := s.span(f)
			if n > 100 {
				t.Errorf("%s: %s has %d lines, want at most 100", s.path, f.Name.Name, n)
			}
			if p := f.Type.Params.NumFields(); p > 5 {
				t.Errorf("%s: %s has %d parameters; use an options struct", s.path, f.Name.Name, p)
			}
			if !s.test() {
				lengths = append(lengths, n)
			}
		}
	}
	slices.Sort(lengths)
	median, ninth := lengths[len(lengths)/2], lengths[len(lengths)*9/10]
	t.Logf("%d functions: median %d lines, nine in ten within %d", len(lengths), median, ninth)
	if median > 12 || ninth > 40 {
		t.Errorf("functions: median %d lines (want at most 12), nine in ten within %d (want at most 40)", median, ninth)
	}
}

func TestInterfaces(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > 3 && !s.test() {
				t.Errorf("%s:%d: an interface of %d methods, want at most 3", s.path, s.fset.Position(i.Pos()).Line, i.Methods.NumFields())
			}
			return true
		})
	}
}

// The commit, not the code, speaks of when and where it was written.
func TestWords(t *testing.T) {
	banned := []string{"TODO", "FIXME", "XXX", "not implemented", "unimplemented"}
	for _, s := range sources(t) {
		if s.path == "house_test.go" {
			continue
		}
		for _, g := range s.file.Comments {
			for _, w := range banned {
				if strings.Contains(g.Text(), w) {
					t.Errorf("%s:%d: comment with %q", s.path, s.fset.Position(g.Pos()).Line, w)
				}
			}
		}
	}
}
