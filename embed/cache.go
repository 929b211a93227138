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
	server  server
	queries *lru.Cache[query, []float32] // nil keeps none
	hits    atomic.Int64
	lookups atomic.Int64
}

// A server is what Remote needs of an endpoint.
type server interface {
	Embedder
	Identify(ctx context.Context) error
	Check(ctx context.Context) endpoint.Health
	State() string
	Close() error
}

// A query is kept under the identity that gave its vector.
type query struct{ model, text string }

// maxKept is the longest query kept: the cache is bounded in number, so an
// entry's size has to be as well.
const maxKept = 4 << 10

func cached(s server, size int) (*Remote, error) {
	r := &Remote{server: s}
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

// Model is the identity of the vector space.
func (r *Remote) Model() string { return r.server.Model() }

// EmbedQuery returns the vector of a search text, from the cache if it was
// asked before. The cache answers while the server is down, too.
func (r *Remote) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if r.queries == nil || len(text) > maxKept {
		return r.server.EmbedQuery(ctx, text)
	}
	r.lookups.Add(1)
	key := query{r.Model(), text}
	if v, ok := r.queries.Get(key); ok {
		r.hits.Add(1)
		return slices.Clone(v), nil
	}
	v, err := r.server.EmbedQuery(ctx, text)
	if err != nil {
		return nil, err
	}
	if r.Model() == key.model { // else the vector's identity is uncertain
		r.queries.Add(key, slices.Clone(v))
	}
	return v, nil
}

// EmbedDocuments returns one vector a text, in order; on error those there
// are, nil for the others.
func (r *Remote) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return r.server.EmbedDocuments(ctx, texts)
}

// Identify learns the identity unless it is known: two short requests.
func (r *Remote) Identify(ctx context.Context) error { return r.server.Identify(ctx) }

// State is "ok", or why calls are refused at present.
func (r *Remote) State() string { return r.server.State() }

// Queries says how many queries were looked up in the cache and found.
func (r *Remote) Queries() (lookups, hits int64) { return r.lookups.Load(), r.hits.Load() }

// Close ends what runs in the background.
func (r *Remote) Close() error { return r.server.Close() }

// A Puller can download its model to its server.
type Puller interface {
	Pull(ctx context.Context, report func(status string, done, total int64)) error
}

// Puller is the server's, false if it has none.
func (r *Remote) Puller() (Puller, bool) {
	p, ok := r.server.(Puller)
	return p, ok
}

// Check asks the embedder's server how it does. The model inside the binary
// is always well; a nil embedder is none.
func Check(ctx context.Context, e Embedder) endpoint.Health {
	switch e := e.(type) {
	case nil:
		return endpoint.Health{Provider: None}
	case *Remote:
		return e.server.Check(ctx)
	}
	h := endpoint.Health{Provider: Builtin, Model: "static-v1", Identity: e.Model(), Reachable: true, HasModel: true}
	v, err := e.EmbedQuery(ctx, "list the files in a folder")
	h.Dims = len(v)
	if err != nil {
		h.Problem = err.Error()
	}
	return h
}
