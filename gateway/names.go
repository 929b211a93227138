package gateway

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// suggestions is how many tools an error about an unknown name proposes.
const suggestions = 3

// Resolve finds the one tool that name means among those that v shows. What v
// hides takes the same path, and gives the same text, as what does not exist.
func (g *Gateway) Resolve(v view.View, name string) (index.Hit, error) {
	hits := g.ix.Resolve(name, v.Scope)
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
	server, bare, _ := strings.Cut(name, "/")
	if err := g.neverListed(v, name); err != nil {
		return err
	}
	if why := g.operator(server).Disabled; why != "" && v.Scope.Sees(&index.Tool{Server: server, Name: bare}) {
		return &Error{
			Tool:    words.Excerpt(name),
			Problem: fmt.Sprintf("server %s is disabled: %s", server, why),
			Next: func(v Vocabulary) string {
				return "its entry of mcpServers must be mended; " + v.Search + " finds the tools of other servers"
			},
			Err: ErrUnknownTool,
		}
	}
	hits := g.ix.Suggest(name, v.Scope, suggestions)
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

// A Reporter is a [Caller] that tells how its servers are.
type Reporter interface {
	Status() []upstream.Status
}

// neverListed is the error for a tool of a configured server whose tools
// nobody knows yet, nil where they are known. A server that the view hides is
// answered as one that does not exist.
func (g *Gateway) neverListed(v view.View, name string) error {
	calls, ok := g.calls.(Reporter)
	if !ok {
		return nil
	}
	for _, st := range calls.Status() {
		own, known := (*g.servers.Load())[st.Name]
		if !known || own.Hidden || !st.Listed.IsZero() || !strings.HasPrefix(name, st.Name+"/") && !strings.HasPrefix(name, st.Name+"__") {
			continue
		}
		unnamed := index.Tool{Server: st.Name}
		if own.apply(&unnamed); !v.Scope.Sees(&unnamed) {
			continue
		}
		return unlisted(st, name)
	}
	return nil
}

// unlisted says what keeps the tools of a server from being known.
func unlisted(st upstream.Status, name string) error {
	e := &Error{Tool: words.Excerpt(name), Name: name, Err: ErrUnknownTool}
	switch st.State {
	case upstream.Disabled:
		return nil // which says why elsewhere
	case upstream.Backoff, upstream.NeedsLogin:
		e.Problem = fmt.Sprintf("the tools of server %s are not known, as it could not be connected: %s", st.Name, st.Error)
		e.Next = func(v Vocabulary) string {
			return fmt.Sprintf("tooldex goes on trying, and %s says how server %s is; %s finds the tools of other servers", v.Status, st.Name, v.Search)
		}
	default:
		e.Problem = fmt.Sprintf("the tools of server %s are still being listed for the first time", st.Name)
		e.Next = func(v Vocabulary) string {
			return fmt.Sprintf("call again in some seconds; %s says how server %s is", v.Status, st.Name)
		}
	}
	return e
}

// away says of those servers of the hits that cannot be called now why not. One
// that is started for a call can be.
func away(c Caller, hits []index.Hit) map[string]string {
	calls, ok := c.(Reporter)
	if !ok || len(hits) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, st := range calls.Status() {
		cause := cmp.Or(st.Error, st.Why, "it cannot be connected")
		switch {
		case st.State == upstream.Disabled, st.State == upstream.Backoff, st.State == upstream.NeedsLogin:
			out[st.Name] = fmt.Sprintf("server %s: %s", st.State, cause)
		case st.State == upstream.Idle && st.Failed:
			out[st.Name] = fmt.Sprintf("its server could not be reached: %s; a call tries again", cause)
		}
	}
	return out
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
		if hits := g.ix.Resolve(name, v.Scope); len(hits) == 1 && hits[0].ID == h.ID {
			return name
		}
	}
	return h.ID
}
