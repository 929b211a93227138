package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// A space is the vectors of one identity for a snapshot's documents, with the
// embedder that makes query vectors for them. It is immutable.
type space struct {
	model    string        // identity of the vectors
	embedder Embedder      // for queries
	rows     *vector.Codes // by document
	servers  *vector.Codes // by server: the mean of its tools' vectors, not normalised
	near     nearer        // candidates among many documents
}

// A nearer finds the k documents that are nearest to a query, or most of them:
// best first.
type nearer interface {
	Near(q *vector.Query, allowed *bitset.BitSet, k int) []rank.Hit
}

// newSpace makes the space of a snapshot's vectors, which are scanned.
func newSpace(s *snapshot, model string, e Embedder, rows *vector.Codes) *space {
	return &space{model: model, embedder: e, rows: rows, servers: serverMeans(s, rows), near: rows}
}

// serverMeans are the server priors: the unnormalised mean of the unit
// vectors of each server's tools, whose length says how much they belong
// together. Tools without a vector count as zero.
func serverMeans(s *snapshot, rows *vector.Codes) *vector.Codes {
	means := vector.NewCodes(len(s.servers), rows.Dims())
	sum := make([]float32, rows.Dims())
	for server, docs := range s.tools {
		clear(sum)
		for _, d := range docs {
			rows.Row(int(d)).AddTo(sum)
		}
		for i := range sum {
			sum[i] /= float32(len(docs))
		}
		means.Set(server, vector.Encode(sum))
	}
	return means
}

func isZero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

var errNoQueryVector = errors.New("the query gives no vector")

// query returns the unit vector of a query's text.
func (sp *space) query(ctx context.Context, timeout time.Duration, text string) ([]float32, error) {
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
	out, ok := unit(v)
	switch {
	case isZero(v): // whose cosine with everything is 0
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, ErrUnknownWords)
	case !ok:
		return nil, fmt.Errorf("embed query with %s: %w", sp.model, errNoQueryVector)
	}
	return out, nil
}

// unit returns v at length 1, unless it is zero or not finite.
func unit(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	n := 1 / math.Sqrt(sum)
	if math.Abs(n-1) < 1e-6 {
		return v, true
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) * n)
	}
	return out, true
}
