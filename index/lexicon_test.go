package index

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestWordsComeAndGo lets a server's words change for ever.
func TestWordsComeAndGo(t *testing.T) {
	ix := newIndex(t, Options{}, nil)
	replace(t, ix, "steady", three...)
	text := func(round int) string {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, "w%dx%d ", round, i)
		}
		return b.String()
	}
	for round := range 100 {
		replace(t, ix, "restless", rawTool("now", text(round)))
	}
	fresh := newIndex(t, Options{}, nil)
	replace(t, fresh, "steady", three...)
	replace(t, fresh, "restless", rawTool("now", text(99)))
	for _, q := range []string{"read a file", "w99x7", "w1x1"} {
		got, err := ix.Search(t.Context(), Query{Text: q, Mode: Keyword})
		want, err2 := fresh.Search(t.Context(), Query{Text: q, Mode: Keyword})
		if err != nil || err2 != nil || scores(got) != scores(want) {
			t.Errorf("%q: got %s, want %s (%v, %v)", q, scores(got), scores(want), err, err2)
		}
	}
	if bytes.Contains(dumped(t, ix), []byte("w1x1")) {
		t.Error("a dead term is in the dump")
	}
}

func scores(r *Results) string {
	var b strings.Builder
	for _, h := range r.Hits {
		fmt.Fprintf(&b, "%s %.9f, ", h.Tool.QualifiedName(), h.Score)
	}
	return b.String()
}
