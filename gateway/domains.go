package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// ErrUnknownDomain reports a domain without tools that the caller sees.
var ErrUnknownDomain = errors.New("there is no such domain")

// A Domain is one server as somebody sees it who browses: its tools in
// groups.
type Domain struct {
	Name, Description string
	Groups            []string // those with most tools first
	Tools             []Member // by group, then name
}

// A Member is a tool with its group.
type Member struct {
	index.Hit
	Group string
}

// Domains are the servers whose tools v shows, in order of name.
func (g *Gateway) Domains(ctx context.Context, v view.View) ([]Domain, error) {
	hits, err := allTools(ctx, g, v.Over(index.Filter{}))
	if err != nil {
		return nil, err
	}
	byServer := map[string][]index.Hit{}
	for _, h := range hits {
		byServer[h.Tool.Server] = append(byServer[h.Tool.Server], h)
	}
	var out []Domain
	for _, name := range slices.Sorted(maps.Keys(byServer)) {
		out = append(out, g.domain(name, byServer[name]))
	}
	return out, nil
}

// Domain is the one server called name, in any case where that is clear.
func (g *Gateway) Domain(ctx context.Context, v view.View, name string) (Domain, error) {
	hits, err := allTools(ctx, g, v.Over(index.Filter{Servers: []string{name}}))
	if err != nil {
		return Domain{}, err
	}
	exact := slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Tool.Server == name })
	hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return exact && h.Tool.Server != name })
	if len(hits) == 0 || slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Tool.Server != hits[0].Tool.Server }) {
		return Domain{}, &Error{
			Problem: fmt.Sprintf("there is no domain %q", words.Excerpt(name)),
			Next:    func(v Vocabulary) string { return v.Labels + " lists what there is" },
			Err:     ErrUnknownDomain,
		}
	}
	return g.domain(hits[0].Tool.Server, hits), nil
}

// allTools are the tools that f allows, in order of name.
func allTools(ctx context.Context, g *Gateway, f index.Filter) ([]index.Hit, error) {
	res, err := g.ix.Search(ctx, index.Query{Filter: f, Limit: math.MaxInt})
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	return res.Hits, nil
}

// domain puts a server's tools into groups.
func (g *Gateway) domain(name string, hits []index.Hit) Domain {
	d := Domain{Name: name, Description: g.serverDescription(name), Tools: make([]Member, len(hits))}
	prefixes := namePrefixes(name, hits)
	sizes := map[string]int{}
	for i, h := range hits {
		group := cmp.Or(g.operator(name).Tools[h.Tool.Name].Group, words.Cut(h.Tool.Group, words.MaxLabel), prefixes[i], h.Category, "Other")
		d.Tools[i] = Member{Hit: h, Group: group}
		sizes[group]++
	}
	d.Groups = slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a, b))
	})
	place := map[string]int{}
	for i, group := range d.Groups {
		place[group] = i
	}
	slices.SortStableFunc(d.Tools, func(a, b Member) int { return cmp.Compare(place[a.Group], place[b.Group]) })
	return d
}

// sharing is how many tools must begin with a word for it to be a group.
const sharing = 3

// namePrefixes are, for each tool, the first word of its name where enough
// tools of the server share it. Words that all share, or that only repeat the
// server's name, tell nothing and do not count.
func namePrefixes(server string, hits []index.Hit) []string {
	names := make([][]string, len(hits))
	for i, h := range hits {
		names[i] = nameWords(h.Tool.Name)
		for _, w := range nameWords(server) {
			if len(names[i]) > 1 && names[i][0] == w {
				names[i] = names[i][1:]
			}
		}
	}
	for len(names) > 1 && !slices.ContainsFunc(names, func(w []string) bool { return len(w) < 2 || w[0] != names[0][0] }) {
		for i := range names {
			names[i] = names[i][1:]
		}
	}
	count := map[string]int{}
	for _, w := range names {
		if len(w) > 0 {
			count[w[0]]++
		}
	}
	out := make([]string, len(hits))
	for i, w := range names {
		if len(w) > 0 && count[w[0]] >= sharing {
			out[i] = w[0]
		}
	}
	return out
}

// nameWords splits a name at what is neither letter nor digit, and before a
// capital after a small letter.
func nameWords(name string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range words.Cut(name, words.MaxName) {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
