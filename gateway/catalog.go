package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

// A Server is what an operator says of one server and its tools, beside what
// the server says itself.
type Server struct {
	Description string        // shown by describe_tool; "" means the server's own
	Tags        []string      // added to every tool
	Category    string        // of every tool; "" leaves it to the tool and the index
	Visibility  string        // of every tool; "" means "public"
	Teams       []string      // that own the tools
	Owners      []string      // principals who see the tools where Visibility is private
	Phrases     []string      // searched with every tool, never shown
	Integration string        // of every tool: "REST"; "" means MCP
	Hidden      bool          // keep all its tools out of every search and list
	Trusted     bool          // believe annotations when deciding about retries
	Annotated   bool          // believe annotations about the effects of tools
	Timeout     time.Duration // of one call; 0 means Options.Timeout
	Tools       map[string]Override

	// Disabled says why the server does not run and has no tools; "" when it
	// does. Whoever names one of its tools is told.
	Disabled string
}

// An Override replaces parts of one tool. Zero values leave what the server
// says; the original stays in the tool's Raw.
type Override struct {
	Description string
	Tags        []string // in place of the tool's own, beside the server's
	Category    string
	Effect      string          // of running it, one of those of package tool; "" leaves it to the server
	Group       string          // among its server's tools; "" leaves it to the server
	Examples    []index.Example // shown before the tool's own
	Phrases     []string        // searched, never shown
	Hidden      bool            // keep the tool out of every search and list
	Shown       bool            // although its server is hidden
}

// Sync stores l as all the tools of server, with what Options.Servers says of
// it, and returns what changed. Tools that do not decode are left out and
// named in the Diff's warnings.
func (g *Gateway) Sync(ctx context.Context, server string, l upstream.Listing) (index.Diff, error) {
	tools, warnings := g.Tools(server, l)
	g.about.set(server, l.Instructions)
	diff, err := g.ix.Replace(ctx, server, tools)
	if err != nil {
		return diff, fmt.Errorf("store tools of server %s: %w", server, err)
	}
	all := append(append(warnings, l.Warnings...), diff.Warnings...)
	diff.Warnings = fewest(words.CutAll(all, 2*words.MaxReason, len(all)), maxWarnings)
	g.log.Info("catalog changed", "server", server, "added", len(diff.Added), "changed", len(diff.Changed),
		"removed", len(diff.Removed), "unchanged", diff.Unchanged, "warnings", len(diff.Warnings))
	return diff, nil
}

// Tools are the tools that server listed, with what the operator says of it
// laid over them, and warnings about those that are odd or left out.
func (g *Gateway) Tools(server string, l upstream.Listing) (tools []tool.Tool, warnings []string) {
	settings := g.operator(server)
	tools = make([]tool.Tool, 0, len(l.Tools))
	for i, raw := range l.Tools {
		t, err := tool.Decode(server, raw)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("tool %d of server %s left out: %v", i+1, server, err))
			continue
		}
		if l.ParamHeaders && t.Inexecutable == "" {
			t.Inexecutable = tool.ParamHeaderFault(raw)
		}
		bound(&t)
		for _, w := range t.Warnings {
			warnings = append(warnings, fmt.Sprintf("tool %s: %s", words.ToolName(t.Server, t.Name), w))
		}
		settings.apply(&t)
		tools = append(tools, t)
	}
	for name := range settings.Tools {
		if !hasTool(tools, name) {
			warnings = append(warnings, fmt.Sprintf("server %s has no tool %q, which the configuration overrides", server, name))
		}
	}
	return tools, warnings
}

// operator is what the operator says of a server.
func (g *Gateway) operator(server string) Server { return (*g.servers.Load())[server] }

// SetServers changes what the operator says of each server, by name. Tools
// show it when they are listed again, or made anew from their objects by
// Tools; everything else obeys it at once.
func (g *Gateway) SetServers(servers map[string]Server) { g.servers.Store(&servers) }

// apply puts the operator's words in place of the upstream's.
func (s Server) apply(t *index.Tool) {
	o := s.Tools[t.Name]
	if o.Description != "" {
		t.Listed, t.Description = t.Description, o.Description
	}
	if len(o.Tags) > 0 {
		t.Tags = o.Tags
	}
	t.Tags = union(t.Tags, s.Tags)
	t.Integration = s.Integration
	if s.Category != "" {
		t.Category = s.Category
	}
	if o.Category != "" {
		t.Category = o.Category
	}
	if s.Visibility != "" {
		t.Visibility = s.Visibility
	}
	t.Teams = union(t.Teams, s.Teams)
	t.Examples = append(o.Examples[:len(o.Examples):len(o.Examples)], t.Examples...)
	t.Phrases = union(t.Phrases, o.Phrases, s.Phrases)
	t.Hidden = t.Hidden || o.Hidden || s.Hidden && !o.Shown
}

// union joins lists in order, each value once without regard to case.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			if !containsFold(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func hasTool(tools []tool.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// maxWarnings bounds what is said of one listing.
const maxWarnings = 100

// bound cuts the labels that t came with and says so in its warnings.
func bound(t *index.Tool) {
	if cut := words.CutAll(t.Tags, words.MaxLabel, words.MaxLabels); len(cut) != len(t.Tags) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("it has %d tags; the first %d are kept", len(t.Tags), len(cut)))
		t.Tags = cut
	} else if !slices.Equal(cut, t.Tags) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("a tag is longer than %d characters; it is cut", words.MaxLabel))
		t.Tags = cut
	}
	if c := words.Cut(t.Category, words.MaxLabel); c != t.Category {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its category is longer than %d characters; it is cut", words.MaxLabel))
		t.Category = c
	}
	if utf8.RuneCountInString(t.Name) > words.MaxName {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its name is longer than %d characters; it is shown cut, and called by id", words.MaxName))
	}
	if len(t.Description) > words.MaxDescribed {
		t.Warnings = append(t.Warnings, fmt.Sprintf("its description has %d KB; describe_tool shows no more than %d", len(t.Description)>>10, words.MaxDescribed>>10))
	}
	t.Warnings = words.CutAll(t.Warnings, words.MaxReason, words.MaxLabels)
}

// fewest keeps the first n warnings and counts the others.
func fewest(warnings []string, n int) []string {
	if len(warnings) <= n {
		return warnings
	}
	return append(warnings[:n:n], fmt.Sprintf("and %d more", len(warnings)-n))
}

func containsFold(values []string, s string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, s) })
}

// Labels are what the operator vouches for about a tool: all of its labels
// where its server is trusted, else those of the configuration. Who may see it
// only the operator says.
func (g *Gateway) Labels(t *index.Tool) view.Labels {
	s := g.operator(t.Server)
	o := s.Tools[t.Name]
	l := view.Labels{
		Tags: t.Tags, Category: t.Category, Effect: s.effect(t),
		// A tool that is not labelled anew yet stays as closed as it was.
		Visibility: cmp.Or(s.Visibility, t.Visibility), Teams: s.Teams, Owners: s.Owners,
	}
	if !s.Trusted {
		l.Tags, l.Category = union(o.Tags, s.Tags), cmp.Or(o.Category, s.Category)
	}
	return l
}

// effect is what running the tool may do, as the operator says or believes.
func (s Server) effect(t *index.Tool) string {
	if said := s.Tools[t.Name].Effect; said != "" {
		return said
	}
	if s.Annotated && t.Effect != "" {
		return t.Effect
	}
	return tool.Destructive
}
