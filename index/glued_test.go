package index

import "testing"

// TestGluedNames has names beside letters and punctuation of scripts that
// need no space.
func TestGluedNames(t *testing.T) {
	ix := small(t)
	hit, _ := ix.List(Listing{Limit: 1})
	name := hit[0].Tool.QualifiedName()
	for _, text := range []string{"请用" + name + "吧", name + "！", "使用「" + name + "」。", "run " + name + "、 now"} {
		if res := mustSearch(t, ix, Query{Text: text, Mode: Keyword}); len(res.Hits) == 0 || res.Hits[0].Tool.QualifiedName() != name || res.Hits[0].Score < .99 {
			t.Errorf("%s does not find %s", text, name)
		}
	}
}
