package snapshot

import (
	"github.com/bits-and-blooms/bitset"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/index/tool"
)

// A Scope says which tools a caller may see; nil shows all. Each state of the
// catalog asks it once for each tool and keeps the answers, so a rule that
// changes is a new Scope.
type Scope struct{ sees func(*tool.Tool) bool }

// NewScope is the Scope of a rule, which must be pure. The tools it is asked
// about have no Raw.
func NewScope(sees func(*tool.Tool) bool) *Scope { return &Scope{sees} }

// Sees says whether the scope shows a tool.
func (s *Scope) Sees(t *tool.Tool) bool { return s == nil || s.sees(t) }

// keptScopes is how many scopes a snapshot keeps compiled: one for each
// endpoint and caller of late.
const keptScopes = 128

// scopes are the compiled ones, as bitmaps that nobody may change.
type scopes = lru.Cache[*Scope, *bitset.BitSet]

func newScopes() *scopes {
	c, err := lru.New[*Scope, *bitset.BitSet](keptScopes)
	if err != nil { // only for a size below 1
		panic(err)
	}
	return c
}

// seenBy is the bitmap of the documents that the scope shows; nil for all. It is
// not to be changed.
func seenBy(s *Snapshot, scope *Scope) *bitset.BitSet {
	if scope == nil {
		return nil
	}
	if set, ok := s.scopes.Get(scope); ok {
		return set
	}
	n := uint(len(s.docs))
	sel := selection{s, bitset.New(n).FlipRange(0, n)}
	sel.keepParallel(func(doc uint) bool { return scope.sees(&s.docs[doc].Tool) })
	s.scopes.Add(scope, sel.set)
	return sel.set
}
