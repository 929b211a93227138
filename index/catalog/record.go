package catalog

import (
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/store"
	"github.com/tooldex/tooldex/index/tool"
)

// storedEntry is a tool as the store takes it.
func storedEntry(e *snapshot.Document, raw []byte) store.Entry {
	return store.Entry{
		ID:        store.ParseID(e.ID),
		Sum:       e.Sum,
		Texts:     e.Embedded[:],
		Head:      tool.EncodeHead(&e.Tool),
		Raw:       raw,
		FirstSeen: e.Tool.FirstSeen,
	}
}

// storedTool is a tool as it is stored, without Raw.
func storedTool(se *store.Entry) (tool.Tool, error) {
	t, err := tool.DecodeHead(se.Head)
	t.FirstSeen = se.FirstSeen.UTC()
	return t, err
}
