package spaces

import (
	"context"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/vector"
)

// auditSample is how many queries an audit makes up when it is given none.
const auditSample = 200

// An Audit compares graph searches with the exact scan.
type Audit struct {
	Model     string        `json:"model"`
	Documents int           `json:"documents"`
	Queries   int           `json:"queries"`
	Built     time.Duration `json:"built_ns"` // time that building the graph took
	EF        int           `json:"ef"`       // the beam that searches would use
	Beams     []Beam        `json:"beams"`
}

// A Beam is what searches with one width of the beam found.
type Beam struct {
	EF     int           `json:"ef"`
	Recall float64       `json:"recall"`    // share of the exact best ten
	Median time.Duration `json:"median_ns"` // of one search
}

// AuditGraph builds a graph over the vectors that serve, whatever the size of the
// catalog, and compares its answers with the exact scan at every beam of efs.
// Queries are the vectors of texts, or, without texts, made up between the
// documents. It fails with
// snapshot.ErrNoVectors when no vectors serve.
func AuditGraph(ctx context.Context, s *snapshot.Snapshot, texts []string, efs []int) (Audit, error) {
	sp := s.Serving()
	if sp == nil || len(s.Docs()) == 0 {
		return Audit{}, fmt.Errorf("audit graph: %w", snapshot.ErrNoVectors)
	}
	queries, err := auditQueries(ctx, s, texts)
	if err != nil {
		return Audit{}, fmt.Errorf("audit graph: %w", err)
	}
	start := time.Now()
	keys := graphKeys(s.Docs())
	g, err := hnsw.Build(ctx, keys, sp.Rows(), hnsw.BuildOptions{})
	if err != nil {
		return Audit{}, fmt.Errorf("audit graph: %w", err)
	}
	a := Audit{Model: sp.Model(), Documents: len(s.Docs()), Queries: queries.Rows(), Built: time.Since(start), EF: g.EF()}
	bound, err := g.Bind(keys, sp.Rows(), hnsw.IndexOptions{})
	if err != nil {
		return Audit{}, fmt.Errorf("audit graph: %w", err)
	}
	measured, err := bound.Audit(ctx, queries, efs)
	for _, m := range measured {
		a.Beams = append(a.Beams, Beam{m.EF, m.Recall, m.Time})
	}
	return a, err
}

// auditQueries embeds texts; those without a vector are left out.
func auditQueries(ctx context.Context, s *snapshot.Snapshot, texts []string) (*vector.Codes, error) {
	sp := s.Serving()
	if len(texts) == 0 {
		return hnsw.SampleQueries(sp.Rows(), auditSample), nil
	}
	var all []vector.Code
	var last error
	for _, text := range texts {
		v, err := s.QueryVector(ctx, sp, text)
		if err != nil {
			last = err
			continue
		}
		all = append(all, vector.Encode(v))
	}
	if len(all) == 0 {
		return nil, last
	}
	queries := vector.NewCodes(len(all), sp.Rows().Dims())
	for i, code := range all {
		queries.Set(i, code)
	}
	return queries, ctx.Err()
}
