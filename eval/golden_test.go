package eval

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/index"
)

// Golden rows show in a diff what a change of the ranking moves.
var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares lines with a file. Numbers may differ by one in the fourth
// decimal: processors round sums of floats differently.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if diff := gocmp.Diff(want, lines, gocmp.Comparer(sameRow)); diff != "" {
		t.Errorf("%s: golden rows -, rows +; -update takes them over\n%s", path, diff)
	}
}

var decimals = regexp.MustCompile(`\d\.\d{4}`)

func sameRow(a, b string) bool {
	if a == b {
		return true
	}
	x, y := decimals.FindAllString(a, -1), decimals.FindAllString(b, -1)
	if len(x) != len(y) || decimals.ReplaceAllString(a, "#") != decimals.ReplaceAllString(b, "#") {
		return false
	}
	for i := range x {
		p, _ := strconv.ParseFloat(x[i], 64) // both match decimals
		q, _ := strconv.ParseFloat(y[i], 64)
		if math.Abs(p-q) > 1.5e-4 {
			return false
		}
	}
	return true
}

// openSet indexes a set with the built-in model.
func openSet(t *testing.T, dir, split string) (*index.Index, *labels.Set) {
	t.Helper()
	sets, err := labels.Load(dir, labels.Options{Split: split})
	if err != nil {
		t.Fatal(err)
	}
	model, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := phrased.Tools(sets[0], phrased.None)
	ix, err := Open(t.Context(), tools, Options{Embedder: model})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return ix, sets[0]
}

func answer(t *testing.T, ix *index.Index, q index.Query) *index.Results {
	t.Helper()
	res, err := ix.Search(t.Context(), q)
	if err != nil {
		return &index.Results{Reason: err.Error()}
	}
	return res
}

// written are an answer's lines: its totals, then its rows.
func written(title string, res *index.Results) []string {
	head := fmt.Sprintf("%s: %d of %d", title, res.Total, res.Allowed)
	if res.Degraded || res.Reason != "" {
		head += fmt.Sprintf(" %s (%s)", res.Mode, res.Reason)
	}
	lines := []string{head}
	for _, h := range res.Hits {
		lines = append(lines, fmt.Sprintf("  %.4f %s", h.Score, h.Tool.QualifiedName()))
	}
	return lines
}

func TestGoldenRows(t *testing.T) {
	ix, set := openSet(t, "testdata/fifteen", "")
	for _, k := range []struct {
		mode  index.Mode
		limit int
	}{{index.Hybrid, 10}, {index.Keyword, 5}, {index.Semantic, 5}} {
		var lines []string
		for _, q := range set.Queries {
			lines = append(lines, written(q.ID, answer(t, ix, index.Query{Text: q.Text, Mode: k.mode, Limit: k.limit}))...)
		}
		golden(t, string(k.mode)+".txt", lines)
	}
}

func TestGoldenFilters(t *testing.T) {
	ix, set := openSet(t, "testdata/fifteen", "")
	least := .3
	filters := []struct {
		name  string
		query index.Query
	}{
		{"server", index.Query{Filter: index.Filter{Servers: []string{"harborline", "Fernhost"}}}},
		{"category", index.Query{Filter: index.Filter{Categories: []string{"file operations"}}}},
		{"pattern", index.Query{Filter: index.Filter{NamePattern: regexp.MustCompile(`^(get|list)_|search`)}}},
		{"description", index.Query{Filter: index.Filter{DescriptionContains: "FILE"}}},
		{"scope", index.Query{Filter: index.Filter{Scope: index.NewScope(func(t *index.Tool) bool { return len(t.Name)%3 > 0 })}}},
		{"nothing", index.Query{Filter: index.Filter{Tags: []string{"no such tag"}}}},
		{"least", index.Query{MinScore: &least}},
		{"least keyword", index.Query{MinScore: &least, Mode: index.Keyword}},
	}
	var lines []string
	for _, f := range filters {
		for i := 0; i < len(set.Queries); i += 30 {
			f.query.Text, f.query.Limit = set.Queries[i].Text, 8
			lines = append(lines, written(f.name+" "+set.Queries[i].ID, answer(t, ix, f.query))...)
		}
	}
	golden(t, "filters.txt", lines)
}

func TestGoldenSimilar(t *testing.T) {
	ix, set := openSet(t, "testdata/fifteen", "")
	var lines []string
	for i := 0; i < len(set.Tools); i += 8 {
		tool := &set.Tools[i]
		list, err := ix.Similar(t.Context(), tool.ID(), index.Filter{}, 6)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, tool.QualifiedName())
		for _, n := range list {
			lines = append(lines, fmt.Sprintf("  %.4f %s %s %v", n.Score, n.Tool.QualifiedName(), n.Reason, n.Homes))
		}
	}
	golden(t, "similar.txt", lines)
}

func TestGoldenExplanations(t *testing.T) {
	ix, set := openSet(t, "testdata/fifteen", "")
	least := .9
	var lines []string
	for i, q := range set.Queries {
		if i%36 != 0 {
			continue
		}
		for _, mode := range []index.Mode{index.Hybrid, index.Keyword} {
			query := index.Query{Text: q.Text, Mode: mode, Limit: 3}
			if i%72 == 0 {
				query.MinScore = &least
			}
			for _, tool := range []int{i % len(set.Tools), (7*i + 5) % len(set.Tools)} {
				e, err := ix.Explain(t.Context(), query, set.Tools[tool].ID())
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s %s %s: %.4f rank %d %v", mode, q.ID, set.Tools[tool].QualifiedName(), e.Score, e.Rank, e.Dropped))
				lines = append(lines, fmt.Sprintf("  words %.4f = %.4f of %.4f, cosine %.4f, prior %.4f, lambda %.4f, gamma %.4f, %v %v",
					e.Keyword, e.BM25F, e.Upper, e.Cosine, e.Prior, e.Lambda, e.Gamma, e.ExactName, e.HasVector))
				for _, term := range e.Terms {
					fields, err := json.Marshal(term.Fields)
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, fmt.Sprintf("  %s %.4f × %d, %.4f: %.4f %s", term.Text, term.IDF, term.QueryCount, term.Frequency, term.Contribution, fields))
				}
			}
		}
	}
	golden(t, "explanations.txt", lines)
}

// datasets names the folder of labelled sets that are not in this repository.
const datasets = "TOOLDEX_DATASETS"

// TestGoldenSets keeps of each query of the tuning sets a hash of its rows,
// with scores to two decimals; other people's texts stay where they are.
func TestGoldenSets(t *testing.T) {
	root := os.Getenv(datasets)
	if root == "" {
		t.Skipf("%s is not set", datasets)
	}
	for _, s := range []struct{ name, split string }{
		{"azure_mcp", ""}, {"bfcl", "live"}, {"ultratool", "step"}, {"ultratool", "question"},
		{"metatool", "single_2k"}, {"toolret_subset", "apigen"}, {"mcp_written", "dev"},
	} {
		t.Run(s.name+" "+s.split, func(t *testing.T) {
			ix, set := openSet(t, filepath.Join(root, s.name), s.split)
			var lines []string
			for _, q := range set.Queries {
				h := fnv.New32a()
				for _, hit := range answer(t, ix, index.Query{Text: q.Text}).Hits {
					fmt.Fprintf(h, "%s %.2f\n", hit.ID, hit.Score)
				}
				lines = append(lines, fmt.Sprintf("%08x", h.Sum32()))
			}
			goldenHashes(t, "set-"+set.Title()+".txt", lines)
		})
	}
}

// goldenHashes lets one query in a thousand differ: a score may lie on the
// border of two roundings.
func goldenHashes(t *testing.T, name string, lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden", name))
	if *update || err != nil {
		golden(t, name, lines)
		return
	}
	want := strings.Fields(string(text))
	if len(want) != len(lines) {
		t.Fatalf("%s: %d queries, golden are %d", name, len(lines), len(want))
	}
	moved := 0
	for i, h := range lines {
		if h != want[i] {
			moved++
		}
	}
	t.Logf("%d of %d queries have other rows", moved, len(lines))
	if moved*1000 > len(lines) {
		t.Errorf("%s: %d of %d queries have other rows; -update takes them over", name, moved, len(lines))
	}
}
