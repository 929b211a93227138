// Package access says who may call a gateway, and what they may do, by the
// configuration in force: it puts together what packages below gateway/auth
// know, and ends what is not allowed any more.
package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/httpauth"
	"github.com/tooldex/tooldex/gateway/auth/oauth"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// tokensFile is where the state folder has tokens that were made at run time.
const tokensFile = "tokens.json"

// lookForRevoked is how often it is looked whether tokens were revoked, whose
// sessions then end. Their requests are refused at once.
const lookForRevoked = time.Second

// Options configure New.
type Options struct {
	Labels func(*index.Tool) view.Labels
	Audit  func(audit.Event) // is told of requests that are refused
	// CloseSessions closes those over HTTP of which gone says it.
	CloseSessions func(gone func(who *auth.Principal, endpoint string) bool)
	Logger        *slog.Logger
}

// An Access is who may call, and what they may do, by the configuration that
// was adopted last. It is safe for concurrent use, but for Adopt.
type Access struct {
	o      Options
	guard  *httpauth.Guard
	tokens *auth.Tokens
	policy atomic.Pointer[auth.Policy] // nil: whoever calls is the operator

	asked  *config.OAuth        // of the verifier below; both are Adopt's
	oauth  *oauth.Verifier      // nil for none
	issuer chan *oauth.Verifier // has one whose keys are to be kept from now on

	mu     sync.Mutex // guards the fields below
	cfg    *config.Config
	visits map[*visit]struct{}
}

// New is the access by a configuration, which is then adopted.
func New(cfg *config.Config, o Options) *Access {
	a := &Access{o: o, cfg: cfg, issuer: make(chan *oauth.Verifier, 1), visits: map[*visit]struct{}{}, tokens: auth.NewTokens(nil, tokenFile(cfg))}
	a.guard = httpauth.New(o.Logger, a.failed)
	return a
}

// failed audits a request that was refused, as nobody's unless who is somebody.
func (a *Access) failed(who *auth.Principal, endpoint, reason string) {
	event := audit.Event{Kind: audit.AuthFailed, Endpoint: endpoint, Reason: reason}
	if who != nil {
		event.Kind, event.Principal = audit.Denied, who.Name
	}
	a.o.Audit(event)
}

// Guard tells callers over HTTP apart.
func (a *Access) Guard() *httpauth.Guard { return a.guard }

// tokenFile has the tokens that were made at run time; nil without a state
// folder.
func tokenFile(cfg *config.Config) *auth.TokenFile {
	if cfg.State == "" {
		return nil
	}
	return auth.NewTokenFile(filepath.Join(cfg.State, tokensFile))
}

// TokenFile is where tokens that are made at run time are kept, in a state
// folder that is there.
func TokenFile(cfg *config.Config) (*auth.TokenFile, error) {
	if cfg.State == "" {
		return nil, errors.New("there is no state folder to keep tokens in; set state in the configuration")
	}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	return tokenFile(cfg), nil
}

// Narrow is what the caller of ctx sees of what an endpoint shows.
func (a *Access) Narrow(ctx context.Context, endpoint string, shows view.View) view.View {
	policy := a.policy.Load()
	if policy == nil {
		return shows
	}
	return policy.View(auth.Of(ctx), endpoint, shows)
}

// Adopt puts in force what a configuration says, as labels do by now, and ends
// what is not allowed any more.
func (a *Access) Adopt(cfg *config.Config) {
	a.mu.Lock()
	a.cfg = cfg
	a.mu.Unlock()
	before := a.policy.Load()
	a.tokens.Configure(cfg.Auth.Tokens)
	if !cfg.Auth.Enabled {
		a.policy.Store(nil)
		a.guard.Use(nil)
		return
	}
	policy := PolicyOf(cfg, a.o.Labels)
	a.policy.Store(policy)
	if !reflect.DeepEqual(a.asked, cfg.Auth.OAuth) {
		a.asked, a.oauth = cfg.Auth.OAuth, nil
		if cfg.Auth.OAuth != nil {
			a.oauth = oauth.New(cfg.Auth.OAuth.Config, a.o.Logger)
		}
		select { // the last one counts
		case <-a.issuer:
		default:
		}
		a.issuer <- a.oauth
	}
	a.guard.Use(a.state(cfg, policy))
	a.end(func(who *auth.Principal, endpoint string) bool {
		return who == nil || before == nil || !a.tokens.Hold(who) || policy.Loses(a.byNow(who), endpoint, before, who)
	})
}

// byNow is who, of the teams that its token has by now.
func (a *Access) byNow(who *auth.Principal) *auth.Principal {
	if now, err := a.tokens.Named(who.Name); err == nil && now != nil {
		return now
	}
	return who
}

func (a *Access) state(cfg *config.Config, policy *auth.Policy) *httpauth.State {
	s := &httpauth.State{Policy: policy, Tokens: a.tokens, OAuth: a.oauth, Base: Base(cfg), BehindProxy: cfg.BehindProxy}
	if cfg.Auth.OAuth != nil {
		s.Issuer, s.Scopes = cfg.Auth.OAuth.Issuer, cfg.Auth.OAuth.Scopes
	}
	return s
}

// Base is the scheme and host by which clients reach a configuration's
// endpoints.
func Base(cfg *config.Config) string {
	switch {
	case cfg.PublicURL != "":
		return cfg.PublicURL
	case cfg.TLS.Cert != "":
		return "https://" + cfg.Listen
	}
	return "http://" + cfg.Listen
}

// Hosts are the names, beside those of this machine, by which clients reach a
// configuration's endpoints.
func Hosts(cfg *config.Config) []string {
	var out []string
	if u, err := url.Parse(cfg.PublicURL); err == nil && u.Host != "" {
		out = append(out, u.Host)
	}
	if host, _, err := net.SplitHostPort(cfg.Listen); err == nil && !config.Loopback(host) && host != "" {
		out = append(out, host)
	}
	return out
}

// PolicyOf is what a configuration grants, for tools with these labels.
func PolicyOf(cfg *config.Config, labels func(*index.Tool) view.Labels) *auth.Policy {
	var owned auth.Owned
	for _, s := range cfg.Servers {
		owned.Principals, owned.Teams = append(owned.Principals, s.Owners...), append(owned.Teams, s.Teams...)
	}
	slices.Sort(owned.Teams)
	owned.Teams = slices.Compact(owned.Teams)
	p := auth.NewPolicy(cfg.Auth.Grants, labels, owned)
	p.Shared = cfg.Auth.Shared
	return p
}

// Run keeps the keys of the issuer, and ends what stands on revoked tokens,
// until ctx ends.
func (a *Access) Run(ctx context.Context) {
	look := time.NewTicker(lookForRevoked)
	defer look.Stop()
	stop, done := func() {}, make(chan struct{})
	close(done)
	defer func() { stop(); <-done }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			a.end(func(who *auth.Principal, _ string) bool { return who != nil && !a.tokens.Hold(who) })
		case v := <-a.issuer:
			stop()
			<-done
			stop, done = begin(ctx, v)
		}
	}
}

// begin has a verifier keep its keys until stop is called; done is closed
// when it has ended.
func begin(ctx context.Context, v *oauth.Verifier) (stop func(), done chan struct{}) {
	ctx, stop = context.WithCancel(ctx)
	done = make(chan struct{})
	go func() {
		defer close(done)
		if v != nil {
			v.Run(ctx)
		}
	}()
	return stop, done
}

// end ends requests and sessions of those that gone says it of.
func (a *Access) end(gone func(who *auth.Principal, endpoint string) bool) {
	a.guard.End(gone)
	a.o.CloseSessions(gone)
	a.mu.Lock()
	defer a.mu.Unlock()
	for v := range a.visits {
		if gone(v.who, v.endpoint) {
			_ = v.conn.Close() // it has ended otherwise
		}
	}
}

// A visit is a session of a process on this machine.
type visit struct {
	who      *auth.Principal
	endpoint string
	conn     io.Closer
}

// Visit is ctx of a session over conn, which is closed when its user may do
// less than when it began; left is called when it has ended.
func (a *Access) Visit(ctx context.Context, endpoint string, conn io.Closer) (_ context.Context, left func()) {
	v := &visit{who: auth.Local(), endpoint: endpoint, conn: conn}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visits[v] = struct{}{}
	return auth.With(ctx, v.who), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.visits, v)
	}
}
