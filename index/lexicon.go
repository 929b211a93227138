package index

import (
	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/snapshot"
)

// minLexicon is the number of terms below which a lexicon is left alone.
const minLexicon = 50_000

// compactLexicon forgets the terms that no tool has any more, when they are
// most of all: a server whose descriptions name the time of day would fill
// memory otherwise. Documents are shared with snapshots, so they are copied
// with their new numbers. The caller holds mu and swaps the snapshot.
func (ix *Index) compactLexicon() {
	n := ix.lexicon.Len()
	if n <= max(minLexicon, ix.roomy) {
		return
	}
	number, used := ix.usedTerms()
	if 2*used > n {
		ix.roomy = 2 * n
		return
	}
	old := ix.lexicon.View()
	ix.lexicon = bm25.Lexicon{}
	for id := range number {
		if number[id] > 0 {
			number[id] = ix.lexicon.Add(old.Term(uint32(id)))
		}
	}
	for _, sv := range ix.servers {
		entries := make(map[string]*snapshot.Document, len(sv.entries))
		for id, e := range sv.entries {
			entries[id] = e.Renumbered(number)
		}
		sv.entries = entries // one that is being written keeps its own
	}
	ix.roomy = 4 * used
}

// usedTerms marks the terms that a tool has, by id, and counts them. The
// caller holds mu.
func (ix *Index) usedTerms() (mark []uint32, used int) {
	mark = make([]uint32, ix.lexicon.Len())
	for _, sv := range ix.servers {
		for _, e := range sv.entries {
			for _, id := range e.Searched().Terms {
				if mark[id] == 0 {
					mark[id] = 1
					used++
				}
			}
		}
	}
	return mark, used
}
