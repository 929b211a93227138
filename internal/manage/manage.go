// Package manage joins the API of administrators to an engine: what definitions
// of endpoints mean is the configuration's to say, what is kept is put in force
// by the engine, and the key lies in the state folder.
package manage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/admin"
	"github.com/tooldex/tooldex/gateway/admin/stored"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/auth/httpauth"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/config"
)

// ErrNoState reports that there is no state folder to keep anything in.
var ErrNoState = errors.New("the API needs a state folder, and the configuration has none")

// Options say what API returns the handler of.
type Options struct {
	Version string
	URL     func() string // at which clients reach the gateway, without a path
	NoKey   bool          // the key of the state folder opens nothing
}

// API is the API of an engine, for those who have the key of its state folder,
// who are its user, and where callers are told apart for principals of role
// admin.
func API(e *app.Engine, o Options) (h http.Handler, key string, err error) {
	if e.Config.State == "" {
		return nil, "", ErrNoState
	}
	if key, err = admin.Key(e.Config.State); err != nil {
		return nil, "", err
	}
	managed := app.Managed{Engine: e}
	handler, err := admin.New(admin.Options{
		Definer: definer{managed}, Stored: stored.In(e.Config.State), Gateway: e.Gateway, Index: e.Index, Upstreams: upstreams{e},
		Status: func(context.Context) any { return e.Status(o.Version) }, StatusType: app.Status{},
		URL: o.URL, Allow: known, Audit: managed.Audited, Logger: managed.Logger(),
	})
	byKey := admin.ByKey(key)
	if o.NoKey {
		byKey = func(*http.Request) bool { return false }
	}
	return entrance{handler, byKey, e.Access.Guard()}, key, err
}

// known says that a request came through the entrance as somebody's.
func known(r *http.Request) bool { return gateway.OriginOf(r.Context()).Principal != "" }

// An entrance finds out which administrator asks.
type entrance struct {
	next  http.Handler
	byKey func(*http.Request) bool
	guard *httpauth.Guard
}

// ServeHTTP implements [http.Handler]. Who shows nothing goes on as nobody, to
// whom the API says what it needs.
func (x entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shows := r.Header.Get("Authorization") != "" || r.TLS != nil && len(r.TLS.VerifiedChains) > 0
	switch {
	case x.byKey(r):
		x.next.ServeHTTP(w, of(r, auth.Local()))
	case x.guard.Enabled() && shows:
		x.guard.Enter(w, r, httpauth.AdminArea, func(w http.ResponseWriter, r *http.Request) {
			x.next.ServeHTTP(w, of(r, auth.Of(r.Context())))
		})
	default:
		x.next.ServeHTTP(w, r)
	}
}

// of is a request as one of who; of nobody while nobody is asked.
func of(r *http.Request, who *auth.Principal) *http.Request {
	if who == nil {
		return r
	}
	return r.WithContext(gateway.From(r.Context(), gateway.Origin{Principal: who.Name, Token: upstream.CallerToken(who.Token())}))
}

// Serve has an engine serve its API beside its endpoints, on the address at
// which it is about to. Where others than this machine reach it, principals of
// role admin alone may use it; while nothing tells callers apart that is an
// error.
func Serve(e *app.Engine, version string, at net.Addr) error {
	tcp, ok := at.(*net.TCPAddr)
	local := ok && tcp.IP.IsLoopback() && !e.Config.BehindProxy
	if !local && !e.Config.Auth.Enabled {
		return fmt.Errorf("the API is served on loopback addresses only, as there is no authentication; %s is none", at)
	}
	base := "http://" + at.String()
	if e.Config.PublicURL != "" || e.Config.TLS.Cert != "" {
		base = access.Base(e.Config)
	}
	h, _, err := API(e, Options{Version: version, NoKey: !local, URL: func() string { return base }})
	if err != nil {
		return err
	}
	app.Managed{Engine: e}.Handle(h, admin.Paths()...)
	return nil
}

// A definer reads definitions with the configuration in force.
type definer struct{ e app.Managed }

// Configured implements [admin.Definer].
func (d definer) Configured() []admin.Endpoint {
	cfg := d.e.InForce()
	file := cfg.Path
	if abs, err := filepath.Abs(file); err == nil && file != "" {
		file = abs
	}
	var out []admin.Endpoint
	for _, x := range append([]config.Endpoint{cfg.Default}, cfg.Endpoints...) {
		e := endpointOf(cfg, x)
		e.File = file
		out = append(out, e)
	}
	return out
}

// Define implements [admin.Definer].
func (d definer) Define(name string, definition []byte) (admin.Endpoint, error) {
	x, err := d.e.Define(name, definition)
	x.Name = name
	return endpointOf(d.e.InForce(), x), err
}

// Changed implements [admin.Definer].
func (d definer) Changed(context.Context) { d.e.ReadStored() }

func endpointOf(cfg *config.Config, x config.Endpoint) admin.Endpoint {
	w := admin.Written{Name: x.Name, Type: "meta", Enabled: x.Enabled, Surface: x.Surface, Hide: x.HideUnderlyingTools, ReadOnly: x.ReadOnly}
	for key, into := range map[string]*[]byte{"scope": (*[]byte)(&w.Scope), "meta_config": (*[]byte)(&w.Meta)} {
		if v, ok := x.Written[key]; ok && v != nil {
			text, err := rawjson.Marshal(v)
			if err == nil { // else it is no JSON, which the file may have
				*into = text
			}
		}
	}
	return admin.Endpoint{Written: w, Rules: x.Rules, Warnings: x.Warnings, WordsOnly: app.WordsOnlyAt(cfg, x)}
}

// upstreams are the servers of an engine; one that runs none knows what is
// stored of them.
type upstreams struct{ e *app.Engine }

// Status implements [admin.Upstreams].
func (u upstreams) Status() []upstream.Status {
	if u.e.Servers != nil {
		return u.e.Servers.Status()
	}
	var out []upstream.Status
	for _, s := range u.e.Index.Status().Servers {
		out = append(out, upstream.Status{Name: s.Name, State: upstream.Idle, Tools: s.Tools + s.Hidden, Listed: s.Listed})
	}
	return out
}

// Reindex implements [admin.Upstreams].
func (u upstreams) Reindex(ctx context.Context, server string) (admin.Reindexed, bool, error) {
	if !slices.ContainsFunc(u.Status(), func(s upstream.Status) bool { return s.Name == server }) {
		return admin.Reindexed{}, false, nil
	}
	if u.e.Servers == nil {
		return admin.Reindexed{}, true, fmt.Errorf("no tooldex serves: start one, or run \"tooldex reindex --server %s\"", server)
	}
	row := u.e.List(ctx, []string{server}, reindexTimeout, nil)[0]
	if row.Error != "" {
		return admin.Reindexed{}, true, errors.New(row.Error)
	}
	return admin.Reindexed{Upstream: server, Tools: row.Tools, Warnings: row.Warnings}, true, nil
}

// reindexTimeout is above that of the request, whose context ends first.
const reindexTimeout = time.Hour
