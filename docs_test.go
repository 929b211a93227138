package tooldex

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A row of an index is a table's line that begins with a link.
var (
	indexRow = regexp.MustCompile(`(?m)^\| \[[^\]]+\]\(([^)#]+)\) \| \S`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code     = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
)

// Each page and each folder of these stands in the folder's README, with a line
// that says what it is for.
func TestIndexesOfPages(t *testing.T) {
	for _, dir := range []string{"docs", "docs/decisions", "examples"} {
		text, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, row := range indexRow.FindAllSubmatch(text, -1) {
			listed[strings.TrimSuffix(string(row[1]), "/README.md")] = true
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "README.md" && !listed[e.Name()] {
				t.Errorf("%s/README.md has no row for %s", dir, e.Name())
			}
		}
	}
}

// Links from one page to another file of this repository lead somewhere.
func TestLinks(t *testing.T) {
	checked := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(page string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "dist") {
			return fs.SkipDir
		}
		if path.Ext(page) != ".md" {
			return nil
		}
		text, err := os.ReadFile(page)
		for _, found := range link.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			target, _, _ := strings.Cut(string(found[1]), "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			checked++
			if _, err := os.Stat(path.Join(path.Dir(page), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 30 {
		t.Errorf("only %d links were found", checked)
	}
}
