package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/tooldex/tooldex/index/vector"
)

// minServers is how many allowed servers the diversity rule needs.
const minServers = 3

// diversify applies the diversity rule to the best rows, which are in order:
// beyond its share of the limit a server's further rows move behind rows of
// other servers that score at least DiversityWithin of theirs. Scores stay.
func (r *search) diversify(rows []vector.Hit) []vector.Hit {
	p := &r.s.params
	if p.Diversity <= 0 || p.Diversity >= 1 || len(r.q.Filter.Servers) > 0 || r.named.qualified {
		return rows
	}
	share := int(math.Ceil(p.Diversity * float64(r.limit)))
	// The rows that can be among the first are the best of all servers, and,
	// for every server that crowds those, the best of the servers that do not.
	var crowding []uint32
	for {
		server, over := r.crowder(rows, share, crowding)
		if !over || crowding == nil && !r.hasServers(minServers) {
			break
		}
		crowding = append(crowding, server)
		rows = r.mixed(rows, crowding)
	}
	if crowding == nil {
		return rows
	}
	return r.reorder(rows, share)
}

// crowder returns a server that has more rows than its share and is not known.
func (r *search) crowder(rows []vector.Hit, share int, known []uint32) (server uint32, over bool) {
	count := map[uint32]int{}
	for _, row := range rows {
		server = r.s.server[row.Doc]
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
func (r *search) mixed(rows []vector.Hit, crowding []uint32) []vector.Hit {
	others := r.bestOf(r.limit, func(d uint32) bool { return !slices.Contains(crowding, r.s.server[d]) })
	for _, c := range others {
		if !slices.ContainsFunc(rows, func(row vector.Hit) bool { return row.Doc == c.Doc }) {
			rows = append(rows, c)
		}
	}
	return rows
}

// reorder ranks rows with those beyond their server's share weighed down, and
// cuts them at the limit. A weighed-down row goes behind an equal one.
func (r *search) reorder(rows []vector.Hit, share int) []vector.Hit {
	sortHits(rows)
	type weighed struct {
		vector.Hit
		weight float64
		over   int // 1 beyond its server's share
	}
	count := map[uint32]int{}
	list := make([]weighed, len(rows))
	for i, row := range rows {
		server := r.s.server[row.Doc]
		count[server]++
		list[i] = weighed{Hit: row, weight: row.Score}
		if count[server] > share {
			list[i].weight *= r.s.params.DiversityWithin
			list[i].over = 1
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.over, b.over))
	})
	out := rows[:0]
	for _, w := range list[:min(len(list), r.limit)] {
		out = append(out, w.Hit)
	}
	return out
}

// sortHits sorts by score, ties by number.
func sortHits(hits []vector.Hit) {
	slices.SortFunc(hits, func(a, b vector.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
}
