package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

const (
	similarTerms   = 24 // weightiest terms of a tool that look for others
	nearDuplicates = 4  // rows ranked for each that is wanted, as some are one tool's
)

// Similar returns the tools most like the tool id, best first, without it.
// Tools of the same text become one row that names the others' homes.
func (s *Snapshot) Similar(ctx context.Context, id string, f Filter, limit int) ([]Neighbor, error) {
	doc, ok := s.find(id)
	if !ok {
		return nil, fmt.Errorf("similar tools: tool %s is not in the catalog", id)
	}
	if limit < 0 {
		return nil, fmt.Errorf("similar tools: limit %d is negative", limit)
	}
	limit = cmp.Or(limit, defaultLimit)
	run := s.likeTool(doc, &f, limit)
	defer run.end()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("similar tools of %s: %w", s.docs[doc].Qualified, err)
	}
	return run.neighbors(doc, limit), nil
}

// likeTool scores the catalog by a tool's own vector and weightiest terms.
func (s *Snapshot) likeTool(doc uint32, f *Filter, limit int) *search {
	r := &search{s: s, q: &Query{Filter: *f}, limit: nearDuplicates * limit, mode: Keyword}
	r.allowed, r.count = s.allowed(f)
	r.scratch = scratches.Get().(*scratch)
	r.reset(len(s.docs), len(s.servers))
	for _, sp := range s.spaces {
		if sp.rows.Has(int(doc)) {
			r.mode = Hybrid
			r.use(sp, sp.rows.Row(int(doc)))
			break
		}
	}
	if f.Scope.IsAlone() {
		weigh(r)
	}
	s.lexical.Like(&r.lexical, doc, similarTerms, s.lexicon)
	r.score()
	return r
}

// neighbors folds the best rows by text into limit neighbors. Near-duplicates
// fill places of the ranking: while folding leaves too few it asks for more.
func (r *search) neighbors(self uint32, limit int) []Neighbor {
	for most := nearDuplicates * limit; ; most *= nearDuplicates {
		rows := r.bestOf(most, func(d uint32) bool { return d != self && r.scores[d] > 0 })
		if out := r.folded(rows, self, limit); len(out) == limit || len(rows) < most {
			return out
		}
	}
}

func (r *search) folded(rows []rank.Hit, self uint32, limit int) []Neighbor {
	var out []Neighbor
	ref := newReference(r, self)
	place := map[uint64]int{}
	for _, row := range rows {
		d := r.s.docs[row.Doc]
		if i, ok := place[d.Twin]; ok {
			out[i].Homes = append(out[i].Homes, d.Qualified)
			continue
		}
		if len(out) == limit {
			continue
		}
		place[d.Twin] = len(out)
		n := Neighbor{Hit: r.s.hit(row.Doc), Reason: ref.reason(row.Doc)}
		n.Score = row.Score
		out = append(out, n)
	}
	for i := range out {
		slices.Sort(out[i].Homes)
	}
	return out
}
