package index

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestCopiesFold has three copies of one server: each of their tools takes
// one row.
func TestCopiesFold(t *testing.T) {
	catalog := map[string][]json.RawMessage{"other": {rawTool("read_mail", "Read a mail of the inbox")}}
	for _, server := range []string{"one", "two", "three"} {
		for i := range 12 {
			catalog[server] = append(catalog[server], rawTool(fmt.Sprintf("read_%c", 'a'+i), fmt.Sprintf("Read part %c of a file", 'a'+i), "path"))
		}
	}
	ix := newIndex(t, Options{}, catalog)
	attach(t, ix, wordEmbedder{16})
	for _, mode := range []Mode{Keyword, Hybrid} {
		plain := mustSearch(t, ix, Query{Text: "read a file", Mode: mode})
		res := mustSearch(t, ix, Query{Text: "read a file", Mode: mode, Fold: true})
		seen := map[string]bool{}
		for _, h := range res.Hits {
			if seen[h.Tool.Name] {
				t.Errorf("%s: %s has two rows", mode, h.Tool.Name)
			}
			seen[h.Tool.Name] = true
			if h.Tool.Server != "other" && len(h.Homes) != 2 {
				t.Errorf("%s: %s is the same as %v", mode, h.Tool.QualifiedName(), h.Homes)
			}
		}
		if len(res.Hits) != 10 || res.Total != plain.Total || res.Hits[0].Score != plain.Hits[0].Score {
			t.Errorf("%s: %d rows of %d, %d without folding", mode, len(res.Hits), res.Total, plain.Total)
		}
		hidden := mustSearch(t, ix, Query{Text: "read a file", Mode: mode, Fold: true, Filter: Filter{
			Scope: NewScope(func(t *Tool) bool { return t.Server != "two" }),
		}})
		for _, h := range hidden.Hits {
			for _, home := range append(h.Homes, h.Tool.QualifiedName()) {
				if home[:4] == "two/" {
					t.Errorf("%s: a scope shows %s", mode, home)
				}
			}
		}
		named := mustSearch(t, ix, Query{Text: "three/read_a", Mode: mode, Fold: true}).Hits[0]
		if named.Tool.QualifiedName() != "three/read_a" || len(named.Homes) != 2 {
			t.Errorf("%s: the copy that is named: %s, same as %v", mode, named.Tool.QualifiedName(), named.Homes)
		}
	}
}
