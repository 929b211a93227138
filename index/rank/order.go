package rank

import (
	"cmp"
	"math"
	"slices"
)

// A Hit is one found document and its score.
type Hit struct {
	Doc   uint32
	Score float64
}

// Before says whether a ranks before b: by score, ties by number.
func (a Hit) Before(b Hit) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Doc < b.Doc
}

// A Top keeps the best few of the hits that it is offered.
type Top struct {
	k    int
	Hits []Hit // best first
}

// Reset starts anew for the best k.
func (t *Top) Reset(k int) { t.k, t.Hits = k, t.Hits[:0] }

// Least is what a hit must score to be among the best.
func (t *Top) Least() float64 {
	if len(t.Hits) < t.k || t.k == 0 {
		return math.Inf(-1)
	}
	return t.Hits[t.k-1].Score
}

// Offer keeps h if it is among the best so far. That few are makes a sorted
// list quicker than a heap.
func (t *Top) Offer(h Hit) {
	n := len(t.Hits)
	if n == t.k {
		if n == 0 || !h.Before(t.Hits[n-1]) {
			return
		}
		n--
	} else {
		t.Hits = append(t.Hits, h)
	}
	lo, hi := 0, n
	for lo < hi {
		if mid := (lo + hi) / 2; t.Hits[mid].Before(h) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	copy(t.Hits[lo+1:n+1], t.Hits[lo:n])
	t.Hits[lo] = h
}

// A Mix says how rows of several servers are mixed.
type Mix struct {
	Limit  int
	Share  float64 // of the limit that one server may fill
	Within float64 // share of a score that another server's row must reach to move ahead
	Server func(doc uint32) uint32
	// Others are the best rows of all servers but some.
	Others func(servers []uint32) []Hit
}

// Rows applies the diversity rule to the best rows, which are in order: beyond
// its share of the limit a server's further rows move behind rows of other
// servers that score at least Within of theirs. Scores stay.
func (m *Mix) Rows(rows []Hit) []Hit {
	share := int(math.Ceil(m.Share * float64(m.Limit)))
	// The rows that can be among the first are the best of all servers, and,
	// for every server that crowds those, the best of the servers that do not.
	var crowding []uint32
	for {
		server, over := m.crowder(rows, share, crowding)
		if !over {
			break
		}
		crowding = append(crowding, server)
		for _, c := range m.Others(crowding) {
			if !slices.ContainsFunc(rows, func(row Hit) bool { return row.Doc == c.Doc }) {
				rows = append(rows, c)
			}
		}
	}
	if crowding == nil {
		return rows
	}
	return m.reorder(rows, share)
}

// crowder returns a server that has more rows than its share and is not known.
func (m *Mix) crowder(rows []Hit, share int, known []uint32) (server uint32, over bool) {
	count := map[uint32]int{}
	for _, row := range rows {
		server = m.Server(row.Doc)
		if count[server]++; count[server] > share && !slices.Contains(known, server) {
			return server, true
		}
	}
	return 0, false
}

// reorder ranks rows with those beyond their server's share weighed down, and
// cuts them at the limit. A weighed-down row goes behind an equal one.
func (m *Mix) reorder(rows []Hit, share int) []Hit {
	slices.SortFunc(rows, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
	})
	type weighed struct {
		Hit
		weight float64
		over   int // 1 beyond its server's share
	}
	count := map[uint32]int{}
	list := make([]weighed, len(rows))
	for i, row := range rows {
		server := m.Server(row.Doc)
		count[server]++
		list[i] = weighed{Hit: row, weight: row.Score}
		if count[server] > share {
			list[i].weight *= m.Within
			list[i].over = 1
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.over, b.over))
	})
	out := rows[:0]
	for _, w := range list[:min(len(list), m.Limit)] {
		out = append(out, w.Hit)
	}
	return out
}
