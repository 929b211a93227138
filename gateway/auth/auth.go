// Package auth says who calls, and what they may see and run.
//
// A [Principal] is who calls: package httpauth finds out over HTTP, and over
// stdio it is the user of the process ([Local]). Grants say what principals
// may do, and nothing else does: a [Policy] makes of them what each sees
// through an endpoint, on top of what the endpoint shows. [Tokens] are the
// static bearer tokens, which are kept as hashes.
package auth

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// A Role is what a grant allows. Each includes those below it.
type Role uint8

// None is the zero value, so that what nobody set allows nothing.
const (
	None     Role = iota
	Discover      // see tools
	Use           // see and run them
	Admin         // the API and the page, and every tool of every endpoint
)

var roles = []string{"none", "discover", "use", "admin"}

func (r Role) String() string { return roles[min(int(r), len(roles)-1)] }

// ParseRole reads discover, use or admin.
func ParseRole(text string) (Role, error) {
	for r := Discover; r <= Admin; r++ {
		if text == r.String() {
			return r, nil
		}
	}
	return None, fmt.Errorf("%q is none of discover, use, admin", text)
}

// A Principal is who calls. It is not changed once it is made.
type Principal struct {
	// Name says where it comes from: token:NAME, oidc:ISSUER#SUB, cert:SAN or
	// local:USER.
	Name  string
	Teams []string
	// Most is the highest role that its credential allows, whatever the grants.
	Most Role

	hash  string // of the static token by which it came; "" for none
	token string // of an issuer, by which it came; "" for none
}

// String is the name alone: a principal that is printed says nothing of its
// credential.
func (p Principal) String() string { return p.Name }

// Bearing is p as it came by a token of an issuer.
func (p *Principal) Bearing(token string) *Principal {
	q := *p
	q.token = token
	return &q
}

// Token is the token of an issuer by which p came, which upstreams may want
// exchanged for another; "" for none.
func (p *Principal) Token() string { return p.token }

// InfoKey is where the SDK's TokenInfo has the *Principal, in Extra.
const InfoKey = "tooldex/principal"

type principalKey struct{}

// With is ctx for what p asks for.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Of is who asks; nil when nobody said.
func Of(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// Local is the user as whom this process runs. One that the system has no name
// for is called by number.
func Local() *Principal {
	name := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	} else if u, err := user.Current(); err == nil && os.Geteuid() < 0 { // on Windows users have no numbers
		name = u.Username
	}
	return &Principal{Name: "local:" + name, Most: Admin}
}
