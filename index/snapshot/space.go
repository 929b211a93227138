package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bits-and-blooms/bitset"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// A Space is the vectors of one identity for a snapshot's documents, with the
// embedder that makes query vectors for them. It is immutable.
type Space struct {
	model    string // identity of the vectors
	embedder QueryEmbedder
	rows     *vector.Codes   // by document
	servers  *vector.Codes   // by server: the mean of its tools' vectors, not normalised
	means    *scopeMeans     // as servers, of what scopes show
	near     Nearer          // candidates among many documents
	phrases  [][]vector.Code // by document
}

// A QueryEmbedder turns a search text into a vector of the space that Model
// names.
type QueryEmbedder interface {
	Model() string
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// A Nearer finds the k documents that are nearest to a query, or most of them:
// best first.
type Nearer interface {
	Near(q *vector.Query, allowed *bitset.BitSet, k int) []rank.Hit
}

// NewSpace makes the space of a snapshot's vectors, in which near finds the
// nearest: rows themselves, or a graph over them.
func NewSpace(s *Snapshot, model string, e QueryEmbedder, rows *vector.Codes, near Nearer) *Space {
	return &Space{model: model, embedder: e, rows: rows, servers: serverMeans(s, rows, nil), means: newKept[*vector.Codes](keptMeans), near: near}
}

// WithPhrases is the space with the vectors of each document's phrases, absent
// where there is none. They are part of their tools' already: they explain
// scores.
func (sp *Space) WithPhrases(phrases [][]vector.Code) *Space {
	c := *sp
	c.phrases = phrases
	return &c
}

// said are the vectors of a document's phrases; nil without any.
func (sp *Space) said(doc uint32) []vector.Code {
	if sp == nil || int(doc) >= len(sp.phrases) {
		return nil
	}
	return sp.phrases[doc]
}

// Model is the identity of the vectors.
func (sp *Space) Model() string { return sp.model }

// Rows are the vectors by document.
func (sp *Space) Rows() *vector.Codes { return sp.rows }

// serverMeans are the server priors: the unnormalised mean of the unit
// vectors of each server's tools, whose length says how much they belong
// together. Tools without a vector count as zero, and those that sees is not
// true of not at all; nil sees all.
func serverMeans(s *Snapshot, rows *vector.Codes, sees func(doc uint32) bool) *vector.Codes {
	means := vector.NewCodes(len(s.servers), rows.Dims())
	sum := make([]float32, rows.Dims())
	for server, docs := range s.tools {
		clear(sum)
		n := 0
		for _, d := range docs {
			if sees == nil || sees(d) {
				rows.Row(int(d)).AddTo(sum)
				n++
			}
		}
		for i := range sum {
			sum[i] /= float32(max(n, 1))
		}
		means.Set(server, vector.Encode(sum))
	}
	return means
}

// keptMeans is how many scopes' means a space keeps, each of some 256 bytes a
// server.
const keptMeans = 64

type scopeMeans = lru.Cache[*Scope, *vector.Codes]

func isZero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

var errNoQueryVector = errors.New("the query gives no vector")

// QueryVector is the unit vector of a text in one of the snapshot's spaces.
func (s *Snapshot) QueryVector(ctx context.Context, sp *Space, text string) ([]float32, error) {
	return sp.query(ctx, s.queryTimeout, text)
}

// query returns the unit vector of a query's text.
func (sp *Space) query(ctx context.Context, timeout time.Duration, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := sp.embedder.EmbedQuery(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, err)
	}
	if len(v) != sp.rows.Dims() {
		return nil, fmt.Errorf("embed query with %s: vector has %d dimensions, the catalog's have %d", sp.model, len(v), sp.rows.Dims())
	}
	if now := sp.embedder.Model(); now != sp.model {
		return nil, fmt.Errorf("embed query with %s: the embedder is %s by now", sp.model, now)
	}
	out, ok := vector.Unit(v)
	switch {
	case isZero(v): // whose cosine with everything is 0
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, ErrUnknownWords)
	case !ok:
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, errNoQueryVector)
	}
	return out, nil
}
