package callers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// A toolSays is what a model knows of a tool.
type toolSays struct {
	server, name string
}

func (t toolSays) qualified() string { return t.server + "/" + t.name }
func (t toolSays) native() string    { return t.server + "__" + t.name }

// A serverSays is what the operator says of a server.
type serverSays struct {
	tags, teams, owners  []string
	visibility, category string
	tools                []string
}

// A scope is what a grant or an endpoint lets through.
type scope struct{ servers, notServers, tags, notTags, visibility []string }

func (s scope) shows(server string, says serverSays) bool {
	meets := func(a, b []string) bool {
		return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
	}
	return (len(s.servers) == 0 || slices.Contains(s.servers, server)) && !slices.Contains(s.notServers, server) &&
		(len(s.tags) == 0 || meets(s.tags, says.tags)) && !meets(s.notTags, says.tags) &&
		(len(s.visibility) == 0 || slices.Contains(s.visibility, says.visibility))
}

func (s scope) yaml() string {
	text := "{"
	for key, values := range map[string][]string{
		"include_servers": s.servers, "exclude_servers": s.notServers, "include_tags": s.tags, "exclude_tags": s.notTags, "include_visibility": s.visibility,
	} {
		if len(values) > 0 {
			text += fmt.Sprintf("%s: [%s], ", key, strings.Join(values, ", "))
		}
	}
	return strings.TrimSuffix(text, ", ") + "}"
}

// A grantSays is one of the grants.
type grantSays struct {
	principals, teams, endpoints []string
	anyone                       bool
	scope                        scope
	role                         string
}

// A model says what each principal may see and run, computed from the same
// lines as the configuration, in the plainest way.
type model struct {
	r         *rand.Rand
	servers   map[string]serverSays
	endpoints map[string]scope // by name
	surfaces  map[string]string
	grants    []grantSays
	teams     map[string][]string // of principals
	tokens    map[string]token
}

func (m *model) some(n int, of ...string) []string {
	all := slices.Clone(of)
	m.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(m.r.IntN(n+1), len(all))]
}

// word is a name that stands in no other text.
func (m *model) word() string {
	b := make([]byte, 9)
	for i := range b {
		b[i] = "bcdfghjklmnpqrstvwxz"[m.r.IntN(20)]
	}
	return string(b)
}

func newModel(r *rand.Rand) *model {
	m := &model{
		r: r, servers: map[string]serverSays{}, endpoints: map[string]scope{}, teams: map[string][]string{}, tokens: map[string]token{},
		surfaces: map[string]string{"default": "meta", "discover": "discover", "toolbox": "toolbox", "direct": "direct", "beside": "meta"},
	}
	tags, teams := []string{"red", "green", "blue"}, []string{"ops", "finance", "web"}
	for i := range 10 {
		name := fmt.Sprint("p", i)
		m.teams["token:"+name], m.tokens["token:"+name] = m.some(2, teams...), newToken()
	}
	principals := slices.Sorted(maps.Keys(m.teams))
	var servers []string
	for range 7 {
		name := m.word()
		servers = append(servers, name)
		says := serverSays{
			tags: m.some(2, tags...), visibility: []string{"public", "internal", "team", "private"}[r.IntN(4)], category: m.word(),
			teams: m.some(2, teams...), owners: m.some(3, principals...),
		}
		for range 2 + r.IntN(4) {
			says.tools = append(says.tools, m.word())
		}
		m.servers[name] = says
	}
	anyScope := func() scope {
		return scope{servers: m.some(4, servers...), notServers: m.some(1, servers...), tags: m.some(1, tags...), notTags: m.some(1, tags...), visibility: m.some(1, "public", "team", "private")}
	}
	for name := range m.surfaces {
		m.endpoints[name] = scope{}
	}
	m.endpoints["discover"] = scope{notServers: m.some(2, servers...)}
	m.endpoints["beside"] = scope{tags: m.some(2, tags...)}
	for range 14 {
		g := grantSays{
			principals: m.some(3, principals...), teams: m.some(1, teams...), anyone: r.IntN(8) == 0, scope: anyScope(),
			endpoints: m.some(3, "default", "discover", "toolbox", "direct", "beside"), role: []string{"discover", "use", "use"}[r.IntN(3)],
		}
		if r.IntN(3) == 0 {
			g.endpoints = []string{"*"}
		}
		if r.IntN(2) == 0 {
			g.scope = scope{}
		}
		if len(g.principals)+len(g.teams) == 0 {
			g.anyone = true
		}
		m.grants = append(m.grants, g)
	}
	m.grants = append(m.grants, grantSays{principals: principals[9:], role: "admin"})
	return m
}

// config is the configuration that says what the model says.
func (m *model) config(urls map[string]string) string {
	var b strings.Builder
	list := func(values []string) string { return fmt.Sprintf("[%s]", strings.Join(quoted(values), ", ")) }
	b.WriteString("mcpServers:\n")
	for name, s := range m.servers {
		fmt.Fprintf(&b, "  %s: {url: %q, start: eager, tags: %s, visibility: %s, teams: %s, owners: %s, category: %s}\n",
			name, urls[name], list(s.tags), s.visibility, list(s.teams), list(s.owners), s.category)
	}
	b.WriteString("virtual_servers:\n")
	for name, s := range m.endpoints {
		if name != "default" {
			fmt.Fprintf(&b, "  %s: {surface: %s, hide_underlying_tools: %t, scope: %s}\n", name, m.surfaces[name], name != "beside" && name != "direct", s.yaml())
		}
	}
	b.WriteString("auth:\n  tokens:\n")
	for p, t := range m.tokens {
		fmt.Fprintf(&b, "    %s: {hash: %q, teams: %s}\n", strings.TrimPrefix(p, "token:"), t.hash, list(m.teams[p]))
	}
	b.WriteString("  grants:\n")
	for _, g := range m.grants {
		if g.role == "admin" {
			fmt.Fprintf(&b, "    - {principals: %s, role: admin}\n", list(g.principals))
			continue
		}
		fmt.Fprintf(&b, "    - {principals: %s, teams: %s, anyone: %t, endpoints: %s, scope: %s, role: %s}\n",
			list(g.principals), list(g.teams), g.anyone, list(g.endpoints), g.scope.yaml(), g.role)
	}
	return b.String()
}

func quoted(values []string) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprintf("%q", v))
	}
	return out
}

func (m *model) admin(p string) bool {
	return slices.ContainsFunc(m.grants, func(g grantSays) bool { return g.role == "admin" && slices.Contains(g.principals, p) })
}

// may is what a principal may do with a server's tools at an endpoint.
func (m *model) may(p, endpoint, server string) (see, run bool) {
	says := m.servers[server]
	if !m.endpoints[endpoint].shows(server, says) {
		return false, false
	}
	teams := m.teams[p]
	switch says.visibility {
	case "team":
		see = slices.ContainsFunc(teams, func(t string) bool { return slices.Contains(says.teams, t) })
	case "private":
		see = slices.Contains(says.owners, p)
	default:
		see = true
	}
	if !see {
		return false, false
	}
	see = false
	for _, g := range m.grants {
		meant := g.anyone || slices.Contains(g.principals, p) || slices.ContainsFunc(teams, func(t string) bool { return slices.Contains(g.teams, t) })
		if !meant {
			continue
		}
		if g.role == "admin" {
			return true, true
		}
		if (slices.Contains(g.endpoints, endpoint) || slices.Contains(g.endpoints, "*")) && g.scope.shows(server, says) {
			see = true
			run = run || g.role == "use"
		}
	}
	return see, run
}

// tells says whether there is something to hide, to refuse and to run.
func (m *model) tells() bool {
	hides, refuses, runs := 0, 0, 0
	for p := range m.teams {
		for server := range m.servers {
			switch see, run := m.may(p, "default", server); {
			case run:
				runs++
			case see:
				refuses++
			default:
				hides++
			}
		}
	}
	return min(hides, refuses, runs) > 3
}

// all are the tools, in order.
func (m *model) all() (out []toolSays) {
	for server, says := range m.servers {
		for _, name := range says.tools {
			out = append(out, toolSays{server, name})
		}
	}
	slices.SortFunc(out, func(a, b toolSays) int { return strings.Compare(a.qualified(), b.qualified()) })
	return out
}

// A trial makes random requests and compares the answers with the model.
type trial struct {
	*model
	w      *world
	owners map[string]owner
	ran    map[toolSays]int64 // that the model knows of
	tools  []toolSays
	counts map[string]int // of what was shown by it
}

// hidden are the words that an answer must not have: all names of what the
// principal does not see, besides those that it sent.
func (x *trial) hidden(p, endpoint, sent string) (out []string) {
	for server, says := range x.servers {
		if see, _ := x.may(p, endpoint, server); see {
			continue
		}
		for _, word := range append([]string{server, says.category}, says.tools...) {
			if !strings.Contains(sent, word) {
				out = append(out, word)
			}
		}
	}
	return out
}

// requests are the calls that a surface takes about a name.
var requests = map[string][]string{
	"meta": {
		`list_tools {"page_size":100}`, `search_tools {"query":NAME,"limit":50}`, `search_tools {"query":"keep the books","limit":50,"include_schemas":true}`,
		`search_tools {"query":BARE,"search_type":"keyword","limit":50}`, `describe_tool {"tool_name":NAME,"include_similar":true,"include_metrics":true}`,
		`get_similar_tools {"tool_name":NAME,"limit":20}`, `get_tool_categories {"include_servers":true}`, `search_tools {"filters":{"servers":[SERVER]}}`,
		`list_tools {"filters":{"categories":[CATEGORY]}}`, `execute_tool {"tool_name":NAME,"arguments":{}}`, `execute_tool {"tool_name":BARE,"arguments":{}}`,
		`search_tools {"filters":{"name_pattern":"."},"limit":50}`, `list_tools {"sort_by":"execution_count","page_size":100}`,
	},
	"discover": {`discover_tools {}`, `discover_tools {"domain":SERVER}`, `discover_tools {"query":NAME}`, `get_tool_schema {"tool_name":NAME}`, `execute_tool {"tool_name":NAME,"arguments":{}}`, `get_tool_schema {"tool_names":[NAME,BARE]}`},
	"toolbox":  {`open_toolbox {}`, `open_toolbox {"name":SERVER}`, `open_toolbox {"name":"red"}`, `use_tool {"tool":{"toolbox":SERVER,"server":SERVER,"name":BARE},"arguments":{}}`, `use_tool {"tool":{"toolbox":"red","server":SERVER,"name":BARE}}`},
	"direct":   {`NATIVE {}`, `NATIVE {"x":1}`, `tools/list`},
}

// one makes a random request.
func (x *trial) one() {
	p := fmt.Sprint("token:p", x.r.IntN(10))
	endpoint := []string{"default", "discover", "toolbox", "direct", "beside"}[x.r.IntN(5)]
	forms := requests[x.surfaces[endpoint]]
	if endpoint == "beside" {
		forms = append(slices.Clone(forms), requests["direct"]...)
	}
	tool := x.tools[x.r.IntN(len(x.tools))]
	form := forms[x.r.IntN(len(forms))]
	a, sent := x.send(p, endpoint, form, tool)
	for _, word := range x.hidden(p, endpoint, sent) {
		if strings.Contains(a.body, word) {
			x.w.Fatalf("%s at %s: %s tells of %s, which it may not see:\n%s", p, endpoint, sent, word, a.text())
		}
	}
	see, run := x.may(p, endpoint, tool.server)
	name, _, _ := strings.Cut(form, " ")
	runs := slices.Contains([]string{"execute_tool", "use_tool", "NATIVE"}, name)
	switch {
	case runs && see && run && strings.Contains(a.body, "ran "+tool.name):
		x.ran[tool]++
		x.counts["run"]++
	case runs && see && run && !strings.Contains(sent, `"red"`): // a toolbox that may be without it
		x.w.Fatalf("%s at %s: %s does not run: %s", p, endpoint, sent, a.text())
	case runs && see && !strings.Contains(sent, `"red"`):
		if !strings.Contains(a.body, "may see this tool but not run it") {
			x.w.Fatalf("%s at %s: %s: %s", p, endpoint, sent, a.text())
		}
		x.counts["refused"]++
	case !see && !strings.Contains(sent, `"query"`): // other words, other vectors
		x.unknown(tool, a, sent, func(never toolSays) (answer, string) { return x.send(p, endpoint, form, never) })
	case slices.Contains([]string{"list_tools", "tools/list"}, name) && !strings.Contains(sent, "filters"):
		x.whole(p, endpoint, name, a)
	}
}

// unknown compares the answer about a hidden tool with that about one that
// there never was, of names as long.
func (x *trial) unknown(tool toolSays, a answer, sent string, again func(toolSays) (answer, string)) {
	never := toolSays{x.word(), x.word()}
	b, _ := again(never)
	told := strings.NewReplacer(tool.server, never.server, tool.name, never.name, x.servers[tool.server].category, "CATEGORY").Replace(a.text())
	x.counts["hidden"]++
	if plain(told) != plain(strings.ReplaceAll(b.text(), never.server+"-category", "CATEGORY")) {
		x.w.Fatalf("%s\nhidden:  %s\nunknown: %s", sent, told, b.text())
	}
}

// plain is an answer without what differs between any two runs.
func plain(text string) string {
	for _, key := range []string{`"execution_time_ms":`, `\"execution_time_ms\":`} {
		for {
			before, after, found := strings.Cut(text, key)
			if !found {
				break
			}
			text = before + strings.TrimLeft(after, "0123456789.")
		}
	}
	return text
}

// whole compares a list of everything with the model.
func (x *trial) whole(p, endpoint, list string, a answer) {
	for _, t := range x.tools {
		see, _ := x.may(p, endpoint, t.server)
		name := t.qualified()
		if list == "tools/list" {
			name = t.native()
		}
		if strings.Contains(a.body, name) != see {
			x.w.Fatalf("%s at %s: %s shows %s: %t, want %t:\n%s", p, endpoint, list, name, !see, see, a.text())
		}
	}
	x.counts["whole"]++
}

// send makes a request about a tool; sent is what it was.
func (x *trial) send(p, endpoint, form string, t toolSays) (a answer, sent string) {
	path := "/servers/" + endpoint + "/mcp"
	if endpoint == "default" {
		path = "/mcp"
	}
	category := x.servers[t.server].category
	if category == "" {
		category = t.server + "-category"
	}
	sent = strings.NewReplacer("NATIVE", t.native(), "NAME", `"`+t.qualified()+`"`, "BARE", `"`+t.name+`"`, "SERVER", `"`+t.server+`"`, "CATEGORY", `"`+category+`"`).Replace(form)
	c := x.w.as(x.tokens[p].secret)
	name, text, ok := strings.Cut(sent, " ")
	if !ok {
		return c.rpc(path, name, "", nil), sent
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(text), &arguments); err != nil {
		x.w.Fatal(err)
	}
	return c.call(path, name, arguments), sent
}

// What ten principals with random grants are answered, at every surface, is
// what a plain model says of them: they see that and run that, and about the
// rest they are told what they would be told of what there is not.
func TestRandomGrants(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	m := newModel(r)
	for !m.tells() {
		m = newModel(r)
	}
	x := &trial{model: m, owners: map[string]owner{}, ran: map[toolSays]int64{}, tools: m.all(), counts: map[string]int{}}
	urls := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m.servers)) { // so that the seed says all
		tools := map[string]string{}
		for _, tool := range m.servers[name].tools {
			tools[tool] = "Keep the books of " + m.word()
		}
		x.owners[name] = owning(t, tools)
		urls[name] = x.owners[name].url
	}
	x.w = begin(t, m.config(urls))
	x.w.listed(len(x.tools))
	if err := x.w.Index.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		x.one()
	}
	for _, tool := range x.tools {
		if got := x.owners[tool.server].runs[tool.name].Load(); got != x.ran[tool] {
			t.Errorf("%s ran %d times, want %d", tool.qualified(), got, x.ran[tool])
		}
	}
	for p, token := range m.tokens {
		want := http.StatusForbidden
		if m.admin(p) {
			want = http.StatusOK
		}
		if got := x.w.as(token.secret).send(http.MethodGet, "/metrics", ""); got.status != want {
			t.Errorf("metrics as %s: %d", p, got.status)
		}
	}
	t.Logf("shown: %v", x.counts)
	for _, what := range []string{"run", "refused", "hidden", "whole"} {
		if x.counts[what] == 0 {
			t.Errorf("nothing was %s: nothing is shown by this", what)
		}
	}
}
