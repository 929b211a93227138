// Package sample is a small MCP server that really works: fifteen tools in four
// groups (files under one folder, text, time, numbers), over stdio, streamable
// HTTP and legacy HTTP+SSE, in every protocol version of the SDK.
//
// It is what the demo shows and what end-to-end tests run against when no
// other server may be installed. With [Options.Faults] it also offers tools
// that misbehave on purpose. It keeps no state except the files under its
// folder, which no path or symbolic link leads out of.
package sample

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // Windows and small containers have no zone database

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstStateless is the first protocol version without a handshake.
const firstStateless = "2026-07-28"

// What the server does when it is asked for server/discover.
const (
	DiscoverAnswer = "answer" // as the protocol says
	DiscoverExit   = "exit"   // the process ends
	DiscoverIgnore = "ignore" // no reply ever comes
)

// Options choose what the server offers. The zero value offers every group
// except files, which needs a Root.
type Options struct {
	Groups   []string         // names of [Groups]; empty means all that can be had
	Root     string           // folder of the files group; without it that group is left out
	Faults   bool             // add tools that misbehave on purpose
	Discover string           // DiscoverAnswer (also ""), DiscoverExit or DiscoverIgnore
	Version  string           // version the server reports; "" means "dev"
	Now      func() time.Time // the clock; nil means time.Now
	Exit     func(code int)   // ends the process; nil means os.Exit
}

// A Server is a sample server. Close it when it is no longer used.
type Server struct {
	mcp  *mcp.Server
	root *os.Root // nil without the files group
	now  func() time.Time
	exit func(int)

	mu     sync.Mutex // guards stdout and extra
	stdout io.Writer  // where stray lines can be printed; nil unless serving stdio
	extra  bool       // fault_extra is listed
}

// group is one set of tools.
type group struct {
	name, title string
	add         func(*Server)
}

var groups = []group{
	{"files", "Files", (*Server).addFiles},
	{"text", "Text", (*Server).addText},
	{"time", "Time and zones", (*Server).addTime},
	{"numbers", "Numbers and units", (*Server).addNumbers},
}

// Groups are the names of the groups, in the order of their tools.
func Groups() []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return names
}

// New returns a server as o says. It fails on an unknown group and on a root
// that cannot be opened.
func New(o Options) (*Server, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	s := &Server{now: o.Now, exit: o.Exit}
	if s.now == nil {
		s.now = time.Now
	}
	if s.exit == nil {
		s.exit = os.Exit
	}
	if o.Root != "" {
		if s.root, err = os.OpenRoot(o.Root); err != nil {
			return nil, fmt.Errorf("open sample folder: %w", err)
		}
	}
	s.mcp = mcp.NewServer(implementation(chosen, o.Version), &mcp.ServerOptions{
		Instructions: "Small tools over " + titles(chosen) + ".",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	for _, g := range chosen {
		g.add(s)
	}
	if o.Faults {
		s.addFaults()
	}
	s.mcp.AddReceivingMiddleware(s.discovery(o.Discover))
	return s, nil
}

// choose resolves o.Groups.
func choose(o Options) ([]group, error) {
	for _, name := range o.Groups {
		if !slices.Contains(Groups(), name) {
			return nil, fmt.Errorf("group %q: unknown, want some of %s", name, strings.Join(Groups(), ", "))
		}
		if name == "files" && o.Root == "" {
			return nil, fmt.Errorf("group %q: needs a folder", name)
		}
	}
	var chosen []group
	for _, g := range groups {
		wanted := len(o.Groups) == 0 || slices.Contains(o.Groups, g.name)
		if wanted && (g.name != "files" || o.Root != "") {
			chosen = append(chosen, g)
		}
	}
	return chosen, nil
}

func implementation(chosen []group, version string) *mcp.Implementation {
	name := "tooldex-sample"
	if len(chosen) == 1 {
		name += "-" + chosen[0].name
	}
	if version == "" {
		version = "dev"
	}
	return &mcp.Implementation{Name: name, Title: "tooldex sample: " + titles(chosen), Version: version}
}

func titles(chosen []group) string {
	var out []string
	for _, g := range chosen {
		out = append(out, strings.ToLower(g.title))
	}
	return strings.Join(out, ", ")
}

// Close releases the folder.
func (s *Server) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// ServeStdio serves one client over in and out until in ends or ctx is done.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s.mu.Lock()
	s.stdout = out
	s.mu.Unlock()
	return s.mcp.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: lockedWriter{s}})
}

// lockedWriter keeps stray lines out of the middle of protocol messages.
type lockedWriter struct{ s *Server }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.stdout.Write(p)
}

func (w lockedWriter) Close() error { return nil }

// Handler serves streamable HTTP on /mcp in both protocol eras, and legacy
// HTTP+SSE on /sse.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		// The SDK serves versions without a handshake from a stateless handler only.
		if r.Header.Get("MCP-Protocol-Version") >= firstStateless {
			stateless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	return http.NewCrossOriginProtection().Handler(mux)
}

// discovery is the middleware that does what mode says on server/discover.
func (s *Server) discovery(mode string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "server/discover" {
				switch mode {
				case DiscoverExit:
					s.exit(3)
				case DiscoverIgnore:
					<-ctx.Done()
				}
			}
			return next(ctx, method, req)
		}
	}
}

// Serve answers HTTP on ln until ctx is done, then lets requests end for 2 s.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close() // streams that stay open by design
	}
	<-failed
	return nil
}
