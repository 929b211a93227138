package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	similarTerms = 24 // weightiest terms of a tool that look for others
	reasonTerms  = 4  // terms named in a reason
)

// Similar returns the tools most like the tool id, best first, without it.
// Tools of the same text become one row that names the others' homes.
func (ix *Index) Similar(ctx context.Context, id string, f Filter, limit int) ([]Neighbor, error) {
	s := ix.snapshot()
	doc, ok := s.find(id)
	if !ok {
		return nil, fmt.Errorf("similar tools: tool %s is not in the catalog", id)
	}
	run := s.likeTool(doc, &f, cmp.Or(limit, defaultLimit))
	defer run.end()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("similar tools of %s: %w", s.docs[doc].qualified, err)
	}
	return run.neighbors(doc), nil
}

// likeTool scores the catalog by a tool's own vector and weightiest terms.
func (s *snapshot) likeTool(doc uint32, f *Filter, limit int) *search {
	r := &search{s: s, q: &Query{Filter: *f}, limit: limit, mode: Keyword}
	r.allowed, r.count = s.allowed(f)
	for _, sp := range s.spaces {
		if sp.absent == nil || !sp.absent[doc] {
			r.mode = Hybrid
			r.use(sp, sp.rows.Row(int(doc)))
			break
		}
	}
	r.scratch = scratches.Get().(*scratch)
	r.reset(len(s.docs), len(s.servers))
	s.lexical.Like(&r.lexical, doc, similarTerms, s.lexicon)
	r.score()
	return r
}

// neighbors folds the best rows by text.
func (r *search) neighbors(self uint32) []Neighbor {
	// Near-duplicates fill places of the ranking: ask for more and ask again
	// with still more while folding leaves too few.
	for k := 4 * r.limit; ; k *= 4 {
		r.top.reset(k)
		r.each(func(d uint32) {
			if d != self && r.scores[d] > 0 {
				r.top.push(d, r.scores[d])
			}
		})
		rows := r.top.sorted()
		out := r.folded(rows, self)
		if len(out) == r.limit || len(rows) < k {
			return out
		}
	}
}

func (r *search) folded(rows []scored, self uint32) []Neighbor {
	var out []Neighbor
	place := map[uint64]int{}
	for _, row := range rows {
		d := r.s.docs[row.doc]
		if i, ok := place[d.twin]; ok {
			out[i].Homes = append(out[i].Homes, d.qualified)
			continue
		}
		if len(out) == r.limit {
			continue
		}
		place[d.twin] = len(out)
		n := Neighbor{Hit: r.s.hit(row.doc), Reason: r.reasonFor(self, row.doc)}
		n.Score = row.score
		out = append(out, n)
	}
	for i := range out {
		slices.Sort(out[i].Homes)
	}
	return out
}

// reasonFor names what two tools share: text, inputs, rare words, category.
func (r *search) reasonFor(a, b uint32) string {
	x, y := r.s.docs[a], r.s.docs[b]
	if x.twin == y.twin {
		return "same tool at another server"
	}
	var why []string
	inputs, words := r.s.shared(a, b)
	if len(inputs) > 0 {
		why = append(why, "inputs "+strings.Join(inputs, ", "))
	}
	if len(words) > 0 {
		why = append(why, "words "+strings.Join(words, ", "))
	}
	if x.category == y.category && x.category != otherCategory {
		why = append(why, "category "+x.category)
	}
	if len(why) == 0 {
		return "similar meaning"
	}
	return "shares " + strings.Join(why, "; ")
}

// shared returns the rarest terms that both tools have as inputs, and those
// that both have in name, title or description.
func (s *snapshot) shared(a, b uint32) (inputs, words []string) {
	x, y := &s.docs[a].terms, &s.docs[b].terms
	const inText = 1<<fieldName | 1<<fieldTitle | 1<<fieldDescription
	type common struct {
		id    uint32
		input bool
	}
	var both []common
	for i, j := 0, 0; i < len(x.Terms) && j < len(y.Terms); {
		switch c := cmp.Compare(x.Terms[i], y.Terms[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			mask := x.Masks[i] & y.Masks[j]
			text := x.Masks[i]&inText != 0 && y.Masks[j]&inText != 0
			if mask&(1<<fieldParams) != 0 || text {
				both = append(both, common{x.Terms[i], !text})
			}
			i++
			j++
		}
	}
	df := s.lexical.Stats().DF
	slices.SortFunc(both, func(p, q common) int {
		return cmp.Or(cmp.Compare(df[p.id], df[q.id]), strings.Compare(s.lexicon.Term(p.id), s.lexicon.Term(q.id)))
	})
	for _, c := range both {
		list := &words
		if c.input {
			list = &inputs
		}
		if len(*list) < reasonTerms {
			*list = append(*list, s.lexicon.Term(c.id))
		}
	}
	return inputs, words
}
