package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/tool"
)

// Resolve returns the tools that name can mean among those that scope allows:
// the matches of the first level that has any of exact qualified name, id,
// another spelling (server__name, server.name, server:name), bare name. What
// looks like an id is none of the others, and a name that begins with one of
// the servers means nothing elsewhere: a tool that has gone must not be
// replaced by another server's of a confusable name.
func (s *Snapshot) Resolve(name string, scope *Scope) []Hit {
	docs, _ := newViewer(s, scope).resolve(name)
	hits := make([]Hit, len(docs))
	for i, d := range docs {
		hits[i] = s.hit(d)
	}
	return hits
}

// spellings are the separators of server and name that are understood beside
// the qualified name's own.
var spellings = []string{"__", ".", ":"}

const (
	spelledLevel = 2
	bareLevel    = 3 // the last of resolve's levels
)

// resolve finds the documents of the first level that has visible ones, in
// order of qualified name.
func (v viewer) resolve(name string) (docs []uint32, level int) {
	if isID(name) {
		return v.see(v.withID(name)), 0
	}
	levels := [...]func() []uint32{
		func() []uint32 { return v.qualified(name) },
		func() []uint32 { return v.withID(name) },
		spelledLevel: func() []uint32 { return v.spelled(name) },
		bareLevel:    func() []uint32 { return v.names.find(name) },
	}
	for i, find := range levels {
		docs = v.see(find())
		if i >= spelledLevel && len(docs) > 0 {
			docs = v.owned(docs, name, i)
		}
		if len(docs) > 0 {
			return docs, i
		}
	}
	return nil, 0
}

// isID says whether name is written as the ids are.
func isID(name string) bool {
	return len(name) == 12 && strings.Trim(name, "0123456789abcdef") == ""
}

// A viewer looks at a snapshot within a scope.
type viewer struct {
	*Snapshot
	seen *bitset.BitSet // nil shows everything
}

func newViewer(s *Snapshot, scope *Scope) viewer { return viewer{s, seenBy(s, scope)} }

// visible says whether the viewer sees a document.
func (v viewer) visible(doc uint32) bool {
	return v.seen == nil || v.seen.Test(uint(doc))
}

// owned returns those of docs that name, found on a level, may mean as it
// begins with a server that the caller can see.
func (v viewer) owned(docs []uint32, name string, level int) []uint32 {
	owner := v.owner(name)
	foreign := func(d uint32) bool { return v.docs[d].Tool.Server != owner }
	switch {
	case owner == "":
		return docs
	case level == bareLevel:
		return slices.DeleteFunc(docs, foreign)
	case !slices.ContainsFunc(docs, func(d uint32) bool { return !foreign(d) }):
		return nil
	}
	return docs // of several servers, one of which is the owner
}

// owner is the server that name begins with: what stands before the first
// slash, else the longest before another separator; "" when the caller can
// see none such.
func (v viewer) owner(name string) string {
	if server, _, ok := strings.Cut(name, "/"); ok && v.serves(server) {
		return server
	}
	for i := min(len(name)-1, v.names.longestServer); i > 0; i-- {
		begins := func(sep string) bool { return strings.HasPrefix(name[i:], sep) }
		if slices.ContainsFunc(spellings, begins) && v.serves(name[:i]) {
			return name[:i]
		}
	}
	return ""
}

// serves says whether the viewer sees a tool of server.
func (v viewer) serves(server string) bool {
	n, ok := slices.BinarySearch(v.servers, server)
	return ok && slices.ContainsFunc(v.tools[n], func(d uint32) bool { return v.visible(d) })
}

// see returns those of docs that scope lets the caller see, sorted by name.
func (v viewer) see(docs []uint32) []uint32 {
	var out []uint32
	for _, d := range docs {
		if v.visible(d) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Or(strings.Compare(v.docs[a].Qualified, v.docs[b].Qualified), cmp.Compare(a, b))
	})
	return slices.Compact(out)
}

// qualified finds the tools whose qualified name is name.
func (v viewer) qualified(name string) []uint32 {
	out := v.split(name, "/")
	for _, d := range v.names.find(name) {
		if v.docs[d].Tool.Server == "" {
			out = append(out, d)
		}
	}
	return out
}

// spelled finds the tools that name means in another spelling.
func (v viewer) spelled(name string) []uint32 {
	var out []uint32
	for _, sep := range spellings {
		out = append(out, v.split(name, sep)...)
	}
	return out
}

// split finds the tools whose server and name are the two sides of sep, at
// any place where name has it.
func (v viewer) split(name, sep string) []uint32 {
	if len(name) > v.names.longestServer+len(sep)+v.names.longest {
		return nil
	}
	var out []uint32
	for i := 1; i < len(name) && i <= v.names.longestServer; i++ {
		if !strings.HasPrefix(name[i:], sep) {
			continue
		}
		for _, d := range v.names.find(name[i+len(sep):]) {
			if v.docs[d].Tool.Server == name[:i] {
				out = append(out, d)
			}
		}
	}
	return out
}

func (v viewer) withID(id string) []uint32 {
	var out []uint32
	d, _ := v.find(id)
	for ; int(d) < len(v.docs) && v.docs[d].ID == id; d++ {
		out = append(out, d)
	}
	return out
}

// naming is what a query's text names.
type naming struct {
	docs      []uint32
	qualified bool // a server is named with a tool
}

// namesIn finds the tools that a query names: when it is nothing but a name
// in any spelling, or has among its words a qualified name, or a bare one of
// several parts. Single words do not count within a sentence: they are far
// more often plain English than names.
func (v viewer) namesIn(text string) naming {
	var n naming
	text = analysis.Bound(text, analysis.MaxBytes)
	if docs, level := v.resolve(text); len(docs) > 0 {
		return naming{docs: docs, qualified: level != bareLevel}
	}
	for _, word := range strings.FieldsFunc(text, delimits) {
		v.named(strings.TrimFunc(word, edge), &n)
		if parts := strings.FieldsFunc(word, unspaced); len(parts) > 0 && len(parts[0]) < len(word) {
			for _, part := range parts {
				v.named(strings.TrimFunc(part, edge), &n)
			}
		}
	}
	slices.Sort(n.docs)
	n.docs = slices.Compact(n.docs)
	return n
}

func (v viewer) named(word string, n *naming) {
	docs := append(v.split(word, "/"), v.spelled(word)...)
	if docs = v.see(docs); len(docs) > 0 {
		n.docs = append(n.docs, docs...)
		n.qualified = true
		return
	}
	if compound(word) {
		n.docs = append(n.docs, v.see(v.names.find(word))...)
	}
}

// unspaced are the letters of scripts that put no spaces around a name.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

func delimits(r rune) bool {
	return unicode.IsSpace(r) || r > unicode.MaxASCII && unicode.IsPunct(r) || strings.ContainsRune("\"'`“”‘’«»()[]{}<>,;|", r)
}

// edge says whether r is punctuation that may stick to a name.
func edge(r rune) bool { return strings.ContainsRune(".:!?*#@", r) }

// compound says whether a name has two parts or more: joined, or with a camel
// hump. A digit alone is no part.
func compound(word string) bool {
	lower := false
	for i, r := range word {
		if strings.ContainsRune("_-/", r) && i > 0 && i+1 < len(word) {
			return true
		}
		if lower && unicode.IsUpper(r) {
			return true
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	return false
}

const (
	minOverlap = .35 // words shared of all words, for a name to be suggested
	maxTypos   = 3   // letters of a bare name for each edit that it may be away
)

// Suggest returns up to n tools whose names are nearest to name among those
// that scope allows.
func (s *Snapshot) Suggest(name string, scope *Scope, n int) []Hit {
	g, v := newGuess(name), newViewer(s, scope)
	var top rank.Top
	top.Reset(n)
	order := s.byName()
	for place, d := range order {
		if !v.visible(d) {
			continue
		}
		t := &s.docs[d].Tool
		if like := g.likeness(t); like > 0 {
			top.Offer(rank.Hit{Doc: uint32(place), Score: like})
		}
	}
	hits := make([]Hit, 0, n)
	for _, c := range top.Hits {
		hits = append(hits, s.hit(order[c.Doc]))
	}
	return hits
}

// A guess compares names with one that was not found.
type guess struct {
	runes   []rune
	words   []string
	sep     string // between server and name
	row     []int  // of distance
	scratch []rune // of spelled
}

func newGuess(name string) *guess {
	name = strings.ToLower(boundRunes(name))
	g := &guess{runes: []rune(name), words: nameWords(name), sep: "/"}
	for _, sep := range spellings {
		if !strings.Contains(name, g.sep) && strings.Contains(name, sep) {
			g.sep = sep
		}
	}
	return g
}

// boundRunes bounds what edit distance looks at: it is quadratic.
func boundRunes(s string) string {
	n := 0
	for i := range s {
		if n == 100 {
			return s[:i]
		}
		n++
	}
	return s
}

func nameWords(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// likeness is in [0, 1]: the better of edit distance over length, and the
// words the names share of all their words; 0 for a tool that is near by
// neither. The server's letters do not make its other tools near.
func (g *guess) likeness(t *tool.Tool) float64 {
	name := strings.ToLower(boundRunes(t.Name))
	qualified := name
	if t.Server != "" {
		qualified = strings.ToLower(boundRunes(t.Server + g.sep + t.Name))
	}
	typos := utf8.RuneCountInString(name) / maxTypos
	like := max(g.spelled(name, typos), g.spelled(qualified, typos))
	shared := g.overlap(name)
	if shared > 0 {
		shared = max(shared, g.overlap(qualified))
	}
	if shared >= minOverlap {
		like = max(like, shared)
	}
	return like
}

// spelled is 1 less the edit distance over the length, 0 beyond that many
// typos.
func (g *guess) spelled(name string, typos int) float64 {
	g.scratch = g.scratch[:0]
	for _, r := range name {
		g.scratch = append(g.scratch, r)
	}
	if longer := len(g.scratch) - len(g.runes); longer > typos || -longer > typos {
		return 0
	}
	d := g.distance(g.scratch)
	if d > typos {
		return 0
	}
	return 1 - float64(d)/float64(max(len(g.runes), len(g.scratch), 1))
}

func (g *guess) overlap(name string) float64 {
	shared, other := 0, 0
	for _, w := range nameWords(name) {
		if slices.Contains(g.words, w) {
			shared++
		} else {
			other++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(other+max(len(g.words), shared))
}

// distance is the Levenshtein distance between g's name and b.
func (g *guess) distance(b []rune) int {
	g.row = g.row[:0]
	for j := 0; j <= len(b); j++ {
		g.row = append(g.row, j)
	}
	for i, x := range g.runes {
		diagonal := g.row[0]
		g.row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = g.row[j+1]
			g.row[j+1] = min(cost, diagonal+1, g.row[j]+1)
		}
	}
	return g.row[len(b)]
}

// A nameTable finds documents by bare name.
type nameTable struct {
	docs map[string][]uint32

	longest, longestServer int // in bytes
}

func newNameTable(docs []*Document) *nameTable {
	t := &nameTable{docs: make(map[string][]uint32, len(docs))}
	for i, d := range docs {
		t.docs[d.Tool.Name] = append(t.docs[d.Tool.Name], uint32(i))
		t.longest = max(t.longest, len(d.Tool.Name))
		t.longestServer = max(t.longestServer, len(d.Tool.Server))
	}
	return t
}

// find returns the documents of a bare name, in order.
func (t *nameTable) find(name string) []uint32 { return t.docs[name] }
