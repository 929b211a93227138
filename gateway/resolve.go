package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// suggestions is how many tools an error about an unknown name proposes.
const suggestions = 3

// resolve finds the one tool that name means among those in scope. What the
// scope hides takes the same path, and gives the same text, as what does not
// exist.
func (g *Gateway) resolve(metaTool, name string) (index.Hit, error) {
	hits := g.ix.Resolve(name, g.opts.Scope)
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		return index.Hit{}, g.unknownTool(metaTool, name)
	}
	return index.Hit{}, &callError{
		msg:  fmt.Sprintf("%s: %q is the name of %d tools: %s", metaTool, excerptText(name), len(hits), join(qualifiedNames(hits, 20))),
		hint: "call again with one of these names",
	}
}

func (g *Gateway) unknownTool(metaTool, name string) error {
	server, _, _ := strings.Cut(name, "/")
	if why := g.opts.Servers[server].Disabled; why != "" {
		return &callError{
			msg:  fmt.Sprintf("%s %s: server %s is disabled: %s", metaTool, excerptText(name), server, why),
			hint: "its entry of mcpServers must be mended, and tooldex started again; search_tools finds the tools of other servers",
		}
	}
	hint := "find tools with search_tools"
	if near := qualifiedNames(g.ix.Suggest(name, g.opts.Scope, suggestions), suggestions); len(near) > 0 {
		hint = "nearest names: " + join(near) + "; or " + hint
	}
	return &callError{msg: fmt.Sprintf("%s: there is no tool %q", metaTool, excerptText(name)), hint: hint}
}

// qualifiedNames names at most n of the hits.
func qualifiedNames(hits []index.Hit, n int) []string {
	var names []string
	for i, h := range hits {
		if i == n {
			return append(names, fmt.Sprintf("and %d more", len(hits)-n))
		}
		names = append(names, shownName(&h.Tool))
	}
	return names
}

// excerptText keeps messages readable when a name is not.
func excerptText(s string) string {
	return cut(s, 201)
}

type categoriesAnswer struct {
	Categories     []count `json:"categories"`
	MoreCategories int     `json:"more_categories,omitempty"` // that are not listed
	Total          int     `json:"total_tools"`
	Tags           []count `json:"tags,omitempty"`
	MoreTags       int     `json:"more_tags,omitempty"`
	Servers        []count `json:"servers,omitempty"`
	MoreServers    int     `json:"more_servers,omitempty"`
}

type count struct {
	Name        string `json:"name"`
	Count       int    `json:"count"`
	Description string `json:"description,omitempty"`
}

func (g *Gateway) toolCategories(_ context.Context, raw json.RawMessage, _ caller) (*Answer, error) {
	a := readArgs("get_tool_categories", raw, "include_tags", "include_servers")
	withTags := a.flag("include_tags", true)
	withServers := a.flag("include_servers", false)
	if err := a.failure(); err != nil {
		return nil, err
	}
	categories, tags, servers, total := g.ix.Categories(index.Filter{Scope: g.opts.Scope})
	out := categoriesAnswer{Total: total}
	out.Categories, out.MoreCategories = counts(categories, maxLabel)
	if withTags {
		out.Tags, out.MoreTags = counts(tags, maxLabel)
	}
	if withServers {
		out.Servers, out.MoreServers = counts(servers, maxShownServer)
		for i := range out.Servers {
			out.Servers[i].Description = cut(g.serverDescription(servers[i].Name), maxReason)
		}
	}
	return newAnswer(out)
}

// counts are the first maxCounted of in, the most frequent, with names of at
// most that length, and how many more there are.
func counts(in []index.CategoryCount, most int) (out []count, more int) {
	n := min(len(in), maxCounted)
	out = make([]count, n)
	for i, c := range in[:n] {
		out[i] = count{Name: cut(c.Name, most), Count: c.Count, Description: c.Description}
	}
	return out, len(in) - n
}

type similarAnswer struct {
	Reference string       `json:"reference_tool"`
	Similar   []similarRow `json:"similar_tools"`
}

type similarRow struct {
	Name       string   `json:"name"` // qualified
	Similarity float64  `json:"similarity"`
	Reason     string   `json:"reason"`
	Also       []string `json:"same_as,omitempty"` // near-duplicates elsewhere
}

func (g *Gateway) similarTools(ctx context.Context, raw json.RawMessage, _ caller) (*Answer, error) {
	a := readArgs("get_similar_tools", raw, "tool_name", "limit")
	name := a.required("tool_name", `give a tool as search_tools names it, "server/tool" or its id`)
	limit := a.integer("limit", span{1, 20, 5})
	if err := a.failure(); err != nil {
		return nil, err
	}
	hit, err := g.resolve("get_similar_tools", name)
	if err != nil {
		return nil, err
	}
	near, err := g.ix.Similar(ctx, hit.ID, index.Filter{Scope: g.opts.Scope}, limit)
	if err != nil {
		return nil, fmt.Errorf("get_similar_tools %s: %w", hit.Tool.QualifiedName(), err)
	}
	out := similarAnswer{Reference: shownName(&hit.Tool), Similar: make([]similarRow, len(near))}
	for i, n := range near {
		out.Similar[i] = similarRow{
			Name: shownName(&n.Tool), Similarity: math.Round(n.Score*1e4) / 1e4, Reason: cut(n.Reason, maxReason),
			Also: cutAll(n.Homes, maxShownServer+1+maxShownName, maxHomes),
		}
	}
	return newAnswer(out)
}
