package snapshot

import (
	"github.com/bits-and-blooms/bitset"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/index/tool"
	"github.com/tooldex/tooldex/index/vector"
)

// A Scope says which tools a caller may see; nil shows all. Each state of the
// catalog asks it once for each tool and keeps the answers, so a rule that
// changes is a new Scope.
type Scope struct {
	sees  func(*tool.Tool) bool
	alone bool
}

// NewScope is the Scope of a rule, which must be pure. The tools it is asked
// about have no Raw.
func NewScope(sees func(*tool.Tool) bool) *Scope { return &Scope{sees: sees} }

// Alone is a scope that shows the same, and in which scores are made of what it
// shows alone: how many tools have a word, and what a server's tools have in
// common, is not told of others. Scores are then not those of other scopes.
func (s *Scope) Alone() *Scope {
	c := *s
	c.alone = true
	return &c
}

// IsAlone says whether scores are made of what the scope shows alone.
func (s *Scope) IsAlone() bool { return s != nil && s.alone }

// Sees says whether the scope shows a tool.
func (s *Scope) Sees(t *tool.Tool) bool { return s == nil || s.sees(t) }

// keptScopes is how many scopes a snapshot keeps compiled: one for each
// endpoint and caller of late.
const keptScopes = 128

// scopes are the compiled ones, as bitmaps that nobody may change.
type scopes = lru.Cache[*Scope, *bitset.BitSet]

// newKept is a table of what is kept by scope.
func newKept[T any](n int) *lru.Cache[*Scope, T] {
	c, err := lru.New[*Scope, T](n)
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

// weigh has a query weighed by what the scope of its caller shows, where that
// is wanted.
func weigh(r *search) {
	if seen := seenBy(r.s, r.q.Filter.Scope); seen != nil {
		r.lexical.Sees = func(doc uint32) bool { return seen.Test(uint(doc)) }
		if r.q.Filter.Scope.alone {
			r.lexical.Among = max(int(seen.Count()), 1)
		}
	}
}

// means are the servers' means, of what the scope shows where that is wanted.
func means(r *search) *vector.Codes {
	scope := r.q.Filter.Scope
	if !scope.IsAlone() {
		return r.space.servers
	}
	kept, ok := r.space.means.Get(scope)
	if !ok {
		seen := seenBy(r.s, scope)
		kept = serverMeans(r.s, r.space.rows, func(doc uint32) bool { return seen.Test(uint(doc)) })
		r.space.means.Add(scope, kept)
	}
	return kept
}
