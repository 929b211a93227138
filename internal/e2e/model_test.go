package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A modelTool is a tool as the operator and its server speak of it.
type modelTool struct {
	server, name                         string
	tags, claimed                        []string // of the operator, and of the server itself
	category, claimedCategory            string
	visibility                           string
	teams                                []string
	trusted, readOnly, annotated, hidden bool
	effect                               string // of the operator
}

func (m *modelTool) id() string { return m.server + "/" + m.name }

// A modelRule is a rule of a scope, as it is written.
type modelRule struct {
	IncludeTags         []string `json:"include_tags,omitempty"`
	IncludeServers      []string `json:"include_servers,omitempty"`
	IncludeCategories   []string `json:"include_categories,omitempty"`
	IncludeVisibility   []string `json:"include_visibility,omitempty"`
	IncludeTeams        []string `json:"include_teams,omitempty"`
	NamePatterns        []string `json:"name_patterns,omitempty"`
	IntegrationType     string   `json:"integration_type,omitempty"`
	ExcludeTags         []string `json:"exclude_tags,omitempty"`
	ExcludeServers      []string `json:"exclude_servers,omitempty"`
	ExcludeNamePatterns []string `json:"exclude_name_patterns,omitempty"`
}

// anyOf says whether one of the values is wanted, without case.
func anyOf(wanted []string, values ...string) bool {
	return slices.ContainsFunc(values, func(v string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(v, w) })
	})
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return regexp.MustCompile(p).MatchString(name) })
}

// passes is the meaning of a rule as docs/virtual-servers.md has it, key by
// key.
func (r *modelRule) passes(m *modelTool) bool {
	tags, category := m.tags, m.category
	if m.trusted {
		tags = append(slices.Clone(tags), m.claimed...)
		if category == "" {
			category = m.claimedCategory
		}
	}
	ofTeam := anyOf(r.IncludeTeams, m.teams...) || len(m.teams) == 0 && anyOf(r.IncludeVisibility, m.visibility)
	switch {
	case len(r.IncludeTags) > 0 && !anyOf(r.IncludeTags, tags...),
		len(r.IncludeServers) > 0 && !anyOf(r.IncludeServers, m.server),
		len(r.IncludeCategories) > 0 && !anyOf(r.IncludeCategories, category),
		len(r.IncludeVisibility) > 0 && !anyOf(r.IncludeVisibility, m.visibility),
		len(r.IncludeTeams) > 0 && !ofTeam,
		len(r.NamePatterns) > 0 && !matches(r.NamePatterns, m.name),
		r.IntegrationType == "REST":
		return false
	}
	return !anyOf(r.ExcludeTags, m.tags...) && !anyOf(r.ExcludeTags, m.claimed...) && !anyOf(r.ExcludeServers, m.server) && !matches(r.ExcludeNamePatterns, m.name)
}

// A modelEndpoint is a virtual server and what it has to show.
type modelEndpoint struct {
	name, surface string
	rules         []modelRule
	readOnly      bool
	native        bool
	session       *mcp.ClientSession
}

func (e *modelEndpoint) shows(m *modelTool) bool {
	reads := m.effect == "read" || m.effect == "" && m.annotated && m.readOnly
	return !m.hidden && (!e.readOnly || reads) && !slices.ContainsFunc(e.rules, func(r modelRule) bool { return !r.passes(m) })
}

// A model is a catalog, and the virtual servers over it.
type model struct {
	r         *rand.Rand
	tools     []*modelTool
	endpoints []*modelEndpoint
	templates map[string]modelRule
}

var modelWords = struct{ tags, categories, visibility, teams, verbs, nouns []string }{
	[]string{"production", "finance", "beta", "ops"}, []string{"Books", "Mail", "Files"}, []string{"public", "internal", "team", "private"},
	[]string{"red", "blue"}, []string{"read", "send", "close", "find"}, []string{"invoice", "mail", "report", "file"},
}

// some are up to n of the words, seldom in capitals.
func (m *model) some(n int, words []string) (out []string) {
	for range m.r.IntN(n + 1) {
		w := words[m.r.IntN(len(words))]
		if m.r.IntN(4) == 0 {
			w = strings.ToUpper(w)
		}
		out = append(out, w)
	}
	return out
}

func (m *model) one(words []string) string { return words[m.r.IntN(len(words))] }

func (m *model) seldom() bool { return m.r.IntN(4) == 0 }

// serve starts a server of some tools and returns its entry.
func (m *model) serve(t *testing.T, server string) object {
	visibility, teams, trusted, annotated := "public", m.some(1, modelWords.teams), m.seldom(), m.r.IntN(2) == 0
	entry := object{"tags": m.some(2, modelWords.tags), "teams": teams, "trusted": trusted, "effect_from_annotations": annotated, "start": "eager"}
	if m.r.IntN(2) == 0 {
		visibility = m.one(modelWords.visibility)
		entry["visibility"] = visibility
	}
	category := ""
	if m.seldom() {
		category = m.one(modelWords.categories)
		entry["category"] = category
	}
	s, overrides := mcp.NewServer(&mcp.Implementation{Name: server, Version: "1"}, nil), object{}
	for range 8 {
		x := &modelTool{
			server: server, name: fmt.Sprintf("%s_%s_%03d", m.one(modelWords.verbs), m.one(modelWords.nouns), len(m.tools)), tags: entry["tags"].([]string),
			claimed: m.some(2, modelWords.tags), category: category, visibility: visibility, teams: teams, trusted: trusted, annotated: annotated, readOnly: m.r.IntN(2) == 0,
		}
		says := object{}
		if m.seldom() {
			says["tags"] = m.some(2, modelWords.tags)
			x.tags = append(slices.Clone(x.tags), says["tags"].([]string)...)
		}
		claimed := mcp.Meta{"tags": x.claimed}
		if tags, _ := says["tags"].([]string); len(tags) > 0 {
			x.claimed = nil // the operator's stand in place of them
		}
		if m.seldom() {
			x.category = m.one(modelWords.categories)
			says["category"] = x.category
		}
		if m.seldom() {
			x.effect = m.one([]string{"read", "write", "destructive"})
			says["effect"] = x.effect
		}
		if m.r.IntN(8) == 0 {
			x.hidden = true
			says["hidden"] = true
		}
		if m.seldom() {
			x.claimedCategory = m.one(modelWords.categories)
			claimed["category"] = x.claimedCategory
		}
		overrides[x.name] = says
		m.tools = append(m.tools, x)
		s.AddTool(&mcp.Tool{
			Name: x.name, Description: strings.ReplaceAll(x.name[:len(x.name)-4], "_", " ") + " of the firm", InputSchema: json.RawMessage(`{"type":"object"}`), Meta: claimed,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: x.readOnly},
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + x.name}}}, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	entry["url"], entry["tools"] = web.URL, overrides
	return entry
}

// rule is a rule of a few keys.
func (m *model) rule() (r modelRule) {
	for range 1 + m.r.IntN(2) {
		switch m.r.IntN(9) {
		case 0, 1:
			r.IncludeTags = m.some(3, modelWords.tags)
		case 2:
			r.IncludeServers = m.some(4, []string{"alpha", "beta", "gamma", "delta", "nobody"})
		case 3:
			r.IncludeCategories = m.some(3, modelWords.categories)
		case 4:
			r.IncludeVisibility = m.some(4, modelWords.visibility)
		case 5:
			r.IncludeTeams, r.IncludeVisibility = m.some(2, modelWords.teams), m.some(2, modelWords.visibility)
		case 6:
			r.NamePatterns = []string{"^" + m.one(modelWords.verbs), m.one(modelWords.nouns)}
		case 7:
			r.IntegrationType = m.one([]string{"MCP", "any", "MCP", "any", "REST"})
		case 8:
			r.IncludeTeams = m.some(2, modelWords.teams)
		}
	}
	switch m.r.IntN(6) {
	case 0:
		r.ExcludeTags = m.some(2, modelWords.tags)
	case 1:
		r.ExcludeServers = m.some(1, []string{"alpha", "beta", "gamma"})
	case 2:
		r.ExcludeNamePatterns = []string{m.one(modelWords.verbs) + "_"}
	}
	return r
}

// define makes up a virtual server and returns its definition.
func (m *model) define(name, surface string) object {
	e := &modelEndpoint{name: name, surface: surface, native: surface == "direct" || m.seldom(), readOnly: m.r.IntN(5) == 0}
	var scope []any
	for range 1 + m.r.IntN(2) {
		if m.r.IntN(3) == 0 {
			e.rules, scope = append(e.rules, m.templates["shared"]), append(scope, "shared")
			continue
		}
		e.rules = append(e.rules, m.rule())
		scope = append(scope, e.rules[len(e.rules)-1])
	}
	m.endpoints = append(m.endpoints, e)
	return object{"surface": surface, "hide_underlying_tools": !e.native, "readonly": e.readOnly, "scope": scope}
}

// shown are the names of what an endpoint has to show, in order.
func (m *model) shown(e *modelEndpoint, name func(*modelTool) string) []string {
	out := []string{}
	for _, x := range m.tools {
		if e.shows(x) {
			out = append(out, name(x))
		}
	}
	slices.Sort(out)
	return out
}

// Two thousand calls through ten virtual servers of scopes made up at random
// are answered as a model of the documented rules says, and no answer names a
// tool that the model hides.
func TestModelOfScopes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &model{r: rand.New(rand.NewPCG(seed, 2))}
	m.templates = map[string]modelRule{"shared": m.rule()}
	servers, defined := object{}, object{}
	for _, name := range []string{"alpha", "beta", "gamma", "delta"} {
		servers[name] = m.serve(t, name)
	}
	for i, surface := range []string{"meta", "meta", "meta", "meta", "discover", "discover", "discover", "toolbox", "direct", "direct"} {
		name := fmt.Sprint("e", i)
		defined[name] = m.define(name, surface)
	}
	a, _ := process(t, configureWith(t, servers, object{"virtual_servers": defined, "meta_server": object{"scope_templates": m.templates}}))
	a.shows("default", len(m.shown(&modelEndpoint{}, (*modelTool).id)))
	for i, e := range m.endpoints {
		version := []string{"2025-06-18", "2026-07-28"}[i%2]
		e.session = connect(t, &mcp.StreamableClientTransport{Endpoint: "http://" + a.addr + "/servers/" + e.name + "/mcp"}, version)
		t.Logf("%s: %s, %d of %d tools", e.name, e.surface, len(m.shown(e, (*modelTool).id)), len(m.tools))
	}
	var all sync.WaitGroup
	for worker := range uint64(8) { // in parallel, which is faster and tries more
		n := *m
		n.r = rand.New(rand.NewPCG(seed, 100+worker))
		all.Go(func() {
			for range 2000 / 8 {
				if e := n.endpoints[n.r.IntN(len(n.endpoints))]; !t.Failed() {
					n.compare(t, e, n.tools[n.r.IntN(len(n.tools))])
				}
			}
		})
	}
	all.Wait()
	for _, e := range m.endpoints {
		if t.Failed() {
			t.Logf("%s: %+v, read only %t", e.name, e.rules, e.readOnly)
		}
	}
}

// ask calls a tool and asserts that the answer names none that is hidden, but
// the one that is asked for.
func (m *model) ask(t *testing.T, e *modelEndpoint, asked *modelTool, tool string, args object) (text string, failed bool) {
	t.Helper()
	res, err := e.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	if len(res.Content) > 0 {
		text = res.Content[0].(*mcp.TextContent).Text
	}
	for _, x := range m.tools {
		if x != asked && !e.shows(x) && strings.Contains(text, x.name) {
			t.Errorf("%s %s %v names %s, which is hidden: %s", e.name, tool, args, x.id(), text)
		}
	}
	return text, res.IsError
}

// whole asks for an object.
func (m *model) whole(t *testing.T, e *modelEndpoint, asked *modelTool, tool string, args object) (out object) {
	t.Helper()
	text, failed := m.ask(t, e, asked, tool, args)
	if err := json.Unmarshal([]byte(text), &out); err != nil || failed {
		t.Errorf("%s %s %v: %s %v", e.name, tool, args, text, err)
	}
	return out
}

// column are the values of a key in rows, in order.
func column(rows any, key string) []string {
	out := []string{}
	list, _ := rows.([]any)
	for _, row := range list {
		out = append(out, fmt.Sprint(row.(object)[key]))
	}
	slices.Sort(out)
	return out
}

func equal(t *testing.T, e *modelEndpoint, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s, %s %s:\n got %v\nwant %v", e.name, e.surface, what, got, want)
	}
}

// compare makes one call, about x where it is about a tool.
func (m *model) compare(t *testing.T, e *modelEndpoint, x *modelTool) {
	t.Helper()
	if e.native && m.r.IntN(3) == 0 || e.surface == "direct" {
		m.compareNative(t, e, x)
		return
	}
	switch e.surface {
	case "meta":
		m.compareMeta(t, e, x)
	case "discover":
		m.compareDiscover(t, e, x)
	case "toolbox":
		use := object{"tool": object{"toolbox": x.server, "server": x.server, "name": x.name}}
		m.ask(t, e, x, "open_toolbox", object{"name": x.server})
		text, failed := m.ask(t, e, x, "use_tool", use)
		equal(t, e, x.id()+" runs", !failed && text == "ran "+x.name, e.shows(x))
	}
}

func (m *model) compareNative(t *testing.T, e *modelEndpoint, x *modelTool) {
	t.Helper()
	if m.r.IntN(2) == 0 {
		text, failed := m.ask(t, e, x, x.server+"__"+x.name, object{})
		equal(t, e, x.id()+" runs", !failed && text == "ran "+x.name, e.shows(x))
		return
	}
	names := []string{}
	for tool, err := range e.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Error(err)
			return
		}
		if strings.Contains(tool.Name, "__") {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	equal(t, e, "tools/list", names, m.shown(e, func(x *modelTool) string { return x.server + "__" + x.name }))
}

func (m *model) compareMeta(t *testing.T, e *modelEndpoint, x *modelTool) {
	t.Helper()
	all := m.shown(e, (*modelTool).id)
	query := strings.ReplaceAll(x.name[:len(x.name)-4], "_", " ")
	switch m.r.IntN(7) {
	case 0:
		out := m.whole(t, e, x, "list_tools", object{"page_size": 100})
		equal(t, e, "list_tools", column(out["tools"], "qualified_name"), all)
		equal(t, e, "total_items", out["pagination"].(object)["total_items"], len(all))
	case 1:
		out := m.whole(t, e, x, "search_tools", object{"query": query, "limit": 50, "search_type": m.one([]string{"hybrid", "keyword"})})
		if n := out["total_matches"].(float64); int(n) > len(all) {
			t.Errorf("%s: %v of %d tools match", e.name, n, len(all))
		}
	case 2:
		out := m.whole(t, e, x, "search_tools", object{"filters": object{"servers": []string{x.server}}, "limit": 50})
		ofServer := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !strings.HasPrefix(id, x.server+"/") })
		equal(t, e, "search_tools by server", column(out["tools"], "qualified_name"), ofServer)
	case 3:
		out := m.whole(t, e, x, "get_tool_categories", object{"include_servers": true})
		equal(t, e, "get_tool_categories", out["total_tools"], len(all))
	case 4:
		_, failed := m.ask(t, e, x, "describe_tool", object{"tool_name": x.id(), "include_similar": true})
		equal(t, e, x.id()+" is described", !failed, e.shows(x))
	case 5:
		_, failed := m.ask(t, e, x, "get_similar_tools", object{"tool_name": x.id(), "limit": 20})
		equal(t, e, x.id()+" has similar ones", !failed, e.shows(x))
	case 6:
		text, failed := m.ask(t, e, x, "execute_tool", object{"tool_name": m.one([]string{x.id(), x.name, x.server + "__" + x.name}), "arguments": object{}})
		equal(t, e, x.id()+" runs", !failed && strings.Contains(text, "ran "+x.name), e.shows(x))
	}
}

func (m *model) compareDiscover(t *testing.T, e *modelEndpoint, x *modelTool) {
	t.Helper()
	all := m.shown(e, func(x *modelTool) string { return x.name })
	switch m.r.IntN(5) {
	case 0:
		out := m.whole(t, e, x, "discover_tools", object{})
		domains := m.shown(e, func(x *modelTool) string { return x.server })
		equal(t, e, "domains", column(out["domains"], "name"), slices.Compact(domains))
		equal(t, e, "total_tools", out["total_tools"], len(all))
	case 1:
		text, failed := m.ask(t, e, x, "discover_tools", object{"domain": x.server})
		here := m.shown(e, func(y *modelTool) string { return map[bool]string{true: y.name}[y.server == x.server] })
		here = slices.DeleteFunc(here, func(name string) bool { return name == "" })
		equal(t, e, "domain "+x.server, !failed, len(here) > 0)
		var out object
		if !failed && json.Unmarshal([]byte(text), &out) == nil {
			equal(t, e, "tools of "+x.server, column(out["tools"], "name"), here)
		}
	case 2:
		m.whole(t, e, x, "discover_tools", object{"query": strings.ReplaceAll(x.name[:len(x.name)-4], "_", " ")})
	case 3:
		_, failed := m.ask(t, e, x, "get_tool_schema", object{"tool_name": x.name})
		equal(t, e, x.id()+" has a schema", !failed, e.shows(x))
	case 4:
		text, failed := m.ask(t, e, x, "execute_tool", object{"tool_name": x.name})
		equal(t, e, x.id()+" runs", !failed && strings.Contains(text, "ran "+x.name), e.shows(x))
	}
}
