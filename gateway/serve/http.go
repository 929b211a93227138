package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBody bounds a request's body: arguments of tools carry files.
	maxBody = 16 << 20
	// maxHeader bounds a request's headers: tokens of some issuers are long.
	maxHeader = 64 << 10
	// sessionTimeout closes the idle sessions of the handshake era.
	sessionTimeout = 30 * time.Minute
	// drainTimeout bounds the wait for calls under way when serving ends.
	drainTimeout = 10 * time.Second
	// shutdownTimeout bounds the wait for connections after that.
	shutdownTimeout = 2 * time.Second
	// headerTimeout bounds the reading of a request's headers. Answers have no
	// such bound: calls may take minutes and streams stay open.
	headerTimeout = 10 * time.Second
	// idleTimeout bounds the wait for the next request on a connection.
	idleTimeout = 2 * time.Minute
)

// newHandlers are the SDK's for a server of both eras: only a stateless handler
// serves the era without handshake, and on that one a cancellation by a client
// of the other era would not reach the call.
func newHandlers(s *Server) handlers {
	server := func(*http.Request) *mcp.Server { return s.server }
	return handlers{
		stateless: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, Logger: quiet(s.log),
			DisableLocalhostProtection: true, // checkHost does it for every path
		}),
		handshake: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxBody, Logger: quiet(s.log),
			DisableLocalhostProtection: true,
		}),
	}
}

// serveMCP chooses by protocol version. post is called when a POST turns out to
// be a stream, which nobody is to wait for.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, post func()) {
	s.disown(r)
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	if r.Method != http.MethodPost {
		s.handlers.other(s, w, r)
		return
	}
	b, err := s.bodies.read(w, r)
	if err != nil {
		refuseBody(w, err)
		return
	}
	defer s.bodies.release(b)
	if text := bytes.TrimSpace(b.data); len(text) > 2 && text[0] == '[' && json.Valid(text) { // a batch, of 2025-03-26
		r.Body = io.NopCloser(bytes.NewReader(b.data))
		s.handlers.handshake.ServeHTTP(w, r)
		return
	}
	m, wrong := readMessage(b.data)
	if m.method == "subscriptions/listen" {
		ended, ok := s.subscriptions.begin(w, len(b.data))
		if !ok {
			return
		}
		defer ended()
		post()
	}
	s.handlers.post(s, w, r, m, wrong)
}

// end refuses calls from now on, waits until ctx ends for those under way, and
// closes every session.
func (s *Server) end(ctx context.Context) {
	if err := s.Drain(ctx); err != nil {
		s.log.Warn("calls abandoned", "error", err)
	}
	stop, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	// A session that is closed drops the answers not yet written.
	if err := s.posts.Drain(stop); err != nil {
		s.log.Warn("http requests abandoned", "error", err)
	}
	s.closeSessions()
}

func (s *Server) closeSessions() {
	var closed sync.WaitGroup
	for session := range s.server.Sessions() {
		closed.Go(func() { // one may wait for a client that does not read
			if err := session.Close(); err != nil {
				s.log.Debug("session not closed", "error", err)
			}
		})
	}
	closed.Wait()
}
