package catalog

import (
	"maps"
	"slices"

	"github.com/tooldex/tooldex/index/snapshot"
)

// categorize gives the tools of a server their categories. The caller holds
// mu.
func (in *contents) categorize(sv *server) {
	docs := make([]*snapshot.Document, 0, len(sv.entries)) // in an order that does not depend on the map's
	for _, id := range slices.Sorted(maps.Keys(sv.entries)) {
		docs = append(docs, sv.entries[id])
	}
	for i, c := range snapshot.Categorize(docs, in.lexicon.View()) {
		switch d := docs[i]; d.Category {
		case c:
		case "": // a new document, which nobody else has
			d.Category = c
		default:
			changed := *d
			changed.Category = c
			sv.entries[d.ID] = &changed
			in.unsaved++
		}
	}
}
