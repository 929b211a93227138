package snapshot

import (
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

// minServers is how many allowed servers the diversity rule needs.
const minServers = 3

// diversify applies the diversity rule to the best rows, unless it is off, few
// servers are allowed, or the query or a filter names one. Rows beyond them
// are taken as fresh says.
func (r *search) diversify(rows []rank.Hit, fresh func(doc uint32) bool) []rank.Hit {
	p := &r.s.params
	if p.Diversity <= 0 || p.Diversity >= 1 || len(r.q.Filter.Servers) > 0 || r.named.qualified || !r.hasServers(minServers) {
		return rows
	}
	mix := rank.Mix{
		Limit: r.limit, Share: p.Diversity, Within: p.DiversityWithin,
		Server: func(doc uint32) uint32 { return r.s.server[doc] },
		Others: func(servers []uint32) []rank.Hit {
			return r.bestOf(r.limit, func(d uint32) bool { return !slices.Contains(servers, r.s.server[d]) && fresh(d) })
		},
	}
	return mix.Rows(rows)
}

// hasServers says whether at least n servers have allowed tools.
func (r *search) hasServers(n int) bool {
	var seen []uint32
	for d, server := range r.s.server {
		if !slices.Contains(seen, server) && r.allows(uint32(d)) {
			seen = append(seen, server)
		}
		if len(seen) == n {
			return true
		}
	}
	return false
}
