// Package httpauth finds out who calls over HTTP: by a bearer token, static or
// of an OAuth issuer, or by a client's certificate.
//
// A [Guard] stands before the endpoints. Whoever it does not know is told how
// to authenticate (RFC 6750, RFC 9728) and nothing else; who is known goes on
// through the SDK's own middleware, so that a session belongs to the principal
// that opened it. The request loses its token there; the principal has that of
// an issuer, for upstreams that want it exchanged.
package httpauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/oauth"
)

// AdminArea is in place of an endpoint's name for what only admins may see.
const AdminArea = ""

// A State is what is in force. It is not changed; another one replaces it.
type State struct {
	Policy      *auth.Policy
	Tokens      *auth.Tokens
	OAuth       *oauth.Verifier // nil: tokens of no issuer
	Issuer      string          // of them
	Scopes      []string        // that clients are told to ask for; nil says nothing
	Base        string          // scheme and host that clients use, without a slash at the end
	BehindProxy bool            // X-Forwarded-For says who calls
}

// A Guard authenticates requests. It is safe for concurrent use.
type Guard struct {
	log      *slog.Logger
	failed   func(who *auth.Principal, endpoint, reason string)
	state    atomic.Pointer[State]
	failures *failures
	good     *lru.Cache[[sha256.Size]byte, struct{}] // tokens of the issuer that were accepted

	mu      sync.Mutex // guards flights
	flights map[*flight]struct{}
}

// A flight is a request under way.
type flight struct {
	who      *auth.Principal
	endpoint string
	end      context.CancelFunc
}

// New returns a guard that lets everybody through until Use is called. failed
// is told of each request that was refused, as nobody's (who is nil) or as one
// of who is no admin, from several goroutines; nil is not.
func New(log *slog.Logger, failed func(who *auth.Principal, endpoint, reason string)) *Guard {
	good, err := lru.New[[sha256.Size]byte, struct{}](keptBuckets)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	if failed == nil {
		failed = func(*auth.Principal, string, string) {}
	}
	return &Guard{log: log, failed: failed, failures: newFailures(), good: good, flights: map[*flight]struct{}{}}
}

// Use puts a state in force; nil lets everybody through.
func (g *Guard) Use(s *State) { g.state.Store(s) }

// Enabled says whether requests are authenticated.
func (g *Guard) Enabled() bool { return g.state.Load() != nil }

// End ends the requests under way of those that gone says it of, streams among
// them. who is nil for requests that were not authenticated.
func (g *Guard) End(gone func(who *auth.Principal, endpoint string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f := range g.flights {
		if gone(f.who, f.endpoint) {
			f.end()
		}
	}
}

// fly counts a request in until landed is called.
func (g *Guard) fly(ctx context.Context, who *auth.Principal, endpoint string) (_ context.Context, landed func()) {
	f := &flight{who: who, endpoint: endpoint}
	ctx, f.end = context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flights[f] = struct{}{}
	return ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.flights, f)
		f.end()
	}
}

// Enter answers a request to an endpoint, or has next do so when it is known
// who calls; auth.Of has it.
func (g *Guard) Enter(w http.ResponseWriter, r *http.Request, endpoint string, next http.HandlerFunc) {
	s := g.state.Load()
	if s == nil {
		ctx, landed := g.fly(r.Context(), nil, endpoint)
		defer landed()
		next(w, r.WithContext(ctx))
		return
	}
	who, until, err := g.identify(s, r, endpoint)
	if err != nil {
		g.refuse(w, r, s, endpoint, err)
		return
	}
	if endpoint == AdminArea && !s.Policy.Admin(who) {
		g.failed(who, endpoint, "it needs role admin: "+r.Method+" "+r.URL.Path[:min(len(r.URL.Path), 100)])
		http.Error(w, fmt.Sprintf("%s may not see this: it needs a grant of role admin", who.Name), http.StatusForbidden)
		return
	}
	ctx, landed := g.fly(auth.With(r.Context(), who), who, endpoint)
	defer landed()
	if g.state.Load() != s { // what changed meanwhile may have ended others
		g.Enter(w, r, endpoint, next)
		return
	}
	if stream := r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"; stream && !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	through(who, next).ServeHTTP(w, withoutToken(r.WithContext(ctx)))
}

// through is next behind the SDK's middleware, which binds sessions.
func through(who *auth.Principal, next http.Handler) http.Handler {
	info := &sdkauth.TokenInfo{UserID: who.Name, Extra: map[string]any{auth.InfoKey: who}}
	verified := func(context.Context, string, *http.Request) (*sdkauth.TokenInfo, error) { return info, nil }
	return sdkauth.RequireBearerToken(verified, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// withoutToken is r with a word in place of the token, which nobody needs any
// more.
func withoutToken(r *http.Request) *http.Request {
	r.Header = r.Header.Clone()
	r.Header.Set("Authorization", "Bearer verified")
	return r
}

var (
	errNoToken  = errors.New("there is no bearer token")
	errTooMany  = errors.New("too many failed authentications")
	errNoIssuer = errors.New("no such token")
)

// maxTokenLen bounds a token in bytes: those of some issuers are long.
const maxTokenLen = 16 << 10

// identify is who calls, and until when that holds, if it says.
func (g *Guard) identify(s *State, r *http.Request, endpoint string) (*auth.Principal, time.Time, error) {
	token, err := bearer(r)
	if errors.Is(err, errNoToken) && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return certified(r.TLS.VerifiedChains[0][0])
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	if auth.IsStatic(token) {
		who, err := s.Tokens.Principal(token)
		return who, time.Time{}, err
	}
	if s.OAuth == nil {
		return nil, time.Time{}, errNoIssuer
	}
	sum := sha256.Sum256([]byte(token))
	// What was good before is looked at again in any case; the rest costs us
	// more than it costs who sends it.
	if !g.good.Contains(sum) && g.failures.spent(addressOf(r, s.BehindProxy), prefixOf(token)) {
		return nil, time.Time{}, errTooMany
	}
	who, until, err := s.OAuth.Verify(r.Context(), token, s.Resource(endpoint))
	if err != nil {
		return nil, time.Time{}, err
	}
	g.good.Add(sum, struct{}{})
	return who.Bearing(token), until, nil
}

// bearer is the token of a request.
func bearer(r *http.Request) (string, error) {
	all := r.Header.Values("Authorization")
	if len(all) == 0 {
		return "", errNoToken
	}
	scheme, token, ok := strings.Cut(all[0], " ")
	token = strings.TrimSpace(token)
	if len(all) > 1 || !ok || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > maxTokenLen || strings.ContainsAny(token, " \t") {
		return "", errors.New("the Authorization header is not one bearer token")
	}
	return token, nil
}

// Resource is the address of an endpoint, for which tokens have to be.
func (s *State) Resource(endpoint string) string {
	return s.Base + path(endpoint)
}

func path(endpoint string) string {
	if endpoint == AdminArea || endpoint == defaultEndpoint {
		return "/mcp"
	}
	return "/servers/" + endpoint + "/mcp"
}

// defaultEndpoint is the one on /mcp.
const defaultEndpoint = "default"
