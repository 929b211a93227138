// Package native offers the tools of a view to clients as if they were the
// gateway's own: under names that clients take, in pages, and run like any
// other.
//
// A name depends on the tool alone, and an object is the upstream's but for its
// name: neither changes with who asks or with what other servers have. What a
// view shows is listed once for each state of the catalog.
package native

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// keptLists is how many views' lists are kept, at some 1 MB for 10,000 tools.
const keptLists = 8

// Tools are the tools of a gateway as clients see them. They are safe for
// concurrent use.
type Tools struct {
	g       *gateway.Gateway
	entries gateway.Entries
	log     *slog.Logger

	mu    sync.Mutex // guards lists
	lists *simplelru.LRU[*index.Scope, *list]
}

// A list is what one view shows of one state of the catalog.
type list struct {
	state index.State
	rows  []row // in order of name, each of which is there once
}

type row struct {
	name string
	index.Entry
}

// New returns the tools of g.
func New(g *gateway.Gateway, log *slog.Logger) *Tools {
	lists, err := simplelru.NewLRU[*index.Scope, *list](keptLists, nil)
	if err != nil { // only for a size below 1
		panic(err)
	}
	return &Tools{g: g, entries: gateway.EntriesOf(g), log: log, lists: lists}
}

// Has says whether v shows a tool of that name.
func (t *Tools) Has(v view.View, name string) bool {
	_, ok := t.list(v).find(name)
	return ok
}

// list is what v shows by now.
func (t *Tools) list(v view.View) *list {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, ok := t.lists.Get(v.Scope); ok && l.state == t.entries.State() {
		return l
	}
	entries, state := t.entries.In(v)
	l := &list{state: state, rows: make([]row, 0, len(entries))}
	for _, e := range entries {
		if e.Tool.Inexecutable == "" {
			l.rows = append(l.rows, row{Name(e.Tool.Server, e.Tool.Name), e})
		}
	}
	slices.SortFunc(l.rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	l.rows = slices.CompactFunc(l.rows, func(a, b row) bool { return a.name == b.name })
	t.lists.Add(v.Scope, l)
	return l
}

func (l *list) find(name string) (row, bool) {
	i, ok := slices.BinarySearchFunc(l.rows, name, func(r row, name string) int { return strings.Compare(r.name, name) })
	if !ok {
		return row{}, false
	}
	return l.rows[i], true
}

// maxName is the longest name that every client takes.
const maxName = 64

// hashDigits end the names that would not be clear otherwise.
const hashDigits = 10

// Name is the name of a tool: server__tool, of A-Z a-z 0-9 _ and - and no
// longer than 64. What does not fit that, or could be read in two ways, is cut
// and ends in a hash of the server's and the tool's names.
func Name(server, tool string) string {
	plain := server + "__" + tool
	if server != "" && tool != "" && len(plain) <= maxName && !strings.ContainsFunc(plain, unnamed) &&
		!strings.Contains(server, "__") && !strings.HasSuffix(server, "_") && !strings.HasPrefix(tool, "_") && !endsInHash(plain) {
		return plain
	}
	if server == "" {
		plain = tool
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	fit := strings.Map(func(r rune) rune {
		if unnamed(r) {
			return '_'
		}
		return r
	}, plain)
	return fit[:min(len(fit), maxName-hashDigits-1)] + "_" + hex.EncodeToString(sum[:hashDigits/2])
}

// unnamed says that r is in no name.
func unnamed(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '-')
}

// endsInHash says whether a name looks like one with a hash.
func endsInHash(name string) bool {
	i := len(name) - hashDigits
	return i > 0 && name[i-1] == '_' && strings.Trim(name[i:], "0123456789abcdef") == ""
}
