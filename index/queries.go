package index

import (
	"context"
	"encoding/json"
	"io"

	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/spaces"
)

// Search ranks the allowed tools against a query.
func (ix *Index) Search(ctx context.Context, q Query) (*Results, error) {
	if q.Mode != Keyword && q.WordsOnly == "" {
		ix.spaces.Learn(ctx, q.Text)
	}
	return ix.snapshot().Search(ctx, q)
}

// Explain accounts for the score of the tool id under q, also when q's filter
// or limit drops it, and says why it is dropped.
func (ix *Index) Explain(ctx context.Context, q Query, id string) (Explanation, error) {
	if q.Mode != Keyword && q.WordsOnly == "" {
		ix.spaces.Learn(ctx, q.Text)
	}
	return ix.snapshot().Explain(ctx, q, id)
}

// Similar returns the tools most like the tool id, best first, without it.
// Tools of the same text become one row that names the others' homes.
func (ix *Index) Similar(ctx context.Context, id string, f Filter, limit int) ([]Neighbor, error) {
	return ix.snapshot().Similar(ctx, id, f, limit)
}

// List returns one page of the allowed tools and how many there are in all.
func (ix *Index) List(l Listing) ([]Hit, int) {
	return ix.snapshot().List(l, func(id string) (total, failed int64) {
		m := ix.Metrics(id)
		return m.Total, m.Failed
	})
}

// Entries are all tools that scope allows, in order of their ids, and the state
// of the catalog that they are of.
func (ix *Index) Entries(scope *Scope) ([]Entry, State) {
	s := ix.snapshot()
	return snapshot.Entries(s, scope), snapshot.StateOf(s)
}

// State is that of the catalog that is searched.
func (ix *Index) State() State { return snapshot.StateOf(ix.snapshot()) }

// Categories counts the allowed tools by category ("Other" last), tag and
// server; the most frequent first, ties by name.
func (ix *Index) Categories(f Filter) (categories, tags, servers []CategoryCount, total int) {
	return ix.snapshot().Categories(f)
}

// Get returns the tool with this id, without Raw; hidden tools are not found.
func (ix *Index) Get(id string) (Hit, bool) { return ix.snapshot().Get(id) }

// Resolve returns the tools that name can mean among those that scope allows:
// the matches of the first level that has any of exact qualified name, id,
// another spelling (server__name, server.name, server:name), bare name. What
// looks like an id is none of the others, and a name that begins with one of
// the servers means nothing elsewhere: a tool that has gone must not be
// replaced by another server's of a confusable name.
func (ix *Index) Resolve(name string, scope *Scope) []Hit {
	return ix.snapshot().Resolve(name, scope)
}

// Suggest returns up to n tools whose names are nearest to name among those
// that scope allows.
func (ix *Index) Suggest(name string, scope *Scope, n int) []Hit {
	return ix.snapshot().Suggest(name, scope, n)
}

// Dump writes what the lexical arm holds as JSON: each tool's terms by field
// and lengths, document frequencies, average lengths and parameters, enough
// to recompute any score.
func (ix *Index) Dump(w io.Writer) error { return ix.snapshot().Dump(w) }

// Audit builds a graph over the vectors that serve, whatever the size of the
// catalog, and compares its answers with the exact scan at every beam of efs.
// Queries are the vectors of texts, or, without texts, made up between the
// documents. It fails with ErrNoVectors when no vectors serve.
func (ix *Index) Audit(ctx context.Context, texts []string, efs []int) (Audit, error) {
	return spaces.AuditGraph(ctx, ix.snapshot(), texts, efs)
}

// Raw returns the tool's object as its upstream sent it.
func (ix *Index) Raw(id string) (json.RawMessage, error) { return ix.catalog.Raw(id) }

// Objects are the objects of all tools of a server as it sent them, those that
// are hidden too, in order of their ids.
func (ix *Index) Objects(ctx context.Context, server string) ([]json.RawMessage, error) {
	return ix.catalog.Objects(ctx, server)
}
