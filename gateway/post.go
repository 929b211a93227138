package gateway

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	nameHeader    = "Mcp-Name"
)

// handlers are those of the two eras.
type handlers struct{ stateless, handshake http.Handler }

// sameOrigin says that the request comes from no page, or from one of ours.
// http.CrossOriginProtection does not look at GET, which opens streams here.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// post serves one message whose envelope is e: what is not offered is
// answered here, as the SDK's answers end the sessions of some clients.
func (h handlers) post(g *Gateway, w http.ResponseWriter, r *http.Request, e *envelope) {
	version := r.Header.Get(versionHeader)
	session := r.Header.Get(sessionHeader)
	if refused := e.refusal(version); refused != nil && (session == "" || g.hasSession(session)) {
		refuseMessage(w, version, e, refused)
		return
	}
	// A message that names a version of the newer era without the header is
	// refused by the handler of that era, in its terms.
	if version >= statelessEra || version == "" && e.Params.Meta.Version >= statelessEra {
		r.Header.Del("Last-Event-ID") // nothing is resumed in this era
		if name, ok := decodedHeader(r.Header.Get(nameHeader)); ok {
			r.Header.Set(nameHeader, name)
		}
		if g.direct(w, r, e.message) {
			return
		}
		h.stateless.ServeHTTP(w, r)
		return
	}
	if session != "" {
		if e.Method == "notifications/cancelled" && g.sessions.cancel(session, string(e.Params.Request)) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if g.directInSession(w, r, e.message, session) {
			return
		}
		defer g.sessions.use(session, r.Method)()
		h.handshake.ServeHTTP(w, r)
		return
	}
	closed, ok := g.sessions.open(g.liveSessions)
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many sessions, all in use; close one, or try again", http.StatusServiceUnavailable)
		return
	}
	if closed != "" {
		g.log.Debug("session closed to make room", "most", g.opts.MaxSessions)
		// It waits for calls whose clients have gone.
		go g.closeSession(closed)
	}
	defer func() { g.sessions.opened(w.Header().Get(sessionHeader)) }()
	h.handshake.ServeHTTP(w, r)
}

// other serves GET, which opens a stream, and DELETE.
func (h handlers) other(g *Gateway, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= statelessEra {
		h.stateless.ServeHTTP(w, r)
		return
	}
	session := r.Header.Get(sessionHeader)
	if r.Method == http.MethodDelete {
		g.sessions.end(session)
	}
	defer g.sessions.use(session, r.Method)()
	h.handshake.ServeHTTP(w, r)
}

// refuseMessage answers in the form that clients of the version take without
// ending their session.
func refuseMessage(w http.ResponseWriter, version string, e *envelope, why *jsonrpc.Error) {
	if why.Code == jsonrpc.CodeMethodNotFound && !e.isCall() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status := http.StatusBadRequest
	if why.Code == jsonrpc.CodeMethodNotFound {
		status = http.StatusOK
		if version >= statelessEra {
			status = http.StatusNotFound
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorMessage(e.ID, why)) // a client that has gone needs no answer
}

// decodedHeader is the text of a header value in the form =?base64?…?=.
func decodedHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(inner)
	return string(text), err == nil
}

// liveSessions are the ids of the sessions that have not ended.
func (g *Gateway) liveSessions() map[string]bool {
	ids := map[string]bool{}
	for s := range g.server.Sessions() {
		ids[s.ID()] = true
	}
	return ids
}

func (g *Gateway) hasSession(id string) bool { return g.sessionOf(id) != nil }

func (g *Gateway) sessionOf(id string) *mcp.ServerSession {
	for s := range g.server.Sessions() {
		if s.ID() == id {
			return s
		}
	}
	return nil
}

func (g *Gateway) closeSession(id string) {
	if s := g.sessionOf(id); s != nil {
		if err := s.Close(); err != nil {
			g.log.Debug("session not closed", "error", err)
		}
	}
}
