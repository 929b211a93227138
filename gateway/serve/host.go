package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/telemetry"
)

// Default is the name of the endpoint on /mcp.
const Default = "default"

// HostOptions configure NewHost. The zero value works.
type HostOptions struct {
	Version     string   // of this program; "" means "dev"
	MaxSessions int      // most sessions, and most streams without one, over HTTP that clients keep open; 0 means 1,000
	Hosts       []string // Host names accepted beside the loopback ones

	Guard Guard // authenticates requests; nil lets everybody through

	Metrics *telemetry.Metrics // that /metrics and /readyz show; nil means ones of its own
	Logger  *slog.Logger       // nil discards
}

// A Host serves endpoints over HTTP, each of them a Server: the one called
// Default on /mcp, any other on /servers/NAME/mcp. They may come, change and go
// while it serves. Its methods are safe for concurrent use.
type Host struct {
	opts     HostOptions
	log      *slog.Logger
	sessions *sessions               // of all endpoints
	bodies   *bodies                 // as above
	beside   map[string]http.Handler // beside the endpoints, by pattern

	subscribed atomic.Int64 // streams without a session, at all endpoints

	mu      sync.RWMutex // guards the fields below
	servers map[string]*Server
	ending  bool
	leaving sync.WaitGroup // servers that were replaced or removed
}

// NewHost returns a host without endpoints.
func NewHost(o HostOptions) *Host {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = maxSessions
	}
	if o.Guard == nil {
		o.Guard = unguarded{}
	}
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics(nil, nil)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Host{opts: o, log: o.Logger, sessions: newSessions(o.MaxSessions), bodies: newBodies(), servers: map[string]*Server{}}
}

// Handle serves a handler beside the endpoints, to the same hosts and origins,
// on a pattern of [http.ServeMux]. It is called before Handler.
func (h *Host) Handle(pattern string, handler http.Handler) {
	if h.beside == nil {
		h.beside = map[string]http.Handler{}
	}
	h.beside[pattern] = handler
}

// Put serves s, which no host has served before, under a name. Requests that
// come from now on are for s; a server that had the name ends as Remove says.
func (h *Host) Put(name string, s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.sessions, s.bodies, s.guard = h.sessions, h.bodies, h.opts.Guard
	s.subscriptions.open, s.subscriptions.most = &h.subscribed, int64(h.opts.MaxSessions)
	h.retire(name)
	h.servers[name] = s
}

// Remove serves nothing under the name from now on. Calls under way on the
// server that had it may go on for 10 s; then all of its sessions and streams
// are closed, also those that are not over HTTP.
func (h *Host) Remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retire(name)
	delete(h.servers, name)
}

// retire ends the server of a name in the background. The caller holds the
// lock, so that no request is on its way to it.
func (h *Host) retire(name string) {
	s := h.servers[name]
	if s == nil || h.ending {
		return
	}
	s.retired.Store(true)
	h.leaving.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		_ = s.posts.Drain(ctx) // what takes longer is cancelled
		s.end(ctx)
		h.sessions.drop(s)
	})
}

// Get is the server of a name, nil for none.
func (h *Host) Get(name string) *Server {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.servers[name]
}

// others are the names that are served beside Default, in order.
func (h *Host) others() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.servers)), func(name string) bool { return name == Default })
}

// Handler serves the endpoints in both eras, /healthz, /readyz and /metrics,
// and on / says so to people. Requests whose Host is neither loopback nor in
// HostOptions.Hosts, and requests from pages of other origins, are refused.
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	endpoint := func(pattern string, answer http.HandlerFunc) { mux.Handle(pattern, ofSameOrigin(answer)) }
	endpoint("/mcp", func(w http.ResponseWriter, r *http.Request) { h.serveMCP(w, r, Default) })
	endpoint("/servers/{name}/mcp", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if name == Default { // it has one address
			h.opts.Guard.Enter(w, r, name, func(w http.ResponseWriter, r *http.Request) { h.serveKnown(w, r, "") })
			return
		}
		h.serveMCP(w, r, name)
	})
	h.describe(mux)
	mux.HandleFunc("GET /{$}", h.about)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		h.opts.Guard.Enter(w, r, "", h.opts.Metrics.Handler().ServeHTTP)
	})
	for pattern, handler := range h.beside {
		mux.Handle(pattern, ofSameOrigin(handler))
	}
	return h.checkHost(http.NewCrossOriginProtection().Handler(mux))
}

// ofSameOrigin refuses requests from pages of other origins, also those that
// only read.
func ofSameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameOrigin(r) {
			http.Error(w, "pages of other origins are not served", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (h *Host) serveMCP(w http.ResponseWriter, r *http.Request, name string) {
	h.opts.Guard.Enter(w, r, name, func(w http.ResponseWriter, r *http.Request) { h.serveKnown(w, r, name) })
}

// serveKnown serves a request of which it is known who makes it.
func (h *Host) serveKnown(w http.ResponseWriter, r *http.Request, name string) {
	s, post, ok := h.enter(name, r.Method)
	switch {
	case s == nil:
		http.Error(w, "no virtual server is served here", http.StatusNotFound)
	case !ok:
		http.Error(w, gateway.ErrShutdown.Error(), http.StatusServiceUnavailable)
	default:
		defer post()
		s.serveMCP(w, r, post)
	}
}

// enter finds the server for a request. A POST counts as under way there until
// post is called for the first time; ok is false when there are to be no more
// of them. Under the lock none goes to a server that has been replaced.
func (h *Host) enter(name, method string) (s *Server, post func(), ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s = h.servers[name]
	if s == nil || method != http.MethodPost {
		return s, func() {}, true
	}
	return s, sync.OnceFunc(s.posts.Leave), s.posts.Enter()
}

// checkHost refuses Host headers that no client of ours sends, so that a web
// page cannot reach a local gateway by rebinding its own name.
func (h *Host) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.hostAllowed(r.Host) {
			http.Error(w, fmt.Sprintf("host %q is not served here; use a loopback address", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (h *Host) hostAllowed(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(h.opts.Hosts, func(h string) bool {
		return strings.EqualFold(h, name) || strings.EqualFold(h, host)
	})
}

// ready answers 200 while calls are taken.
func (h *Host) ready(w http.ResponseWriter, _ *http.Request) {
	m := h.opts.Metrics
	st := m.Catalog.Status()
	out := struct {
		Ready   bool           `json:"ready"`
		Tools   int            `json:"tools"`
		Problem string         `json:"problem,omitempty"`
		Servers map[string]int `json:"servers,omitempty"` // by state
	}{Ready: !h.isEnding(), Tools: st.Tools, Problem: st.Problem}
	if h.opts.Guard.Enabled() { // who asks may be anybody
		out.Tools, out.Problem = 0, ""
	} else if m.Upstreams != nil {
		out.Servers = map[string]int{}
		for _, server := range m.Upstreams() {
			out.Servers[string(server.State)]++
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if !out.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		h.log.Debug("readyz not delivered", "error", err)
	}
}

func (h *Host) isEnding() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.ending
}

// Serve answers HTTP on ln until ctx ends, then refuses calls, waits up to
// 10 s for those under way, closes every session and returns. It closes ln.
func (h *Host) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: h.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	h.end()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		if err := srv.Close(); err != nil {
			h.log.Warn("http server not closed", "error", err)
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	}
	return nil
}

// end ends every endpoint, all at once.
func (h *Host) end() {
	h.mu.Lock()
	h.ending = true
	servers := slices.Collect(maps.Values(h.servers))
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var ended sync.WaitGroup
	for _, s := range servers {
		ended.Go(func() { s.end(ctx) })
	}
	ended.Wait()
	h.leaving.Wait()
}
