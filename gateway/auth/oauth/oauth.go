// Package oauth checks access tokens as an OAuth 2.1 resource server does:
// JWTs by the keys of their issuer, opaque ones by introspection (RFC 7662).
//
// A token has to come from the issuer, name the resource or an accepted
// audience, and be valid now. Whatever cannot be checked is refused: without
// the issuer its last keys hold for an hour, and nothing is introspected.
package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/gateway/auth"
)

var (
	// ErrInvalid reports a token that is refused. Its text says why, and
	// nothing of the token.
	ErrInvalid = errors.New("the token is not accepted")
	// ErrUnavailable reports a token that cannot be checked at the moment.
	ErrUnavailable = errors.New("tokens cannot be checked at the moment")
)

// Config describes an issuer and what of its tokens is believed.
type Config struct {
	Issuer     string   // https, or http on a loopback address
	Audiences  []string // accepted beside the resource itself
	TeamsClaim string   // that lists the teams, "a.b" for b in a; "" for none
	JWKS       string   // address of the keys; "" leaves it to the issuer's metadata

	// ClientID and ClientSecret are with what to introspect opaque tokens;
	// "" refuses them. Introspection is its address, "" as above.
	ClientID, ClientSecret, Introspection string
}

// algorithms are those that tokens may be signed with; none is symmetric.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// leeway is how far clocks may be apart where a token is not valid yet.
const leeway = 30 * time.Second

// A Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	config Config
	keys   *keys
	jwt    *oidc.IDTokenVerifier
	log    *slog.Logger
	now    func() time.Time

	answers *lru.Cache[[sha256.Size]byte, answered] // of introspection, by the hash of the token
}

// New returns a verifier, which asks the issuer during Run; nil for log
// discards.
func New(c Config, log *slog.Logger) *Verifier {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	answers, err := lru.New[[sha256.Size]byte, answered](keptAnswers)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	v := &Verifier{config: c, keys: newKeys(c, log), log: log, now: time.Now, answers: answers}
	v.jwt = oidc.NewVerifier(c.Issuer, v.keys, &oidc.Config{
		SkipClientIDCheck:    true, // the audience is checked by whoever knows the resource
		SupportedSigningAlgs: algorithms, Now: func() time.Time { return v.now() },
	})
	return v
}

// Run keeps the issuer's keys until ctx ends.
func (v *Verifier) Run(ctx context.Context) { v.keys.run(ctx) }

// claims are what a token, or an introspection, says.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  texts    `json:"aud"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	Scope     texts    `json:"scope"`
	Scopes    texts    `json:"scp"`
	all       map[string]any
}

// texts are one text, whose words they are, or a list of texts.
type texts []string

// UnmarshalJSON reads either form.
func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// Verify says whose token it is, and until when; a zero time is an end that
// nobody told. resource is the address that the token has to be for, unless it
// is for one of Config.Audiences.
func (v *Verifier) Verify(ctx context.Context, token, resource string) (*auth.Principal, time.Time, error) {
	c, err := v.read(ctx, token)
	if err != nil {
		return nil, time.Time{}, err
	}
	accepted := append([]string{resource}, v.config.Audiences...)
	now := v.now()
	var until time.Time
	if c.Expires != nil {
		until = seconds(*c.Expires)
	}
	switch {
	case !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(accepted, a) }):
		return nil, until, fmt.Errorf("%w: it is for another audience", ErrInvalid)
	case !until.IsZero() && !now.Before(until):
		return nil, until, fmt.Errorf("%w: it has expired", ErrInvalid)
	case c.NotBefore != nil && now.Add(leeway).Before(seconds(*c.NotBefore)):
		return nil, until, fmt.Errorf("%w: it is not valid yet", ErrInvalid)
	case c.Subject == "":
		return nil, until, fmt.Errorf("%w: it has no subject", ErrInvalid)
	}
	return &auth.Principal{
		Name: "oidc:" + v.config.Issuer + "#" + c.Subject, Teams: c.teams(v.config.TeamsClaim), Most: most(slices.Concat(c.Scope, c.Scopes)),
	}, until, nil
}

func seconds(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }

// read checks where a token comes from and reads it.
func (v *Verifier) read(ctx context.Context, token string) (*claims, error) {
	if strings.Count(token, ".") != 2 {
		return v.introspect(ctx, token)
	}
	checked, err := v.jwt.Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, fmt.Errorf("%w: it has expired", ErrInvalid)
	case err != nil:
		if down := v.keys.down(); down != nil {
			return nil, down
		}
		v.log.Debug("token refused", "reason", err)
		return nil, fmt.Errorf("%w: it is not signed by a key of %s, or is not its token", ErrInvalid, v.config.Issuer)
	}
	var c claims
	if err := errors.Join(checked.Claims(&c), checked.Claims(&c.all)); err != nil {
		return nil, fmt.Errorf("%w: a claim is of the wrong type", ErrInvalid)
	}
	return &c, nil
}

// teams are the teams that a claim lists, each without a leading slash.
func (c *claims) teams(claim string) []string {
	if claim == "" {
		return nil
	}
	value, ok := c.all[claim]
	if !ok {
		value = any(c.all)
		for part := range strings.SplitSeq(claim, ".") {
			inner, _ := value.(map[string]any)
			value = inner[part]
		}
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var out []string
	for _, item := range list {
		if team, ok := item.(string); ok && strings.TrimPrefix(team, "/") != "" {
			out = append(out, strings.TrimPrefix(team, "/"))
		}
	}
	return out
}

// ScopePrefix begins the scopes that mean something here, before a role.
const ScopePrefix = "tooldex:"

// most is the highest role that scopes allow; those without one of ours say
// nothing of it.
func most(scopes []string) auth.Role {
	highest := auth.None
	said := false
	for _, s := range scopes {
		name, ours := strings.CutPrefix(s, ScopePrefix)
		said = said || ours
		if role, err := auth.ParseRole(name); ours && err == nil {
			highest = max(highest, role)
		}
	}
	if !said {
		return auth.Admin
	}
	return highest
}

// maxReply bounds what an issuer says, in bytes.
const maxReply = 1 << 20

// askTimeout bounds one question to the issuer.
const askTimeout = 10 * time.Second

// newClient asks an issuer, and nobody whom it points to.
func newClient() *http.Client {
	return &http.Client{
		Timeout: askTimeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme || len(via) > 3 {
				return fmt.Errorf("redirected to %s, which is not asked", cmp.Or(r.URL.Host, "elsewhere"))
			}
			return nil
		},
	}
}
