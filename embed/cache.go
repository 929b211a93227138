package embed

import (
	"context"
	"slices"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tooldex/tooldex/embed/endpoint"
)

// A Remote is an embedder over a server that keeps the vectors of recent
// queries: a model asks the same thing several times, and a server takes
// milliseconds where the index takes microseconds.
type Remote struct {
	*endpoint.Endpoint
	puller  Puller                       // nil if the server cannot pull
	queries *lru.Cache[query, []float32] // nil keeps none
	hits    atomic.Int64
	lookups atomic.Int64
}

// A Puller can download its model to its server.
type Puller interface {
	Pull(ctx context.Context, report func(status string, done, total int64)) error
}

// A query is kept under the identity that gave its vector.
type query struct{ model, text string }

// maxKept is the longest query kept: the cache is bounded in number, so an
// entry's size has to be as well.
const maxKept = 4 << 10

func cached(e *endpoint.Endpoint, p Puller, size int) (*Remote, error) {
	r := &Remote{Endpoint: e, puller: p}
	if size < 0 {
		return r, nil
	}
	if size == 0 {
		size = 1000
	}
	var err error
	r.queries, err = lru.New[query, []float32](size)
	return r, err
}

// EmbedQuery returns the vector of a search text, from the cache if it was
// asked before. The cache answers while the server is down, too.
func (r *Remote) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if r.queries == nil || len(text) > maxKept {
		return r.Endpoint.EmbedQuery(ctx, text)
	}
	r.lookups.Add(1)
	key := query{r.Model(), text}
	if v, ok := r.queries.Get(key); ok {
		r.hits.Add(1)
		return slices.Clone(v), nil
	}
	v, err := r.Endpoint.EmbedQuery(ctx, text)
	if err != nil {
		return nil, err
	}
	if r.Model() == key.model { // else the vector's identity is uncertain
		r.queries.Add(key, slices.Clone(v))
	}
	return v, nil
}

// Queries says how many queries were looked up in the cache and found.
func (r *Remote) Queries() (lookups, hits int64) { return r.lookups.Load(), r.hits.Load() }

// Puller is the server's, false if it has none.
func (r *Remote) Puller() (Puller, bool) { return r.puller, r.puller != nil }

// Check asks the embedder's server how it does. The model inside the binary
// is always well; a nil embedder is none.
func Check(ctx context.Context, e Embedder) endpoint.Health {
	switch e := e.(type) {
	case nil:
		return endpoint.Health{Provider: None}
	case *Remote:
		return e.Check(ctx)
	}
	h := endpoint.Health{Provider: Builtin, Model: "static-v1", Identity: e.Model(), Reachable: true, HasModel: true}
	v, err := e.EmbedQuery(ctx, "list the files in a folder")
	h.Dims = len(v)
	if err != nil {
		h.Problem = err.Error()
	}
	return h
}
