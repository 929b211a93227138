package gateway

import (
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// suggestions is how many tools an error about an unknown name proposes.
const suggestions = 3

// Resolve finds the one tool that name means among those that v shows. What v
// hides takes the same path, and gives the same text, as what does not exist.
func (g *Gateway) Resolve(v view.View, name string) (index.Hit, error) {
	hits := g.ix.Resolve(name, v.Visible)
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return index.Hit{}, g.unknownTool(v, name)
	}
	return index.Hit{}, &Error{
		Problem: fmt.Sprintf("%q is the name of %d tools: %s", words.Excerpt(name), len(hits), words.Join(qualifiedNames(hits, 20))),
		Next:    say("call again with one of these names"),
		Name:    name,
		Near:    hits,
		Err:     ErrAmbiguousName,
	}
}

func (g *Gateway) unknownTool(v view.View, name string) error {
	server, _, _ := strings.Cut(name, "/")
	if why := g.operator(server).Disabled; why != "" {
		return &Error{
			Tool:    words.Excerpt(name),
			Problem: fmt.Sprintf("server %s is disabled: %s", server, why),
			Next: func(v Vocabulary) string {
				return "its entry of mcpServers must be mended; " + v.Search + " finds the tools of other servers"
			},
			Err: ErrUnknownTool,
		}
	}
	hits := g.ix.Suggest(name, v.Visible, suggestions)
	near := qualifiedNames(hits, suggestions)
	return &Error{
		Problem: fmt.Sprintf("there is no tool %q", words.Excerpt(name)),
		Next: func(v Vocabulary) string {
			if len(near) == 0 {
				return "find tools with " + v.Search
			}
			return "nearest names: " + words.Join(near) + "; or find tools with " + v.Search
		},
		Name: name, Near: hits, Err: ErrUnknownTool,
	}
}

// qualifiedNames names at most n of the hits.
func qualifiedNames(hits []index.Hit, n int) []string {
	var names []string
	for i, h := range hits {
		if i == n {
			return append(names, fmt.Sprintf("and %d more", len(hits)-n))
		}
		names = append(names, words.ToolName(h.Tool.Server, h.Tool.Name))
	}
	return names
}

// ShortName is the shortest spelling that means the tool and no other that v
// shows: its bare name, else with its server before it, else its id.
func (g *Gateway) ShortName(v view.View, h index.Hit) string {
	t := h.Tool
	for _, name := range []string{t.Name, t.Server + "__" + t.Name, t.QualifiedName()} {
		if len(name) > words.MaxName {
			break
		}
		if hits := g.ix.Resolve(name, v.Visible); len(hits) == 1 && hits[0].ID == h.ID {
			return name
		}
	}
	return h.ID
}
