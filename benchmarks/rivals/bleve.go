//go:build !windows

package rivals

import (
	"context"
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
)

// bleveIndex is github.com/blevesearch/bleve/v2 with its English analyser and
// BM25, on disk.
type bleveIndex struct {
	dir string
	ix  bleve.Index
}

const bleveBatch = 1000

func (b *bleveIndex) Build(ctx context.Context, docs []Doc) error {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	mapping.ScoringModel = "bm25"
	mapping.StoreDynamic = false
	var err error
	if b.ix, err = bleve.New(filepath.Join(b.dir, "bleve"), mapping); err != nil {
		return err
	}
	batch := b.ix.NewBatch()
	for i, d := range docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := batch.Index(d.ID, map[string]string{"text": d.Text}); err != nil {
			return err
		}
		if batch.Size() == bleveBatch || i == len(docs)-1 {
			if err := b.ix.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return nil
}

func (b *bleveIndex) Search(ctx context.Context, q Query, k int) ([]string, error) {
	match := bleve.NewMatchQuery(q.Text)
	match.SetField("text")
	res, err := b.ix.SearchInContext(ctx, bleve.NewSearchRequestOptions(match, k, 0, false))
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		ids[i] = h.ID
	}
	return ids, nil
}

func (b *bleveIndex) Close() error {
	if b.ix == nil {
		return nil
	}
	return b.ix.Close()
}
