package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
)

const (
	// maxBody bounds a request's body: arguments of tools carry files.
	maxBody = 16 << 20
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

// Handler serves /mcp in both eras, the mounted endpoints on
// /servers/NAME/mcp, /healthz, /readyz and /metrics, and on /
// says so to people. Requests
// whose Host is neither loopback nor in Options.Hosts, and requests from
// pages of other origins, are refused.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	if !s.opts.Off {
		mux.Handle("/mcp", s.mcpHandler())
	}
	for name, other := range s.mounted {
		mux.Handle("/servers/"+name+"/mcp", other.mcpHandler())
	}
	mux.HandleFunc("GET /{$}", s.about)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.metrics.Handler())
	return s.checkHost(http.NewCrossOriginProtection().Handler(mux))
}

// mcpHandler chooses by protocol version: only a stateless handler of the SDK
// serves the era without handshake, and on that one a cancellation by a
// client of the other era would not reach the call.
func (s *Server) mcpHandler() http.Handler {
	server := func(*http.Request) *mcp.Server { return s.server }
	h := handlers{
		stateless: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, Logger: quiet(s.log),
			DisableLocalhostProtection: true, // checkHost does it for every path
		}),
		handshake: mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxBody, Logger: quiet(s.log),
			DisableLocalhostProtection: true,
		}),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameOrigin(r) {
			http.Error(w, "pages of other origins are not served", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Accel-Buffering", "no") // a proxy must not hold events back
		if r.Method != http.MethodPost {
			h.other(s, w, r)
			return
		}
		if !s.posts.enter() {
			http.Error(w, gateway.ErrShutdown.Error(), http.StatusServiceUnavailable)
			return
		}
		defer s.posts.leave()
		b, err := s.bodies.read(w, r)
		if err != nil {
			refuseBody(w, err)
			return
		}
		defer s.bodies.release(b)
		if text := bytes.TrimSpace(b.data); len(text) > 2 && text[0] == '[' && json.Valid(text) { // a batch, of 2025-03-26
			r.Body = io.NopCloser(bytes.NewReader(b.data))
			h.handshake.ServeHTTP(w, r)
			return
		}
		m, wrong := readMessage(b.data)
		h.post(s, w, r, m, wrong)
	})
}

// checkHost refuses Host headers that no client of ours sends, so that a web
// page cannot reach a local gateway by rebinding its own name.
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.hostAllowed(r.Host) {
			http.Error(w, fmt.Sprintf("host %q is not served here; use a loopback address", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(s.opts.Hosts, func(h string) bool {
		return strings.EqualFold(h, name) || strings.EqualFold(h, host)
	})
}

// ready answers 200 while calls are taken.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	st := s.metrics.catalog.Status()
	out := struct {
		Ready   bool           `json:"ready"`
		Tools   int            `json:"tools"`
		Problem string         `json:"problem,omitempty"`
		Servers map[string]int `json:"servers,omitempty"` // by state
	}{Ready: !s.underWay.isShut(), Tools: st.Tools, Problem: st.Problem}
	if s.metrics.upstreams != nil {
		out.Servers = map[string]int{}
		for _, server := range s.metrics.upstreams() {
			out.Servers[string(server.State)]++
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if !out.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		s.log.Debug("readyz not delivered", "error", err)
	}
}

// Serve answers HTTP on ln until ctx ends, then refuses calls, waits up to
// 10 s for those under way, closes every session and returns. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.drain()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	// A session that is closed drops the answers not yet written.
	for _, endpoint := range s.all() {
		if err := endpoint.posts.drain(stop); err != nil {
			s.log.Warn("http requests abandoned", "error", err)
		}
		endpoint.closeSessions()
	}
	if err := srv.Shutdown(stop); err != nil {
		if err := srv.Close(); err != nil {
			s.log.Warn("http server not closed", "error", err)
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	}
	return nil
}

// drain is Drain within drainTimeout.
func (s *Server) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, endpoint := range s.all() {
		wg.Go(func() {
			if err := endpoint.Drain(ctx); err != nil {
				s.log.Warn("calls abandoned", "error", err)
			}
		})
	}
	wg.Wait()
}

func (s *Server) closeSessions() {
	for session := range s.server.Sessions() {
		if err := session.Close(); err != nil {
			s.log.Debug("session not closed", "error", err)
		}
	}
}
