package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

// A lab is one random catalog of a few servers, with what the operator says
// and a rule.
type lab struct {
	r       *rand.Rand
	servers map[string]gateway.Server
	tools   map[string][]made
	rule    view.Rule
	runs    *view.Rule             // lets tools run; nil lets all
	ran     func(upstream.Request) // is told of each run; nil is not
}

// A made tool has words that can be put in another order.
type made struct {
	verb, noun  string
	description []string
	params      []string
	tags        []string
	readOnly    bool
}

var vocabulary = struct{ servers, verbs, nouns, words, tags []string }{
	[]string{"alpha", "beta", "gamma", "delta"},
	[]string{"read", "write", "search", "delete", "list"},
	[]string{"file", "message", "invoice", "calendar", "secret"},
	strings.Fields("open close an issue message channel of the repository customer payment event folder team weekly report quickly safely"),
	[]string{"red", "green", "blue"},
}

// some are up to n different ones of the words.
func some(r *rand.Rand, n int, of []string) []string {
	all := slices.Clone(of)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(r.IntN(n+1), len(all))]
}

func newLab(r *rand.Rand) *lab {
	l := &lab{r: r, servers: map[string]gateway.Server{}, tools: map[string][]made{}}
	v := vocabulary
	for _, server := range v.servers {
		l.servers[server] = gateway.Server{Tags: some(r, 1, v.tags), Trusted: r.IntN(2) == 0, Annotated: r.IntN(2) == 0, Visibility: []string{"", "team"}[r.IntN(2)]}
		seen := map[string]bool{}
		for range 3 + r.IntN(6) {
			m := made{v.verbs[r.IntN(len(v.verbs))], v.nouns[r.IntN(len(v.nouns))], append(some(r, 6, v.words), "tool"), some(r, 3, v.nouns), some(r, 1, v.tags), r.IntN(2) == 0}
			if !seen[m.verb+m.noun] {
				l.tools[server] = append(l.tools[server], m)
				seen[m.verb+m.noun] = true
			}
		}
	}
	l.rule = view.Rule{
		IncludeTags: some(r, 2, v.tags), ExcludeServers: some(r, 1, v.servers), ExcludeTags: some(r, 1, v.tags),
		NamePatterns: some(r, 1, []string{"^read|^search|^list"}), ExcludeNamePatterns: some(r, 1, []string{"invoice", "^delete"}),
		IncludeVisibility: some(r, 1, []string{"public"}), ReadOnly: r.IntN(4) == 0,
	}
	return l
}

func (m made) name() string { return m.verb + "_" + m.noun }

func (m made) raw() json.RawMessage {
	props := map[string]any{}
	for _, p := range m.params {
		props[p] = map[string]string{"type": "string"}
	}
	b, _ := json.Marshal(map[string]any{ // maps of texts encode
		"name": m.name(), "description": strings.Join(m.description, " "),
		"inputSchema": map[string]any{"type": "object", "properties": props},
		"_meta":       map[string]any{"tags": m.tags},
		"annotations": map[string]any{"readOnlyHint": m.readOnly},
	})
	return b
}

// other is m with its words in another order, and other labels.
func (m made) other(r *rand.Rand) made {
	m.verb, m.noun = m.noun, m.verb
	m.description = slices.Clone(m.description)
	slices.Reverse(m.description)
	m.tags, m.readOnly = some(r, 2, vocabulary.tags), r.IntN(2) == 0
	return m
}

// swapped is the lab with other tools in place of those that its rule hides,
// and their number. A name is a word, too: those that a visible tool has stay.
func (l *lab) swapped(shows view.View) (other *lab, n int) {
	other = &lab{r: l.r, servers: l.servers, tools: map[string][]made{}, rule: l.rule}
	sees := func(server string, m made) bool {
		says := l.servers[server]
		return shows.Scope.Sees(&index.Tool{
			Server: server, Name: m.name(), Tags: append(slices.Clone(m.tags), says.Tags...), Visibility: says.Visibility, Effect: tool.EffectOf(m.raw()),
		})
	}
	known := map[string]bool{}
	for server, tools := range l.tools {
		for _, m := range tools {
			known[m.name()] = known[m.name()] || sees(server, m)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(l.tools)) {
		for _, m := range l.tools[server] {
			if x := m.other(l.r); !sees(server, m) && !sees(server, x) && !known[m.name()] && !known[x.name()] {
				m, n = x, n+1
			}
			other.tools[server] = append(other.tools[server], m)
		}
	}
	return other, n
}

// serveAll serves the lab through each surface within its rule.
func (l *lab) serveAll(t *testing.T) (map[string]*serve.Server, view.View) {
	t.Helper()
	model, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("", index.Options{Embedder: model})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	g := gateway.New(ix, done{l.ran}, gateway.Options{Servers: l.servers})
	for _, server := range slices.Sorted(maps.Keys(l.tools)) {
		var list upstream.Listing
		for _, m := range l.tools[server] {
			list.Tools = append(list.Tools, m.raw())
		}
		if _, err := g.Sync(t.Context(), server, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := view.Of(g.Labels, l.rule)
	if l.runs != nil {
		v.Runnable = view.Of(g.Labels, *l.runs).Scope
	}
	out := map[string]*serve.Server{}
	open := func(name string, o serve.Options) {
		o.View = v
		s, err := serve.New(g, o)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = s
	}
	for _, name := range serve.Surfaces() {
		open(name, serve.Options{Surface: name})
	}
	open("meta beside the tools", serve.Options{Native: true})
	open("meta by effect", serve.Options{SurfaceOptions: surface.Options{SplitExecute: true, Metrics: true}})
	return out, v
}

// done runs every tool.
type done struct{ ran func(upstream.Request) }

func (d done) Call(_ context.Context, r upstream.Request) (upstream.Result, error) {
	if d.ran != nil {
		d.ran(r)
	}
	return upstream.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`), Protocol: gateway.StatelessEra, Sent: true}, nil
}

// calls are calls of every meta-tool of any surface, about what is seen, what
// is not, and what there never was.
func calls(labs ...*lab) (all [][2]string) {
	names := []string{"", "nothing", "red", "Other", "read", "read a file or a message", "secret invoice weekly", "file_read", "alpha.read_file"}
	for _, l := range labs {
		for _, server := range slices.Sorted(maps.Keys(l.tools)) {
			names = append(names, server)
			for _, m := range l.tools[server] {
				names = append(names, server+"/"+m.name(), m.name(), m.name()+"s", server+"__"+m.name())
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		q, _ := json.Marshal(name) // a text encodes
		server, bare, _ := strings.Cut(name, "/")
		for _, form := range []string{
			`search_tools {"query":%s,"limit":50}`, `search_tools {"query":%s,"search_type":"keyword"}`, `search_tools {"query":%s,"search_type":"semantic","include_schemas":true}`,
			`search_tools {"query":"read","filters":{"servers":[%s]}}`, `search_tools {"filters":{"tags":[%s]}}`, `list_tools {"filters":{"categories":[%s]}}`,
			`describe_tool {"tool_name":%s,"include_similar":true,"include_metrics":true}`, `get_similar_tools {"tool_name":%s,"limit":20}`,
			`execute_tool {"tool_name":%s,"arguments":{}}`, `run_read_tool {"tool_name":%s,"arguments":{}}`, `run_destructive_tool {"tool_name":%s,"arguments":{"x":1}}`,
			`discover_tools {"domain":%s}`, `discover_tools {"query":%s}`, `discover_tools {"domain":"alpha","group":%s}`, `discover_tools {"group":%s}`,
			`get_tool_schema {"tool_name":%s}`, `get_tool_schema {"tool_names":[%[1]s,"read_file"]}`, `open_toolbox {"name":%s}`,
		} {
			name, args, _ := strings.Cut(fmt.Sprintf(form, q), " ")
			all = append(all, [2]string{name, args})
		}
		if name != "" { // as a tool's that is listed itself
			all = append(all, [2]string{name, `{}`}, [2]string{name, `{"x":1}`})
		}
		for _, box := range []string{server, "red"} {
			all = append(all, [2]string{"use_tool", fmt.Sprintf(`{"tool":{"toolbox":%q,"server":%q,"name":%q}}`, box, server, bare)})
		}
	}
	for _, whole := range []string{
		`list_tools {"sort_by":"category","page_size":100}`, `list_tools {"sort_by":"execution_count"}`, `get_tool_categories {"include_servers":true}`,
		`discover_tools {}`, `open_toolbox {}`, `list_tools {"page":2,"page_size":3}`, `search_tools {"filters":{"name_pattern":"_"},"limit":50}`,
	} {
		name, args, _ := strings.Cut(whole, " ")
		all = append(all, [2]string{name, args})
	}
	return all
}

// passing are times, which differ between two runs of anything, also where a
// reply stands as text inside another.
var passing = regexp.MustCompile(`\\?"(execution_time_ms|created_at|avg_response_time_ms)\\?":(\\?"[^"\\]*\\?"|\d+)`)

// What a view hides may be anything: with hidden tools in place of which there
// are others, of the same words and so of the same statistics, every surface
// answers every call with the same bytes.
func TestHiddenToolsLeaveNoTrace(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	swaps, seen, compared := 0, 0, 0
	for round := 0; round < 40 && (round < 4 || swaps < 40 || seen < 10); round++ {
		one := newLab(r)
		a, shows := one.serveAll(t)
		two, n := one.swapped(shows)
		if n == 0 {
			continue
		}
		swaps += n
		b, _ := two.serveAll(t)
		for name := range a {
			if x, y := listed(t, a[name]), listed(t, b[name]); x != y {
				t.Fatalf("%s, rule %+v: tools/list\nwith some hidden tools: %s\nwith others:            %s", name, one.rule, x, y)
			}
		}
		for _, c := range calls(one, two) {
			for _, name := range slices.Sorted(maps.Keys(a)) {
				x, y := reply(t, a[name], c), reply(t, b[name], c)
				if compared++; x != y {
					t.Fatalf("%s, rule %+v: %s %s\nwith some hidden tools: %s\nwith others:            %s", name, one.rule, c[0], c[1], x, y)
				}
				if strings.Contains(x, `"done"`) {
					seen++
				}
			}
		}
	}
	t.Logf("%d tools swapped, %d replies compared, of which %d ran a tool", swaps, compared, seen)
	if swaps == 0 || seen == 0 {
		t.Errorf("%d tools were hidden and %d ran: nothing is shown by this", swaps, seen)
	}
}

// listed is what tools/list answers.
func listed(t *testing.T, s *serve.Server) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": gateway.StatelessEra, "Mcp-Method": "tools/list",
	} {
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	h := serve.NewHost(serve.HostOptions{})
	h.Put(serve.Default, s)
	h.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("tools/list: HTTP %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func reply(t *testing.T, s *serve.Server, c [2]string) string {
	t.Helper()
	b, err := s.Call(t.Context(), c[0], json.RawMessage(c[1])).Result("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return passing.ReplaceAllString(string(b), "")
}
