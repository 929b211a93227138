package index

import (
	"cmp"
	"slices"
	"strings"
)

// List returns one page of the allowed tools and how many there are in all.
func (ix *Index) List(l Listing) ([]Hit, int) {
	s := ix.snapshot()
	set, count := s.allowed(&l.Filter)
	docs := make([]uint32, 0, count)
	for _, d := range s.byName() {
		if set == nil || set.Test(uint(d)) {
			docs = append(docs, d)
		}
	}
	ix.order(s, docs, l)
	from := min(max(l.Offset, 0), len(docs))
	to := len(docs)
	if l.Limit > 0 {
		to = min(to, from+l.Limit)
	}
	hits := make([]Hit, 0, to-from)
	for _, d := range docs[from:to] {
		hits = append(hits, s.hit(d))
	}
	return hits, count
}

// order sorts docs, which are in name order, by the listing's key. Those
// without a value come last in both orders, ties in order of qualified name.
func (ix *Index) order(s *snapshot, docs []uint32, l Listing) {
	if !l.Descending && (l.Sort == ByName || l.Sort == "") {
		return
	}
	keys := make(map[uint32]sortValue, len(docs))
	for _, d := range docs {
		keys[d] = ix.sortValue(s.docs[d], l.Sort)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		return cmp.Or(keys[a].compare(keys[b], l.Descending),
			strings.Compare(s.docs[a].qualified, s.docs[b].qualified), cmp.Compare(a, b))
	})
}

// A sortValue is what a listing sorts by; either member may be in use.
type sortValue struct {
	text   string
	number float64
	none   bool
}

func (x sortValue) compare(y sortValue, descending bool) int {
	switch {
	case x.none && y.none:
		return 0
	case x.none:
		return 1
	case y.none:
		return -1
	case descending:
		x, y = y, x
	}
	return cmp.Or(strings.Compare(x.text, y.text), cmp.Compare(x.number, y.number))
}

func (ix *Index) sortValue(d *document, key SortKey) sortValue {
	switch key {
	case ByName, "":
		return sortValue{text: d.tool.Name}
	case ByCreatedAt:
		return sortValue{number: float64(d.tool.FirstSeen.UnixMicro()), none: d.tool.FirstSeen.IsZero()}
	case ByCategory:
		return sortValue{text: d.category, none: d.category == ""}
	}
	m := ix.Metrics(d.id)
	if key == ByExecutionCount {
		return sortValue{number: float64(m.Total)}
	}
	if m.Total == 0 {
		return sortValue{none: true}
	}
	return sortValue{number: float64(m.Total-m.Failed) / float64(m.Total)}
}
