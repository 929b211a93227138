package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// helloTimeout bounds what a peer takes to say what it wants.
	helloTimeout = 2 * time.Second
	// quietTimeout closes a connection on which nothing is asked any more.
	quietTimeout = 10 * time.Second
	// writeTimeout ends the session of a client that does not read: what it
	// does not take holds memory that others wait for.
	writeTimeout = time.Minute
	// maxConns bounds the connections at one moment; one more is closed, and
	// its process works alone.
	maxConns = 256
	// maxRequest bounds a request: arguments of tools carry files.
	maxRequest = 16 << 20
	maxHeader  = 8 << 10

	keyHeader = "Tooldex-Key"
	protocol  = "tooldex-session" // that a connection is turned into

	endpointKey = "endpoint" // of the query of a session
)

// A Session serves one MCP client, a message a line, until conn ends or ctx
// does.
type Session func(ctx context.Context, conn io.ReadWriteCloser) error

// A Service is what a Server offers.
type Service struct {
	// Session is what serves the clients of an endpoint; its error says why
	// nothing does, in words for them.
	Session func(endpoint string) (Session, error)
	// About says who serves, in a form that every version understands.
	About func() About
	// Status says how it stands, for peers of the same version.
	Status func() any
	// Call runs a tool; request and reply are the caller's own JSON.
	Call func(ctx context.Context, request json.RawMessage) any
	// Yield is asked to leave the place to a process that serves for longer;
	// nil refuses.
	Yield func()

	Logger *slog.Logger
}

// About is who serves at a place.
type About struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Config  string    `json:"config"` // path of the configuration, "" for none
	Since   time.Time `json:"since"`
	Listen  string    `json:"listen,omitempty"` // its address for HTTP, "" over stdio
}

// A Server answers on the socket of a place, which may change. Its methods are
// safe for concurrent use.
type Server struct {
	s    Service
	web  *http.Server
	all  sync.WaitGroup // sessions and listeners
	over context.Context
	end  context.CancelFunc // of over: sessions end

	mu    sync.Mutex // guards the fields below
	ln    *Listener  // nil when it listens nowhere
	conns int
}

// NewServer returns a server of s that listens nowhere yet.
func NewServer(s Service) *Server {
	v := &Server{s: s}
	v.over, v.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", v.keyed(v.session))
	mux.HandleFunc("GET /status", v.keyed(func(w http.ResponseWriter, _ *http.Request) { v.reply(w, s.Status()) }))
	mux.HandleFunc("POST /call", v.keyed(v.call))
	mux.HandleFunc("GET /about", func(w http.ResponseWriter, _ *http.Request) { v.reply(w, s.About()) })
	mux.HandleFunc("POST /yield", v.keyed(v.yield))
	v.web = &http.Server{
		Handler: mux, ReadHeaderTimeout: helloTimeout, IdleTimeout: quietTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	return v
}

// Use answers on ln from now on, and no longer where it did before; sessions
// go on.
func (v *Server) Use(ln *Listener) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over.Err() != nil {
		v.shut(ln)
		return
	}
	v.shut(v.ln)
	v.ln = ln
	v.all.Go(func() {
		if err := v.web.Serve(&counted{ln, v}); !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
			v.s.Logger.Warn("other processes cannot attach any more", "error", err)
		}
	})
}

// Place is where it listens; ok is false when that is nowhere.
func (v *Server) Place() (p Place, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ln == nil {
		return Place{}, false
	}
	return v.ln.Place, true
}

// Leave stops listening; sessions go on.
func (v *Server) Leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut(v.ln)
	v.ln = nil
}

func (v *Server) shut(ln *Listener) {
	if ln == nil {
		return
	}
	if err := ln.Close(); err != nil {
		v.s.Logger.Debug("socket not closed", "error", err)
	}
}

// Close stops listening, has all sessions end and waits for them.
func (v *Server) Close() {
	v.Leave()
	v.end()
	v.all.Wait()
	if err := v.web.Close(); err != nil {
		v.s.Logger.Debug("server of other processes not closed", "error", err)
	}
}

// counted accepts the user's own processes, and not too many.
type counted struct {
	*Listener
	v *Server
}

func (c *counted) Accept() (net.Conn, error) {
	for {
		conn, err := c.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn); err != nil {
			c.v.s.Logger.Warn("a process was not let in", "error", err)
			_ = conn.Close() // nothing was said
			continue
		}
		if !c.v.enter() {
			_ = conn.Close() // as above
			continue
		}
		return &peer{UnixConn: conn, left: sync.OnceFunc(c.v.leave)}, nil
	}
}

func (v *Server) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conns >= maxConns {
		return false
	}
	v.conns++
	return true
}

func (v *Server) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns--
}

// peer is one connection, which counts until it is closed.
type peer struct {
	*net.UnixConn
	left func()
}

func (c *peer) Close() error {
	c.left()
	return c.UnixConn.Close()
}

// keyed answers peers that agree in version and settings.
func (v *Server) keyed(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p, ok := v.Place(); !ok || r.Header.Get(keyHeader) != p.key {
			http.Error(w, "version or configuration differ", http.StatusConflict)
			return
		}
		f(w, r)
	}
}

func (v *Server) reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		v.s.Logger.Debug("answer to another process not delivered", "error", err)
	}
}

func (v *Server) yield(w http.ResponseWriter, _ *http.Request) {
	if v.s.Yield == nil {
		http.Error(w, "it serves for as long as it runs", http.StatusConflict)
		return
	}
	v.Leave()
	v.s.Yield()
	w.WriteHeader(http.StatusNoContent)
}

func (v *Server) call(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	v.reply(w, v.s.Call(r.Context(), body))
}

// session turns the connection into one of an MCP client.
func (v *Server) session(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != protocol {
		http.Error(w, "want Upgrade: "+protocol, http.StatusBadRequest)
		return
	}
	serve, err := v.s.Session(r.URL.Query().Get(endpointKey))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	v.mu.Lock()
	if v.over.Err() != nil {
		v.mu.Unlock()
		http.Error(w, "it ends", http.StatusServiceUnavailable)
		return
	}
	v.all.Add(1) // under mu, so that Close waits for it
	v.mu.Unlock()
	defer v.all.Done()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s := &stream{Conn: conn, r: buffered.Reader}
	defer s.Close()
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return // it is closed
	}
	if _, err := fmt.Fprintf(s, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol); err != nil {
		return // it has gone
	}
	if err := serve(v.over, s); err != nil {
		v.s.Logger.Debug("session of another process ended", "error", err)
	}
}

// A stream is a connection after the hello.
type stream struct {
	net.Conn
	r *bufio.Reader
}

func (s *stream) Read(p []byte) (int, error) { return s.r.Read(p) }

func (s *stream) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}
