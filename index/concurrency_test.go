package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// Searches while servers are replaced: each sees one state of the catalog,
// never half of a change.
func TestSearchDuringReplace(t *testing.T) {
	const versions, readers = 60, 4
	ix := newIndex(t, Options{}, nil)
	version := func(v int) []Tool {
		var tools []Tool
		for i := range 20 {
			tl, err := Decode("s", rawTool(fmt.Sprint("tool_", i), fmt.Sprintf("common version%d word%d", v, i)))
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tl)
		}
		return tools
	}
	if _, err := ix.Replace(t.Context(), "s", version(0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for ctx.Err() == nil {
				checkOneVersion(t, ix)
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for v := 1; v < versions; v++ {
		if _, err := ix.Replace(t.Context(), "s", version(v)); err != nil {
			t.Error(err)
		}
		if _, err := ix.Replace(t.Context(), fmt.Sprint("other", r.IntN(3)), version(v)[:r.IntN(20)]); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

func checkOneVersion(t *testing.T, ix *Index) {
	res, err := ix.Search(t.Context(), Query{Text: "common", Mode: Keyword, Limit: 50, Filter: Filter{Servers: []string{"s"}}})
	if err != nil {
		t.Error(err)
		return
	}
	seen := map[string]bool{}
	for _, h := range res.Hits {
		seen[strings.Fields(h.Tool.Description)[1]] = true
	}
	if len(res.Hits) != 20 || len(seen) != 1 {
		t.Errorf("%d rows of versions %v", len(res.Hits), seen)
	}
	if hits, n := ix.List(Listing{Filter: Filter{Servers: []string{"s"}}}); n != 20 || len(hits) != 20 {
		t.Errorf("%d tools listed", n)
	}
}
