package serve

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/native"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	nameHeader    = "Mcp-Name"

	// requestHeader has the id of a request, as JSON, on its way through the
	// SDK, which keeps it from who answers.
	requestHeader = "Tooldex-Request"
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

// post serves the message m, of which wrong is what no version allows. What
// is not offered is answered here, as the SDK's answers end the sessions of
// some clients.
func (h handlers) post(s *Server, w http.ResponseWriter, r *http.Request, m *message, wrong *jsonrpc.Error) {
	version := r.Header.Get(versionHeader)
	session := r.Header.Get(sessionHeader)
	known := session != "" && s.hasSession(session)
	if wrong == nil {
		wrong = m.refusal(version)
	}
	if wrong == nil && known && m.method == "initialize" {
		wrong = invalid("this session is initialized already")
	}
	if wrong != nil && (session == "" || known) {
		refuseMessage(w, version, known, m, wrong)
		return
	}
	if s.stepUp(w, r, m) {
		return
	}
	r.Header.Set(requestHeader, string(m.id))
	raw, marked := m.forSDK()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	r.ContentLength = int64(len(raw))
	if marked {
		w = idWriter{w}
	}
	// A message that names a version of the newer era without the header is
	// refused by the handler of that era, in its terms.
	if version >= gateway.StatelessEra || version == "" && m.version() >= gateway.StatelessEra {
		r.Header.Del("Last-Event-ID") // nothing is resumed in this era
		if name, ok := native.HeaderText(r.Header.Get(nameHeader)); ok {
			r.Header.Set(nameHeader, name)
		}
		if wrong := s.offer.wrongHeaders(viewOf(r.Context(), s), r.Header, m); wrong != nil {
			refuseMessage(w, version, false, m, wrong)
			return
		}
		if s.direct(w, r, m) {
			return
		}
		h.stateless.ServeHTTP(w, r)
		return
	}
	h.inSession(s, w, r, m, session)
}

// inSession serves a message of the handshake era.
func (h handlers) inSession(s *Server, w http.ResponseWriter, r *http.Request, m *message, session string) {
	if session != "" {
		if m.method == "notifications/cancelled" && s.sessions.cancel(sessionKey{s, session}, string(m.params["requestId"])) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if s.directInSession(w, r, m, session) {
			return
		}
		defer s.sessions.use(sessionKey{s, session}, r.Method)()
		h.handshake.ServeHTTP(w, r)
		return
	}
	if m.isCall() && m.method != "initialize" && m.method != "ping" {
		refuseMessage(w, "", false, m, invalid("%s without a session: initialize first, and send the %s that comes back", m.method, sessionHeader))
		return
	}
	who := auth.Of(r.Context())
	closed, ok := s.sessions.open(who)
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many sessions, all in use; close one, or try again", http.StatusServiceUnavailable)
		return
	}
	if closed.of != nil {
		s.log.Debug("session closed to make room", "most", s.sessions.most)
		// It waits for calls whose clients have gone.
		go closed.of.closeSession(closed.id)
	}
	defer func() { s.sessions.opened(sessionKey{s, w.Header().Get(sessionHeader)}, who) }()
	h.handshake.ServeHTTP(w, r)
}

// other serves GET, which opens a stream, and DELETE.
func (h handlers) other(s *Server, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= gateway.StatelessEra {
		h.stateless.ServeHTTP(w, r)
		return
	}
	session := r.Header.Get(sessionHeader)
	if r.Method == http.MethodDelete {
		s.sessions.end(sessionKey{s, session})
	}
	defer s.sessions.use(sessionKey{s, session}, r.Method)()
	h.handshake.ServeHTTP(w, r)
}

// refuseMessage answers in the form that clients of the version take without
// ending their session.
func refuseMessage(w http.ResponseWriter, version string, session bool, m *message, why *jsonrpc.Error) {
	if why.Code == jsonrpc.CodeMethodNotFound && !m.isCall() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status := http.StatusBadRequest
	switch {
	case version >= gateway.StatelessEra && why.Code == jsonrpc.CodeMethodNotFound:
		status = http.StatusNotFound
	case version >= gateway.StatelessEra || m.id == nil || why.Code == mcp.CodeUnsupportedProtocolVersion:
	case why.Code == jsonrpc.CodeMethodNotFound || session:
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorMessage(m.id, why)) // a client that has gone needs no answer
}

// liveSessions are the ids of the sessions that have not ended.
func (s *Server) liveSessions() map[string]bool {
	ids := map[string]bool{}
	for session := range s.server.Sessions() {
		ids[session.ID()] = true
	}
	return ids
}

func (s *Server) hasSession(id string) bool { return s.sessionOf(id) != nil }

func (s *Server) sessionOf(id string) *mcp.ServerSession {
	for session := range s.server.Sessions() {
		if session.ID() == id {
			return session
		}
	}
	return nil
}

func (s *Server) closeSession(id string) {
	if session := s.sessionOf(id); session != nil {
		if err := session.Close(); err != nil {
			s.log.Debug("session not closed", "error", err)
		}
	}
}
