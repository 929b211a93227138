package labels

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Rotate makes n sets of one in which tools have several requests each: in
// every set one in n of a tool's requests is asked, and the others are phrases
// of the tool. So a set that phrases were made from can be measured with
// phrases, and no request is its own answer.
func (s *Set) Rotate(n int) ([]*Set, error) {
	turns, most := s.turns(n)
	if most < 2 {
		return nil, fmt.Errorf("rotate set %s: no tool has two requests, so that one could be a phrase of the other", s.Title())
	}
	sets := make([]*Set, 0, n)
	for turn := range n {
		r := *s
		r.Split = fmt.Sprintf("%s-%dof%d", cmp.Or(s.Split, "all"), turn+1, n)
		r.Tools, r.Queries = slices.Clone(s.Tools), nil
		said := map[string][]string{}
		for i, q := range s.Queries {
			if turns[i] == turn {
				r.Queries = append(r.Queries, q)
				continue
			}
			for tool := range q.Relevant {
				said[tool] = append(said[tool], q.Text)
			}
		}
		for i := range r.Tools {
			r.Tools[i].Phrases = slices.Concat(r.Tools[i].Phrases, said[Key(r.Tools[i])])
		}
		if len(r.Queries) > 0 {
			sets = append(sets, &r)
		}
	}
	return sets, nil
}

// turns says in which of n rotations each query is asked, and how many
// requests a tool has at most. The requests of a tool take turns.
func (s *Set) turns(n int) (turns []int, most int) {
	next := map[string]int{}
	turns = make([]int, len(s.Queries))
	for i, q := range s.Queries {
		first := ""
		if tools := slices.Sorted(maps.Keys(q.Relevant)); len(tools) > 0 {
			first = tools[0]
		}
		turns[i] = next[first] % n
		next[first]++
		if first != "" {
			most = max(most, next[first])
		}
	}
	return turns, most
}
