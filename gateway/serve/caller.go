package serve

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
)

// viewOf is what the caller of ctx sees. Nothing that answers reads the offer's
// view itself, so that no answer forgets who asks.
func viewOf(ctx context.Context, s *Server) view.View {
	shows := *s.offer.view.Load()
	if s.opts.Narrow == nil {
		return shows
	}
	return s.opts.Narrow(ctx, s.opts.Endpoint, shows)
}

// callerOf is ctx, which the SDK makes of the request that opened a session,
// with who made this request.
func callerOf(ctx context.Context, x *mcp.RequestExtra) context.Context {
	if x == nil || x.TokenInfo == nil {
		return ctx // over stdio nobody else comes
	}
	who, _ := x.TokenInfo.Extra[auth.InfoKey].(*auth.Principal)
	return auth.With(ctx, who)
}

// A Guard authenticates requests; package httpauth has one.
type Guard interface {
	// Enter answers a request to an endpoint, or has next do so with auth.Of its
	// context. An endpoint of "" is what only admins may see.
	Enter(w http.ResponseWriter, r *http.Request, endpoint string, next http.HandlerFunc)
	// Asks is what else clients ask a guard.
	Asks
}

// Asks are the questions of clients that are about authentication itself.
type Asks interface {
	// Enabled says whether requests are authenticated.
	Enabled() bool
	// StepUp answers a request to run a tool that lacks but a better token, and
	// says whether it has.
	StepUp(w http.ResponseWriter, r *http.Request, endpoint string) bool
	// Metadata tells how to authenticate at an endpoint (RFC 9728).
	Metadata(w http.ResponseWriter, r *http.Request, endpoint string)
}

// unguarded lets everybody through.
type unguarded struct{}

func (unguarded) Enter(w http.ResponseWriter, r *http.Request, _ string, next http.HandlerFunc) {
	next(w, r)
}
func (unguarded) Enabled() bool                                             { return false }
func (unguarded) StepUp(http.ResponseWriter, *http.Request, string) bool    { return false }
func (unguarded) Metadata(w http.ResponseWriter, r *http.Request, _ string) { http.NotFound(w, r) }

// describe serves the metadata of endpoints, which is the same for those that
// are not there.
func (h *Host) describe(mux *http.ServeMux) {
	const at = "/.well-known/oauth-protected-resource"
	about := func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if name == "" {
			name = Default
		}
		h.opts.Guard.Metadata(w, r, name)
	}
	mux.HandleFunc(at, about)
	mux.HandleFunc(at+"/mcp", about)
	mux.HandleFunc(at+"/servers/{name}/mcp", about)
}

// disown takes from a request what only we may say, and has one for another
// principal's session ask for one that never was, so that it is answered as
// that.
func (s *Server) disown(r *http.Request) {
	r.Header.Del(requestHeader) // ours alone
	id := r.Header.Get(sessionHeader)
	if id != "" && s.sessions.foreign(sessionKey{s, id}, auth.Of(r.Context())) {
		r.Header.Set(sessionHeader, rand.Text())
	}
}

// stepUp answers a call of a tool that runs tools, when a token of more scopes
// would do.
func (s *Server) stepUp(w http.ResponseWriter, r *http.Request, m *message) bool {
	if m.method != "tools/call" || auth.Of(r.Context()) == nil {
		return false
	}
	name := text(m.params, "name")
	runs := slices.ContainsFunc(s.surface.Tools(), func(t surface.Tool) bool { return t.RunsTools && t.Name == name })
	return runs && s.guard.StepUp(w, r, s.opts.Endpoint)
}

// CloseSessions closes the sessions over HTTP of those that gone says it of;
// owner is nil where nobody was asked who opens it.
func (h *Host) CloseSessions(gone func(owner *auth.Principal, endpoint string) bool) {
	for _, key := range h.sessions.gone(gone) {
		go key.of.closeSession(key.id) // it waits for calls whose clients have gone
	}
}
