package tooldex

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Limits of the house.
const (
	maxMethods = 30   // of a type
	maxCode    = 2500 // lines of a package that are neither blank nor comment
	maxGuarded = 5    // fields of one mutex
)

// Those who are beyond a limit. An entry that is not needed fails the test,
// so that the lists only get shorter.
var (
	tooManyMethods = names{}
	tooMuchCode    = names{}
	tooManyGuarded = names{}
	sleeping       = names{
		"cmd/tooldex/main_test.go":             "looks until a child listens",
		"cmd/tooldex/serve_test.go":            "looks until a child listens",
		"embed/endpoint/batch_test.go":         "in a bubble that a helper opens",
		"embed/endpoint/driver_test.go":        "in a bubble that a helper opens",
		"internal/e2e/harness_test.go":         "looks until a child answers",
		"internal/e2e/reembed_test.go":         "looks until a child answers",
		"internal/e2e/serve_embedders_test.go": "looks until a child answers",
	}
)

// direct are the modules that go.mod may require by itself, with what each is
// for: a new one is a decision.
var direct = names{
	"github.com/adrg/xdg":                                               "the user's folders on every system",
	"github.com/agnivade/levenshtein":                                   "did you mean",
	"github.com/bits-and-blooms/bitset":                                 "sets of documents",
	"github.com/blevesearch/bleve/v2":                                   "rival in benchmarks",
	"github.com/blevesearch/snowballstem":                               "Porter2",
	"github.com/cenkalti/backoff/v5":                                    "retries",
	"github.com/coder/hnsw":                                             "rival in benchmarks",
	"github.com/dustin/go-humanize":                                     "sizes and times for people",
	"github.com/coreos/go-oidc/v3":                                      "tokens of OpenID providers",
	"github.com/fsnotify/fsnotify":                                      "the configuration changed",
	"github.com/go-jose/go-jose/v4":                                     "signatures and keys of tokens",
	"github.com/go-viper/mapstructure/v2":                               "configuration into structs",
	"github.com/gofrs/flock":                                            "locks between processes",
	"github.com/google/go-cmp":                                          "tests",
	"github.com/google/jsonschema-go":                                   "the SDK's schema type",
	"github.com/hashicorp/golang-lru/v2":                                "bounded caches",
	"github.com/jedib0t/go-pretty/v6":                                   "tables on a terminal",
	"github.com/mattn/go-isatty":                                        "is it a terminal",
	"github.com/modelcontextprotocol/go-sdk":                            "MCP",
	"github.com/ollama/ollama":                                          "its API's client",
	"github.com/pelletier/go-toml/v2":                                   "Codex's configuration",
	"github.com/philippgille/chromem-go":                                "rival in benchmarks",
	"github.com/prometheus/client_golang":                               "metrics",
	"github.com/rogpeppe/go-internal":                                   "script tests, renames on Windows",
	"github.com/santhosh-tekuri/jsonschema/v6":                          "validation of arguments",
	"github.com/schollz/progressbar/v3":                                 "bars",
	"github.com/spf13/cobra":                                            "commands",
	"github.com/spf13/pflag":                                            "flags",
	"github.com/spf13/viper":                                            "configuration",
	"github.com/tailscale/hujson":                                       "JSON with comments",
	"github.com/tiktoken-go/tokenizer":                                  "counts tokens in tests",
	"github.com/zalando/go-keyring":                                     "the system's keyring",
	"go.etcd.io/bbolt":                                                  "the store",
	"go.opentelemetry.io/contrib/bridges/prometheus":                    "metrics to a collector",
	"go.opentelemetry.io/otel":                                          "traces and metrics to a collector",
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp": "by OTLP",
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp":   "by OTLP",
	"go.opentelemetry.io/otel/metric":                                   "as above",
	"go.opentelemetry.io/otel/sdk":                                      "as above",
	"go.opentelemetry.io/otel/sdk/metric":                               "as above",
	"go.opentelemetry.io/otel/trace":                                    "as above",
	"go.opentelemetry.io/proto/otlp":                                    "OTLP in tests",
	"google.golang.org/protobuf":                                        "OTLP in tests",
	"go.uber.org/goleak":                                                "tests",
	"go.yaml.in/yaml/v3":                                                "YAML with key case kept",
	"golang.org/x/net":                                                  "what a header may hold",
	"golang.org/x/oauth2":                                               "tokens by client credentials",
	"golang.org/x/sync":                                                 "errgroup, semaphore",
	"golang.org/x/sys":                                                  "what the processor and the system can do",
	"golang.org/x/term":                                                 "the terminal's width",
	"golang.org/x/time":                                                 "limits of rates",
	"golang.org/x/text":                                                 "NFKC and case folding",
	"gonum.org/v1/gonum":                                                "statistics and charts of eval",
	"modernc.org/sqlite":                                                "rival in benchmarks",
}

// names are exceptions with the reason for each.
type names map[string]string

// check reports who is beyond a limit and not among the exceptions, and
// exceptions that are not needed.
func (known names) check(t *testing.T, rule string, beyond map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(beyond)) {
		if _, ok := known[name]; !ok {
			t.Errorf("%s: %s: %d", rule, name, beyond[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, ok := beyond[name]; !ok {
			t.Errorf("%s: %s keeps to it: take it off the list of exceptions", rule, name)
		}
	}
}

// over are the counts above a limit.
func over(counts map[string]int, limit int) map[string]int {
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n <= limit })
	return counts
}

func TestMethods(t *testing.T) {
	counts := map[string]int{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !s.test() {
				counts[s.pkg()+"."+receiver(f)]++
			}
		}
	}
	tooManyMethods.check(t, "a type has at most 30 methods", over(counts, maxMethods))
}

// receiver is the name of the type of a method.
func receiver(f *ast.FuncDecl) string {
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

func TestCodeLines(t *testing.T) {
	counts := map[string]int{}
	total := 0
	for _, s := range sources(t) {
		if !s.test() {
			n := codeLines(t, s.path)
			counts[s.pkg()] += n
			total += n
		}
	}
	t.Logf("%d lines of code in %d packages", total, len(counts))
	tooMuchCode.check(t, "a package has at most 2,500 lines of code", over(counts, maxCode))
}

// codeLines counts the lines of a file on which there is more than a comment.
func codeLines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file := fset.AddFile(path, fset.Base(), len(text))
	var sc scanner.Scanner
	sc.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := sc.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		for i := range 1 + strings.Count(literal, "\n") {
			lines[file.Line(pos)+i] = true
		}
	}
}

func TestMutexes(t *testing.T) {
	counts := map[string]int{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if st, ok := spec.Type.(*ast.StructType); ok {
					s.guarded(t, spec.Name.Name, st, counts)
				}
			}
			return true
		})
	}
	tooManyGuarded.check(t, "a mutex guards at most 5 fields", over(counts, maxGuarded))
}

// guarded counts the fields that each mutex of a struct guards: those up to
// the next empty line when it says "below", else those that its comment names.
func (s source) guarded(t *testing.T, name string, st *ast.StructType, counts map[string]int) {
	for i, f := range st.Fields.List {
		if kind := nodeText(f.Type); kind != "sync.Mutex" && kind != "sync.RWMutex" {
			continue
		}
		at := s.pkg() + "." + name
		for _, id := range f.Names {
			at += "." + id.Name
		}
		says := f.Comment.Text() + f.Doc.Text()
		if !strings.Contains(says, "guard") {
			t.Errorf("%s: %s does not say what it guards", s.path, at)
		}
		counts[at] = 1
		if !strings.Contains(says, "below") {
			continue
		}
		last := s.fset.Position(f.End()).Line
		for _, g := range st.Fields.List[i+1:] {
			from := g.Pos()
			if g.Doc != nil {
				from = g.Doc.Pos()
			}
			if s.fset.Position(from).Line > last+1 {
				break
			}
			last = s.fset.Position(g.End()).Line
			counts[at] += max(1, len(g.Names))
		}
		counts[at]--
	}
}

// nodeText is a qualified name as it is written.
func nodeText(n ast.Expr) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok {
			return id.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// A test waits for what it wants, or has time to itself in a synctest bubble.
func TestNoSleep(t *testing.T) {
	counts := map[string]int{}
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			sleeps, bubble := 0, false
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					text := nodeText(sel)
					bubble = bubble || strings.HasPrefix(text, "synctest.")
					if text == "time.Sleep" {
						sleeps++
					}
				}
				return true
			})
			if sleeps > 0 && !bubble {
				counts[s.path] += sleeps
			}
		}
	}
	sleeping.check(t, "no test sleeps", counts)
}

func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]int{}
	for line := range strings.Lines(string(text)) {
		module, found := strings.CutPrefix(line, "\t")
		if path, version, ok := strings.Cut(module, " "); found && ok && !strings.Contains(line, "// indirect") {
			required[path], _ = strconv.Atoi(strings.TrimPrefix(strings.Split(version, ".")[0], "v"))
		}
	}
	direct.check(t, "a new dependency is a decision, with its reason in this list", required)
}
