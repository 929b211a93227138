package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// List returns one page of the allowed tools and how many there are in all.
// Used says how often a tool was executed, and how often that failed.
func (s *Snapshot) List(l Listing, used func(id string) (total, failed int64)) ([]Hit, int) {
	set, count := s.allowed(&l.Filter)
	docs := make([]uint32, 0, count)
	for _, d := range s.byName() {
		if set == nil || set.Test(uint(d)) {
			docs = append(docs, d)
		}
	}
	s.order(docs, l, used)
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
func (s *Snapshot) order(docs []uint32, l Listing, used func(id string) (total, failed int64)) {
	if !l.Descending && (l.Sort == ByName || l.Sort == "") {
		return
	}
	keys := make(map[uint32]sortValue, len(docs))
	for _, d := range docs {
		keys[d] = s.docs[d].sortValue(l.Sort, used)
	}
	slices.SortFunc(docs, func(a, b uint32) int {
		return cmp.Or(keys[a].compare(keys[b], l.Descending),
			strings.Compare(s.docs[a].Qualified, s.docs[b].Qualified), cmp.Compare(a, b))
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

func (d *Document) sortValue(key SortKey, used func(id string) (total, failed int64)) sortValue {
	switch key {
	case ByName, "":
		return sortValue{text: d.Tool.Name}
	case ByCreatedAt:
		return sortValue{number: float64(d.Tool.FirstSeen.UnixMicro()), none: d.Tool.FirstSeen.IsZero()}
	case ByCategory:
		return sortValue{text: d.Category, none: d.Category == ""}
	}
	total, failed := used(d.ID)
	if key == ByExecutionCount {
		return sortValue{number: float64(total)}
	}
	if total == 0 {
		return sortValue{none: true}
	}
	return sortValue{number: float64(total-failed) / float64(total)}
}
