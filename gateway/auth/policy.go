package auth

import (
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A Grant lets principals see tools, or see and run them. To be meant by it a
// principal is named, or has one of the teams, or Anyone holds.
type Grant struct {
	Place      string // where it is written, such as auth.grants[2]
	Principals []string
	Teams      []string
	Anyone     bool     // every authenticated principal
	Endpoints  []string // by name, "*" for all; none means none
	Rules      []view.Rule
	Role       Role // with Admin neither Endpoints nor Rules say anything
}

// means says whether the grant is about p.
func (g Grant) means(p *Principal) bool {
	return g.Anyone || slices.Contains(g.Principals, p.Name) ||
		slices.ContainsFunc(p.Teams, func(team string) bool { return slices.Contains(g.Teams, team) })
}

// of is the role that the grant gives p at an endpoint.
func (g Grant) of(p *Principal, endpoint string) Role {
	if !g.means(p) || g.Role < Admin && !slices.Contains(g.Endpoints, endpoint) && !slices.Contains(g.Endpoints, "*") {
		return None
	}
	return min(g.Role, p.Most)
}

// Visibilities are those that a tool may have. One with another is seen by
// nobody.
var Visibilities = []string{"public", "internal", "team", "private"}

// shown says whether a tool's visibility lets p see it, whatever is granted.
func shown(p *Principal, l view.Labels) bool {
	switch l.Visibility {
	case "", "public", "internal": // whoever calls is authenticated
		return true
	case "team":
		return slices.ContainsFunc(p.Teams, func(team string) bool { return slices.Contains(l.Teams, team) })
	case "private":
		return slices.Contains(l.Owners, p.Name)
	}
	return false
}

// keptViews bounds the views of a policy: the index asks a new one about every
// tool.
const keptViews = 512

// A Policy is the grants in force. When they change, or the labels do, it is
// made anew. It is safe for concurrent use.
type Policy struct {
	// Shared has scores made of the whole catalog, so that they may move with
	// tools that a caller does not see; else they are of what it sees alone. It is
	// set before the policy is used.
	Shared bool

	grants []Grant
	scopes []*index.Scope // of the grants; nil lets everything through
	labels func(*index.Tool) view.Labels
	owned  Owned
	views  *lru.Cache[viewKey, view.View]
}

// A viewKey is all that a view depends on, so that principals who may see the
// same share one.
type viewKey struct {
	granted string // the grants that hold, with their roles
	self    string // what visibility asks for
	shows   view.View
}

// Owned are the principals and the teams that labels name: nobody else is told
// apart by them.
type Owned struct{ Principals, Teams []string }

// of is who, as far as labels tell.
func (o Owned) of(who *Principal) *Principal {
	var self Principal
	if slices.Contains(o.Principals, who.Name) {
		self.Name = who.Name
	}
	for _, team := range o.Teams {
		if slices.Contains(who.Teams, team) {
			self.Teams = append(self.Teams, team)
		}
	}
	return &self
}

// NewPolicy is the policy of grants over tools with these labels.
func NewPolicy(grants []Grant, labels func(*index.Tool) view.Labels, owned Owned) *Policy {
	views, err := lru.New[viewKey, view.View](keptViews)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	p := &Policy{grants: grants, labels: labels, owned: owned, views: views}
	for _, g := range grants {
		if g.Role >= Admin {
			g.Rules = nil
		}
		p.scopes = append(p.scopes, view.Of(labels, g.Rules...).Scope)
	}
	return p
}

// View is what who sees and may run of what an endpoint shows; for nil that is
// nothing.
func (p *Policy) View(who *Principal, endpoint string, shows view.View) view.View {
	if who == nil {
		nothing := index.NewScope(func(*index.Tool) bool { return false })
		return view.View{Scope: nothing, Runnable: nothing}
	}
	see, granted := p.through(who, endpoint, Discover)
	run, _ := p.through(who, endpoint, Use)
	self := p.owned.of(who)
	key := viewKey{granted, fmt.Sprintf("%q %q", self.Name, self.Teams), shows}
	if v, ok := p.views.Get(key); ok {
		return v
	}
	v := shows.And(view.View{
		Scope:    index.NewScope(func(t *index.Tool) bool { return sees(see, t) && shown(self, p.labels(t)) }),
		Runnable: index.NewScope(func(t *index.Tool) bool { return sees(run, t) }),
	})
	if !p.Shared {
		v.Scope = v.Scope.Alone()
	}
	p.views.Add(key, v)
	return v
}

// through are the scopes of the grants that give who at least a role at an
// endpoint, and those grants and roles in one text.
func (p *Policy) through(who *Principal, endpoint string, least Role) (scopes []*index.Scope, granted string) {
	var b strings.Builder
	for i, g := range p.grants {
		if role := g.of(who, endpoint); role >= least {
			scopes = append(scopes, p.scopes[i])
			fmt.Fprint(&b, i, role, " ")
		}
	}
	return scopes, b.String()
}

// sees says whether any of the scopes shows a tool.
func sees(scopes []*index.Scope, t *index.Tool) bool {
	return slices.ContainsFunc(scopes, func(s *index.Scope) bool { return s.Sees(t) })
}

// Admin says whether who may use the API and the page.
func (p *Policy) Admin(who *Principal) bool {
	return who != nil && slices.ContainsFunc(p.grants, func(g Grant) bool { return g.of(who, "") >= Admin })
}

// Wants says whether who might run tools at an endpoint if its credential
// allowed more than it does.
func (p *Policy) Wants(who *Principal, endpoint string) bool {
	if who == nil || who.Most >= Use {
		return false
	}
	more := *who
	more.Most = Admin
	scopes, _ := p.through(&more, endpoint, Use)
	return len(scopes) > 0
}

// Loses says whether a principal has lost something of what it might do at an
// endpoint since another policy was in force, by which it was as was says.
func (p *Policy) Loses(who *Principal, endpoint string, before *Policy, was *Principal) bool {
	has := p.held(who, endpoint)
	return slices.ContainsFunc(before.held(was, endpoint), func(grant string) bool { return !slices.Contains(has, grant) })
}

// held are the grants that hold for who at an endpoint, each as a text that
// says all that it gives.
func (p *Policy) held(who *Principal, endpoint string) (out []string) {
	for _, g := range p.grants {
		if role := g.of(who, endpoint); role > None {
			out = append(out, fmt.Sprintf("%s %+v", role, g.Rules))
		}
	}
	return out
}

// Grants are the grants that hold for who at an endpoint, by their places.
func (p *Policy) Grants(who *Principal, endpoint string) []string {
	out := []string{}
	for _, g := range p.grants {
		if role := g.of(who, endpoint); role > None {
			out = append(out, fmt.Sprintf("%s (%s)", g.Place, role))
		}
	}
	return out
}

// A Decision is what one tool is for a principal at an endpoint, and why.
type Decision struct {
	Role   Role     // Discover when it is seen, Use when it may be run, too
	Grants []string // that give it, by their places
	Why    string   // nothing does, or less than a grant says; "" otherwise
}

// Explain says what a tool is for who at an endpoint that shows these.
func (p *Policy) Explain(who *Principal, endpoint string, shows view.View, t *index.Tool) Decision {
	var d Decision
	capped := ""
	for i, g := range p.grants {
		role := min(g.of(who, endpoint), Use)
		if role == None || !p.scopes[i].Sees(t) {
			continue
		}
		d.Grants = append(d.Grants, fmt.Sprintf("%s (%s)", g.Place, g.Role))
		d.Role = max(d.Role, role)
		if g.Role > who.Most {
			capped = fmt.Sprintf("the credential allows %s at most", who.Most)
		}
	}
	l := p.labels(t)
	switch {
	case !shows.Scope.Sees(t):
		return Decision{Why: "the endpoint's scope does not show it"}
	case d.Role == None:
		return Decision{Why: "no grant gives it"}
	case !shown(p.owned.of(who), l):
		d.Role, d.Why = None, fmt.Sprintf("its visibility is %s", l.Visibility)
	case d.Role == Use && !shows.Runs(t):
		d.Role, d.Why = Discover, "the endpoint does not let it run"
	default:
		d.Why = capped
	}
	return d
}
