package snapshot

import (
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

// A folding shows the rows of a search with each text once.
type folding struct {
	*search
	same map[uint64][]uint32 // the documents of a row's text, by it
}

// distinct are the k best rows, each text once under the copy that scores
// best. Copies fill places of the ranking: while folding leaves too few it
// asks for more.
func (f *folding) distinct(k int) []rank.Hit {
	for most := 2 * k; ; most *= nearDuplicates {
		all := f.bestOf(most, nil)
		if rows := f.fold(all, k); len(rows) == k || len(all) < most {
			return rows
		}
	}
}

// fold keeps the first row of each text, k rows at most.
func (f *folding) fold(all []rank.Hit, k int) (rows []rank.Hit) {
	f.same = map[uint64][]uint32{}
	for _, row := range all {
		twin := f.s.docs[row.Doc].Twin
		docs, known := f.same[twin]
		switch {
		case known && !slices.Contains(docs, row.Doc):
			f.same[twin] = append(docs, row.Doc)
		case !known && len(rows) < k:
			rows, f.same[twin] = append(rows, row), []uint32{row.Doc}
		}
	}
	return rows
}

// others are the qualified names of the copies of a row: those met while
// folding, and what else has its name.
func (f *folding) others(row uint32) (names []string) {
	self := f.s.docs[row]
	met := f.same[self.Twin]
	if met == nil {
		return nil
	}
	for _, d := range f.s.names.find(self.Tool.Name) {
		if !slices.Contains(met, d) && f.s.docs[d].Twin == self.Twin && f.allows(d) {
			met = append(met, d)
		}
	}
	for _, d := range met {
		if d != row {
			names = append(names, f.s.docs[d].Qualified)
		}
	}
	slices.Sort(names)
	return names
}

// fresh says that no row has the text of a document.
func (f *folding) fresh(doc uint32) bool { return f.same[f.s.docs[doc].Twin] == nil }
