package snapshot

import "github.com/tooldex/tooldex/index/tool"

// An Entry is one tool of the whole catalog.
type Entry struct {
	ID   string
	Tool *tool.Tool // without Raw; not to be changed
	Sum  [16]byte   // of everything of the tool that is searched or shown, with Raw
}

// A State stands for the tools of a snapshot: it is equal as long as these are
// the same, whatever the parameters and vectors.
type State struct{ of *scopes }

// StateOf is the state of a snapshot.
func StateOf(s *Snapshot) State { return State{s.scopes} }

// Entries are all tools of a snapshot that scope allows, in order of their
// ids.
func Entries(s *Snapshot, scope *Scope) []Entry {
	v := newViewer(s, scope)
	var out []Entry
	for i, d := range s.docs {
		if v.visible(uint32(i)) {
			out = append(out, Entry{ID: d.ID, Tool: &d.Tool, Sum: d.Sum})
		}
	}
	return out
}
