//go:build !windows

package rivals

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"

	"github.com/coder/hnsw"
)

// coder is github.com/coder/hnsw with its defaults and a fixed seed, or with a
// wider beam: its default of 20 is narrow.
type coder struct {
	dir   string
	ef    int // 0 means the default
	graph *hnsw.Graph[string]
}

// Build adds the documents and exports the graph. The library panics on some
// inputs; that is its answer, not the benchmark's end.
func (c *coder) Build(ctx context.Context, docs []Doc) (err error) {
	defer recovered("build", &err)
	c.graph = hnsw.NewGraph[string]()
	c.graph.Rng = rand.New(rand.NewSource(1))
	if c.ef > 0 {
		c.graph.EfSearch = c.ef
	}
	for _, d := range docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.graph.Add(hnsw.MakeNode(d.ID, d.Vector))
	}
	f, err := os.Create(filepath.Join(c.dir, "graph"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := c.graph.Export(f); err != nil {
		return err
	}
	return f.Sync()
}

func (c *coder) Search(_ context.Context, q Query, k int) (ids []string, err error) {
	defer recovered("search", &err)
	for _, n := range c.graph.Search(q.Vector, k) {
		ids = append(ids, n.Key)
	}
	return ids, nil
}

func (c *coder) Close() error { return nil }

func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: panic: %v", what, p)
	}
}
