//go:build !windows

package rivals

import (
	"context"
	"errors"
	"runtime"

	chromemgo "github.com/philippgille/chromem-go"
)

// chromem is github.com/philippgille/chromem-go with a persistent database.
type chromem struct {
	dir  string
	docs *chromemgo.Collection
}

var errEmbeds = errors.New("every document and query has its vector")

func (c *chromem) Build(ctx context.Context, docs []Doc) error {
	db, err := chromemgo.NewPersistentDB(c.dir, false)
	if err != nil {
		return err
	}
	c.docs, err = db.CreateCollection("tools", nil, func(context.Context, string) ([]float32, error) { return nil, errEmbeds })
	if err != nil {
		return err
	}
	all := make([]chromemgo.Document, len(docs))
	for i, d := range docs {
		all[i] = chromemgo.Document{ID: d.ID, Content: d.Text, Embedding: d.Vector}
	}
	return c.docs.AddDocuments(ctx, all, runtime.GOMAXPROCS(0))
}

func (c *chromem) Search(ctx context.Context, q Query, k int) ([]string, error) {
	results, err := c.docs.QueryEmbedding(ctx, q.Vector, k, nil, nil)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	return ids, nil
}

func (c *chromem) Close() error { return nil }
