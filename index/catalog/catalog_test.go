package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tooldex/tooldex/index/derived"
	"github.com/tooldex/tooldex/index/folder"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/usage"
)

// open returns a catalog of a folder, of which snapshots are made at once.
func open(t *testing.T, dir string) *Catalog {
	t.Helper()
	f, err := folder.Open(dir, folder.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var current atomic.Pointer[snapshot.Snapshot]
	c := New(Options{
		Folder: f, Meter: usage.NewMeter(), Current: &current,
		Show: func(c snapshot.Corpus) <-chan struct{} {
			c.Params = snapshot.DefaultParams()
			current.Store(snapshot.New(c))
			shown := make(chan struct{})
			close(shown)
			return shown
		},
		Remade: func(context.Context) {},
	})
	c.Load(t.Context(), derived.State{})
	return c
}

func replace(t *testing.T, c *Catalog, server string, descriptions ...string) {
	t.Helper()
	var tools []tool.Tool
	for i, d := range descriptions {
		raw := fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, i, d)
		t1, err := tool.Decode(server, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, t1)
	}
	if _, err := c.Replace(t.Context(), map[string][]tool.Tool{server: tools}); err != nil {
		t.Fatal(err)
	}
}

func documents(c *Catalog) map[*snapshot.Document]bool {
	docs := map[*snapshot.Document]bool{}
	for _, d := range c.options.Current.Load().Docs() {
		docs[d] = true
	}
	return docs
}

// kept counts the documents that are the same ones as before.
func kept(c *Catalog, before map[*snapshot.Document]bool) (n int) {
	for d := range documents(c) {
		if before[d] {
			n++
		}
	}
	return n
}

func TestUnchangedToolsAreNotAnalysedAgain(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	replace(t, c, "s", "first", "second", "third")
	before := documents(c)
	replace(t, c, "s", "first", "changed", "third")
	if n := kept(c, before); n != 2 {
		t.Errorf("%d documents were kept, want the 2 that did not change", n)
	}
	c = open(t, dir)
	loaded, _, err := c.folder.Store.Load(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	before = documents(c)
	c.change(func() bool {
		for _, sv := range loaded {
			c.adopt(sv)
		}
		return true
	})
	if n := kept(c, before); n != 3 {
		t.Errorf("%d documents were kept on loading again, want 3", n)
	}
}

// TestLexiconIsCompacted lets a server's words change for ever.
func TestLexiconIsCompacted(t *testing.T) {
	c := open(t, "")
	replace(t, c, "steady", "read a file", "write a file")
	most := 0
	for round := range 100 {
		var b strings.Builder
		for i := range 900 {
			fmt.Fprintf(&b, "w%dx%d ", round, i)
		}
		replace(t, c, "restless", b.String())
		most = max(most, c.lexicon.Len())
	}
	if most > minLexicon || most < minLexicon/2 || c.lexicon.Len() >= most {
		t.Errorf("the lexicon had up to %d terms and has %d", most, c.lexicon.Len())
	}
}
