package spaces

import "context"

// An Embedder turns texts into vectors of one space. Implementations are safe
// for concurrent use.
type Embedder interface {
	// Model is the canonical identity of the vector space. Vectors of two
	// identities never compare. It may change between calls (an endpoint that
	// was unreachable learns its digest), never back and forth.
	// One that ends in "@pending" is not known yet and stores nothing: ask
	// again after a call succeeded, or call Identify(ctx) error where the
	// embedder has it.
	Model() string
	// EmbedQuery returns the vector of a search text. It should fail at once
	// while it would wait in vain, as every search waits for it.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	// EmbedDocuments returns one vector a text, in order. On error it may
	// return the vectors of some texts, nil for the others, in a slice as
	// long as texts; splitting into requests is its job. Vectors need not be
	// normalised; the index checks and normalises them.
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// A FieldEmbedder reads a tool's fields instead of one text. The index finds
// it by assertion. Fields are "name", "server", "desc", "pname" and "pdesc";
// an absent field is empty.
type FieldEmbedder interface {
	EmbedFields(ctx context.Context, tools []map[string]string) ([][]float32, error)
}

// A QueriesEmbedder embeds many search texts in few requests. The index finds
// it by assertion; of another it asks for one after the other.
type QueriesEmbedder interface {
	// EmbedQueries is EmbedQuery for several texts, with the results of
	// EmbedDocuments.
	EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
}
