package index

import (
	"math"
	"slices"
)

// minServers is how many allowed servers the diversity rule needs.
const minServers = 3

// diversify applies the diversity rule to the best rows, which are in order:
// beyond its share of the limit a server's further rows move behind rows of
// other servers that score at least DiversityWithin of theirs. Scores stay.
func (r *search) diversify(rows []scored) []scored {
	if !r.mixes() {
		return rows
	}
	share := int(math.Ceil(r.s.params.Diversity * float64(r.limit)))
	// The rows that can be among the first are the best of all servers, and,
	// for every server that crowds those, the best of the servers that do not.
	var crowding []uint32
	for {
		server, over := r.crowder(rows, share, crowding)
		if !over || crowding == nil && !r.hasServers(minServers) {
			break
		}
		if crowding = append(crowding, server); len(crowding) == 1 {
			rows = slices.Clone(rows) // they lie in the ranking that is used again
		}
		rows = r.mixed(rows, crowding)
	}
	if crowding == nil {
		return rows
	}
	return r.reorder(rows, share)
}

// mixes says whether the diversity rule applies, but for the number of servers.
func (r *search) mixes() bool {
	p := &r.s.params
	return p.Diversity > 0 && p.Diversity < 1 && len(r.q.Filter.Servers) == 0 && !r.named.qualified
}

// reach is the share of the last row's score that a document must have to take
// part in the answer: rows that are weighed down keep at least that much, so
// that none below it can move ahead of them.
func (r *search) reach() float64 {
	if !r.mixes() {
		return 1
	}
	return min(1, max(0, r.s.params.DiversityWithin))
}

// crowder returns a server that has more rows than its share and is not known.
func (r *search) crowder(rows []scored, share int, known []uint32) (server uint32, over bool) {
	count := map[uint32]int{}
	for _, row := range rows {
		server = r.s.server[row.doc]
		if count[server]++; count[server] > share && !slices.Contains(known, server) {
			return server, true
		}
	}
	return 0, false
}

// hasServers says whether at least n servers have allowed tools.
func (r *search) hasServers(n int) bool {
	seen := map[uint32]bool{}
	for d, server := range r.s.server {
		if r.allows(uint32(d)) {
			seen[server] = true
		}
		if len(seen) == n {
			return true
		}
	}
	return false
}

// mixed adds the best rows of servers that do not crowd.
func (r *search) mixed(rows []scored, crowding []uint32) []scored {
	others := r.bestSeen(r.limit, func(d uint32) bool {
		return !slices.Contains(crowding, r.s.server[d]) && (r.mode != Keyword || r.scores[d] > 0)
	})
	for _, c := range others {
		if r.passes(c.score) && !slices.ContainsFunc(rows, func(row scored) bool { return row.doc == c.doc }) {
			rows = append(rows, c)
		}
	}
	return rows
}

// reorder ranks rows with those beyond their server's share weighed down, and
// cuts them at the limit. A weighed-down row goes behind an equal one.
func (r *search) reorder(rows []scored, share int) []scored {
	slices.SortFunc(rows, func(a, b scored) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	type weighed struct {
		scored
		weight float64
		over   bool
	}
	count := map[uint32]int{}
	list := make([]weighed, len(rows))
	for i, row := range rows {
		server := r.s.server[row.doc]
		count[server]++
		list[i] = weighed{row, row.score, count[server] > share}
		if list[i].over {
			list[i].weight *= r.s.params.DiversityWithin
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int {
		switch {
		case a.weight != b.weight && a.weight > b.weight, a.weight == b.weight && b.over && !a.over:
			return -1
		case a.weight == b.weight && a.over == b.over:
			return 0
		}
		return 1
	})
	out := rows[:0]
	for _, w := range list[:min(len(list), r.limit)] {
		out = append(out, w.scored)
	}
	return out
}
