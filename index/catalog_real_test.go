package index

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealCategories compares derived categories with what a reader says of
// real tools. Their descriptions belong to their authors and are not kept
// here: TOOLDEX_TEST_CATALOG names a folder of SERVER.json files with the
// answers of tools/list.
func TestRealCategories(t *testing.T) {
	dir := os.Getenv("TOOLDEX_TEST_CATALOG")
	if dir == "" {
		t.Skip("TOOLDEX_TEST_CATALOG names no folder of real servers' tools")
	}
	got := map[string]string{}
	hits, _ := openCatalog(t, dir).List(Listing{})
	for _, h := range hits {
		got[h.Tool.QualifiedName()] = h.Category
	}
	labelled, err := os.ReadFile("testdata/categories.txt")
	if err != nil {
		t.Fatal(err)
	}
	wrong, all := 0, 0
	for line := range strings.Lines(string(labelled)) {
		name, accepted, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		all++
		if c := got[name]; c == "" {
			t.Errorf("%s is not in the catalog", name)
		} else if !slices.Contains(strings.Split(accepted, " | "), c) {
			wrong++
			t.Logf("%s is in %s instead of %s", name, c, accepted)
		}
	}
	if t.Logf("%d of %d wrong", wrong, all); wrong > 6 {
		t.Errorf("%d of %d wrong, want 6 at most", wrong, all)
	}
}

// openCatalog indexes a folder of SERVER.json files.
func openCatalog(t *testing.T, dir string) *Index {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no SERVER.json in %s: %v", dir, err)
	}
	ix := newIndex(t, Options{}, nil)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var listed struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(data, &listed); err != nil {
			t.Fatal(err)
		}
		replace(t, ix, strings.TrimSuffix(filepath.Base(file), ".json"), listed.Tools...)
	}
	return ix
}
