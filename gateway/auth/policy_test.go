package auth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A world is a few tools, what the operator says of them, and grants.
type world struct {
	tools  []index.Tool
	labels map[string]view.Labels // by server
	grants []Grant
}

func (w world) of(t *index.Tool) view.Labels { return w.labels[t.Server] }

func (w world) owned() (o Owned) {
	for _, l := range w.labels {
		o.Principals, o.Teams = append(o.Principals, l.Owners...), append(o.Teams, l.Teams...)
	}
	return o
}

var (
	people    = []string{"token:a", "token:b", "oidc:https://id#a", "cert:host", "local:root"}
	allTeams  = []string{"finance", "platform", "ops"}
	endpoints = []string{"default", "finance", "other"}
	tags      = []string{"red", "green"}
)

func some(r *rand.Rand, of []string) []string {
	var out []string
	for _, s := range of {
		if r.IntN(3) == 0 {
			out = append(out, s)
		}
	}
	return out
}

func newWorld(r *rand.Rand) world {
	w := world{labels: map[string]view.Labels{}}
	for i := range 8 {
		server := fmt.Sprint("server", i)
		visibility := append(Visibilities, "", "odd")[r.IntN(len(Visibilities)+2)]
		w.labels[server] = view.Labels{Tags: some(r, tags), Visibility: visibility, Teams: some(r, allTeams), Owners: some(r, people)}
		w.tools = append(w.tools, index.Tool{Server: server, Name: "read"}, index.Tool{Server: server, Name: "write"})
	}
	for i := range 1 + r.IntN(5) {
		g := Grant{Place: fmt.Sprint("grant ", i), Principals: some(r, people), Teams: some(r, allTeams), Anyone: r.IntN(6) == 0, Endpoints: some(r, append(endpoints, "*")), Role: Discover + Role(r.IntN(3))}
		if r.IntN(2) == 0 {
			g.Rules = []view.Rule{{IncludeTags: some(r, tags), NamePatterns: some(r, []string{"^read"})}}
		}
		w.grants = append(w.grants, g)
	}
	return w
}

// model says what one tool is for a principal, as GATEWAY's rules put it.
func (w world) model(p *Principal, endpoint string, t *index.Tool) (role Role) {
	has := func(list []string, v string) bool { return slices.Contains(list, v) }
	l := w.labels[t.Server]
	for _, g := range w.grants {
		means := g.Anyone || has(g.Principals, p.Name)
		for _, team := range p.Teams {
			means = means || has(g.Teams, team)
		}
		there := g.Role == Admin || has(g.Endpoints, endpoint) || has(g.Endpoints, "*")
		lets := true
		for _, r := range g.Rules {
			tagged := len(r.IncludeTags) == 0
			for _, tag := range r.IncludeTags {
				tagged = tagged || has(l.Tags, tag)
			}
			lets = lets && tagged && (len(r.NamePatterns) == 0 || t.Name == "read")
		}
		if means && there && (lets || g.Role == Admin) {
			role = max(role, min(g.Role, p.Most, Use))
		}
	}
	visible := map[string]bool{"": true, "public": true, "internal": true, "private": has(l.Owners, p.Name)}[l.Visibility]
	for _, team := range p.Teams {
		visible = visible || l.Visibility == "team" && has(l.Teams, team)
	}
	if !visible {
		return None
	}
	return role
}

func TestPolicy(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	counts := map[Role]int{}
	for range 400 {
		w := newWorld(r)
		policy := NewPolicy(w.grants, w.of, w.owned())
		shows := view.Of(w.of, view.Rule{ExcludeServers: some(r, []string{"server0", "server1"})})
		for range 10 {
			p := &Principal{Name: people[r.IntN(len(people))], Teams: some(r, allTeams), Most: Role(r.IntN(4))}
			endpoint := endpoints[r.IntN(len(endpoints))]
			v := policy.View(p, endpoint, shows)
			for i := range w.tools {
				tool := &w.tools[i]
				want := w.model(p, endpoint, tool)
				if !shows.Scope.Sees(tool) {
					want = None
				}
				counts[want]++
				if v.Scope.Sees(tool) != (want >= Discover) || v.Runs(tool) != (want >= Use) {
					t.Fatalf("%+v at %s: %s/%s is seen %t and runs %t, want %s\n%+v\n%+v", p, endpoint, tool.Server, tool.Name, v.Scope.Sees(tool), v.Runs(tool), want, w.labels[tool.Server], w.grants)
				}
				d := policy.Explain(p, endpoint, shows, tool)
				if d.Role != want || (want == None) != (d.Why != "" && d.Role == None) {
					t.Fatalf("explained %+v, want %s", d, want)
				}
			}
		}
	}
	if counts[None] == 0 || counts[Discover] == 0 || counts[Use] == 0 {
		t.Errorf("nothing is shown by this: %v", counts)
	}
}

func TestNobody(t *testing.T) {
	policy := NewPolicy([]Grant{{Anyone: true, Endpoints: []string{"*"}, Role: Admin}}, world{}.of, Owned{})
	tool := &index.Tool{Server: "a", Name: "b"}
	if v := policy.View(nil, "default", view.View{}); v.Scope.Sees(tool) || v.Runs(tool) || policy.Admin(nil) {
		t.Error("who is nobody sees a tool, or is an admin")
	}
	if v := policy.View(&Principal{Name: "token:a"}, "default", view.View{}); v.Scope.Sees(tool) {
		t.Error("whose credential allows nothing sees a tool")
	}
}

// Principals who may see the same share a view, and so what the index keeps of
// it.
func TestViewsAreShared(t *testing.T) {
	w := world{labels: map[string]view.Labels{"a": {Visibility: "private", Owners: []string{"token:a"}}}}
	policy := NewPolicy([]Grant{{Anyone: true, Endpoints: []string{"*"}, Role: Use}}, w.of, w.owned())
	of := func(name string) view.View {
		return policy.View(&Principal{Name: name, Most: Admin, Teams: []string{"x"}}, "default", view.View{})
	}
	if of("token:b") != of("token:c") {
		t.Error("principals who see the same have views of their own")
	}
	if of("token:a") == of("token:b") {
		t.Error("an owner shares a view with others")
	}
}

func TestLosses(t *testing.T) {
	p := &Principal{Name: "token:a", Teams: []string{"ops"}, Most: Admin}
	use := Grant{Teams: []string{"ops"}, Endpoints: []string{"default"}, Role: Use}
	more := Grant{Anyone: true, Endpoints: []string{"*"}, Role: Discover}
	narrow := use
	narrow.Rules = []view.Rule{{IncludeTags: []string{"red"}}}
	policy := func(g ...Grant) *Policy { return NewPolicy(g, world{}.of, Owned{}) }
	for name, tt := range map[string]struct {
		before, after *Policy
		want          bool
	}{
		"the same": {policy(use), policy(use), false}, "more": {policy(use), policy(more, use), false}, "another order": {policy(use, more), policy(more, use), false},
		"less": {policy(use, more), policy(more), true}, "narrower": {policy(use), policy(narrow), true}, "nothing": {policy(use), policy(), true},
	} {
		if got := tt.after.Loses(p, "default", tt.before, p); got != tt.want {
			t.Errorf("%s: lost %t", name, got)
		}
	}
	if policy().Loses(p, "other", policy(use), p) {
		t.Error("lost what was of another endpoint")
	}
	if left := (&Principal{Name: "token:a", Most: Admin}); !policy(use).Loses(left, "default", policy(use), p) {
		t.Error("who has left a team has lost nothing")
	}
}

func TestExplain(t *testing.T) {
	w := world{labels: map[string]view.Labels{"secret": {Visibility: "private"}}}
	policy := NewPolicy([]Grant{{Place: "auth.grants[0]", Anyone: true, Endpoints: []string{"default"}, Role: Use}}, w.of, w.owned())
	for _, tt := range []struct {
		most     Role
		endpoint string
		server   string
		want     string
	}{
		{Admin, "default", "a", "use [auth.grants[0] (use)] "},
		{Discover, "default", "a", "discover [auth.grants[0] (use)] the credential allows discover at most"},
		{Admin, "other", "a", "none [] no grant gives it"},
		{Admin, "default", "secret", "none [auth.grants[0] (use)] its visibility is private"},
		{Admin, "default", "hidden", "none [] the endpoint's scope does not show it"},
	} {
		shows := view.Of(w.of, view.Rule{ExcludeServers: []string{"hidden"}})
		d := policy.Explain(&Principal{Name: "token:a", Most: tt.most}, tt.endpoint, shows, &index.Tool{Server: tt.server, Name: "x"})
		if got := fmt.Sprintf("%s %v %s", d.Role, d.Grants, d.Why); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestLocal(t *testing.T) {
	if p := Local(); !strings.HasPrefix(p.Name, "local:") || len(p.Name) == len("local:") || p.Most != Admin {
		t.Errorf("%+v", p)
	}
}
