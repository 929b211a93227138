package catalog

import (
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/snapshot"
)

// minLexicon is the number of terms below which a lexicon is left alone.
const minLexicon = 50_000

// compactLexicon forgets the terms that no tool has any more, when they are
// most of all: a server whose descriptions name the time of day would fill
// memory otherwise. Documents are shared with snapshots, so they are copied
// with their new numbers. The caller holds Catalog.mu and swaps the snapshot.
func (in *contents) compactLexicon() {
	n := in.lexicon.Len()
	if n <= max(minLexicon, in.roomy) {
		return
	}
	number, used := in.usedTerms()
	if 2*used > n {
		in.roomy = 2 * n
		return
	}
	old := in.lexicon.View()
	in.lexicon = bm25.Lexicon{}
	for id := range number {
		if number[id] > 0 {
			number[id] = in.lexicon.Add(old.Term(uint32(id)))
		}
	}
	for _, sv := range in.servers {
		entries := make(map[string]*snapshot.Document, len(sv.entries))
		for id, e := range sv.entries {
			entries[id] = e.Renumbered(number)
		}
		sv.entries = entries // one that is being written keeps its own
	}
	in.roomy = 4 * used
}

// usedTerms marks the terms that a tool has, by id, and counts them. The
// caller holds mu.
func (in *contents) usedTerms() (mark []uint32, used int) {
	mark = make([]uint32, in.lexicon.Len())
	for _, sv := range in.servers {
		for _, e := range sv.entries {
			for _, id := range e.Terms.Terms {
				if mark[id] == 0 {
					mark[id] = 1
					used++
				}
			}
		}
	}
	return mark, used
}
