package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/rank"
)

const (
	similarTerms   = 24 // weightiest terms of a tool that look for others
	reasonTerms    = 4  // terms named in a reason
	nearDuplicates = 4  // rows ranked for each that is wanted, as some are one tool's
)

// Similar returns the tools most like the tool id, best first, without it.
// Tools of the same text become one row that names the others' homes.
func (ix *Index) Similar(ctx context.Context, id string, f Filter, limit int) ([]Neighbor, error) {
	s := ix.snapshot()
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
		return nil, fmt.Errorf("similar tools of %s: %w", s.docs[doc].qualified, err)
	}
	return run.neighbors(doc, limit), nil
}

// likeTool scores the catalog by a tool's own vector and weightiest terms.
func (s *snapshot) likeTool(doc uint32, f *Filter, limit int) *search {
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
	ref := r.s.reference(self)
	place := map[uint64]int{}
	for _, row := range rows {
		d := r.s.docs[row.Doc]
		if i, ok := place[d.twin]; ok {
			out[i].Homes = append(out[i].Homes, d.qualified)
			continue
		}
		if len(out) == limit {
			continue
		}
		place[d.twin] = len(out)
		n := Neighbor{Hit: r.s.hit(row.Doc), Reason: ref.reason(row.Doc)}
		n.Score = row.Score
		out = append(out, n)
	}
	for i := range out {
		slices.Sort(out[i].Homes)
	}
	return out
}

// A reference is the tool that others are compared with.
type reference struct {
	s       *snapshot
	doc     uint32
	surface map[string]string // by term: the word of its text it came from
}

func (s *snapshot) reference(doc uint32) *reference {
	ref := &reference{s: s, doc: doc, surface: map[string]string{}}
	an := analyzers.Get().(*analysis.Analyzer)
	defer analyzers.Put(an)
	t := &s.docs[doc].tool
	text := analysis.Bound(t.Name+" "+t.Title+" "+t.Description, analysis.MaxBytes)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) }) {
		for _, tok := range an.Tokens(word) {
			if _, known := ref.surface[tok.Text]; !known {
				ref.surface[tok.Text] = strings.ToLower(word)
			}
		}
	}
	return ref
}

// reason names what the reference shares with a tool: text, inputs, rare
// words, category.
func (ref *reference) reason(doc uint32) string {
	x, y := ref.s.docs[ref.doc], ref.s.docs[doc]
	if x.twin == y.twin {
		return "same text"
	}
	var why []string
	if inputs := sharedInputs(x.inputs, y.inputs); len(inputs) > 0 {
		why = append(why, "inputs "+strings.Join(inputs, ", "))
	}
	if words := ref.words(y); len(words) > 0 {
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

func sharedInputs(a, b string) []string {
	other := strings.Fields(b)
	var out []string
	for _, name := range strings.Fields(a) {
		if len(out) < reasonTerms && slices.Contains(other, name) {
			out = append(out, name)
		}
	}
	return out
}

// words are the rarest words that both tools have in name, title or
// description, as the reference writes them.
func (ref *reference) words(other *document) []string {
	ids := sharedTerms(&ref.s.docs[ref.doc].terms, &other.terms)
	df := ref.s.lexical.Stats().DF
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(df[a], df[b]), strings.Compare(ref.s.lexicon.Term(a), ref.s.lexicon.Term(b)))
	})
	var out []string
	for _, id := range ids {
		word := ref.surface[ref.s.lexicon.Term(id)]
		if word != "" && !slices.Contains(out, word) && len(out) < reasonTerms {
			out = append(out, word)
		}
	}
	return out
}

// sharedTerms are the terms that both documents have in name, title or
// description.
func sharedTerms(x, y *bm25.Doc) []uint32 {
	const text = 1<<fieldName | 1<<fieldTitle | 1<<fieldDescription
	var out []uint32
	for i, j := 0, 0; i < len(x.Terms) && j < len(y.Terms); {
		switch c := cmp.Compare(x.Terms[i], y.Terms[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			if x.Masks[i]&text != 0 && y.Masks[j]&text != 0 {
				out = append(out, x.Terms[i])
			}
			i++
			j++
		}
	}
	return out
}
