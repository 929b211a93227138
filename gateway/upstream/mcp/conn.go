package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/remote"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/stdio"
	"github.com/tooldex/tooldex/gateway/upstream/mcp/wire"
)

// closeGrace is how long a session may take to say goodbye.
const closeGrace = 2 * time.Second

// A link is one transport's way to a server, under an SDK session.
type link interface {
	Stop()         // ends it at once and waits until it is gone
	Err() error    // why it ended, nil while unknown
	Certain() bool // the server does not know server/discover, as far as can be told
}

// A conn is one session with a server.
type conn struct {
	transport string // "stdio", "http", "sse"
	session   *mcp.ClientSession
	link      link
	tap       *wire.Tap
	ctx       context.Context // ends with the connection
	cancel    context.CancelCauseFunc
	done      chan struct{}   // closed once the session has ended
	changed   <-chan struct{} // the server's list of tools may have changed
	suspect   chan error      // why the connection should be made anew
	opened    time.Time       // when it was ready
	made      revealed        // with what

	mu      sync.Mutex // guards the fields below
	users   int
	doubted bool // no new call may use it
	retired bool
	used    time.Time     // when the last call ended; zero before
	idle    chan struct{} // closed when retired and unused
}

// A dialer makes connections to one server.
type dialer struct {
	spec            Spec
	signer          remote.Signer // of requests over HTTP; nil for none
	log             *slog.Logger
	client          *mcp.Implementation
	garbage         func(text string) // called for text that is no MCP
	connectTimeout  time.Duration
	discoverTimeout time.Duration
	listenPause     time.Duration
	start           func(stdio.Command, *slog.Logger) (*stdio.Process, error)
	mask            mask.Masker
	room            *wire.Room             // nil for that of the process
	useless         func() *wire.Allowance // nil for the usual one
}

// dial connects in the way that e remembers, else in every way that the Spec
// allows, newest first.
func (d dialer) dial(ctx context.Context, e Era) (*conn, error) {
	transports, err := d.spec.transports()
	if err != nil {
		return nil, err
	}
	if slices.Contains(transports, e.Transport) {
		transports = []string{e.Transport}
	}
	c, err := d.dialTransport(ctx, transports[0], e.Version)
	var wrong *remote.WrongTransportError
	if len(transports) == 1 || !errors.As(err, &wrong) {
		return c, err
	}
	c, sseErr := d.dialTransport(ctx, transports[1], e.Version)
	if sseErr != nil {
		return nil, fmt.Errorf("%w; as legacy SSE: %w", err, sseErr)
	}
	return c, nil
}

// dialTransport begins with version and goes on with what the attempt before
// was told: some servers end, or never answer again, on server/discover, and
// some refuse initialize.
func (d dialer) dialTransport(ctx context.Context, transport, version string) (*conn, error) {
	if transport == "sse" {
		return d.attempt(ctx, transport, wire.Handshake)
	}
	for tried := []string{}; ; {
		c, err := d.attempt(ctx, transport, version)
		var again *wire.OtherEraError
		if tried = append(tried, version); !errors.As(err, &again) || slices.Contains(tried, again.Version) {
			return c, err
		}
		d.log.Debug("connecting again in the other era", "version", again.Version, "error", err)
		version = again.Version
	}
}

// attempt opens one session. version is handshake, stateless, or "" to find
// out which it is.
func (d dialer) attempt(ctx context.Context, transport, version string) (*conn, error) {
	changed := make(chan struct{}, 1)
	signal := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	c := &conn{
		transport: transport, changed: changed,
		done: make(chan struct{}), suspect: make(chan error, 1), idle: make(chan struct{}),
		made: revealed{spec: d.spec, looked: time.Now()},
	}
	// The SDK ties a session of legacy SSE to the context it is opened with.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.tap = wire.NewTap(c.ctx, d.log, d.mask, d.room, signal)
	if d.useless != nil {
		c.tap.Useless = d.useless
	}
	d.discoverTimeout = min(d.discoverTimeout, d.connectTimeout/2)
	newest := version
	if version == wire.Stateless {
		newest, d.discoverTimeout = "", 0
	}
	var t mcp.Transport
	switch transport {
	case "stdio":
		proc, err := d.start(d.spec.command(), d.log)
		if err != nil {
			c.cancel(err)
			return nil, err
		}
		l := stdio.NewLink(proc, c.tap, stdio.Options{Garbage: d.garbage, Patience: d.discoverTimeout})
		c.link, t = l, l
	default:
		headers, secrets := d.spec.headers()
		l := remote.NewLink(c.tap, remote.Options{
			URL: d.spec.URL, Headers: headers, Signer: d.signer, Secret: len(secrets) > 0, SSE: transport == "sse", // checked by NewSet
			Patience: d.discoverTimeout, ListenPause: d.listenPause, Changed: signal, Doubt: c.doubt,
		})
		c.link, t = l, l.Transport()
	}
	client := mcp.NewClient(d.client, &mcp.ClientOptions{
		Logger:         d.log,
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		// Has the SDK ask for the notifications, which the tap takes.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	client.AddSendingMiddleware(exactly)
	if err := c.open(ctx, d, func() (err error) {
		options := &mcp.ClientSessionOptions{ProtocolVersion: newest}
		c.session, err = client.Connect(c.ctx, t, options)
		if l, ok := c.link.(*stdio.Link); ok && err != nil && l.Late() {
			c.session, err = client.Connect(c.ctx, t, options)
		}
		return err
	}); err != nil {
		return nil, err
	}
	go c.watch()
	return c, nil
}

// open runs connect with the deadline of d and cleans up when it fails.
func (c *conn) open(ctx context.Context, d dialer, connect func() error) error {
	slow := fmt.Errorf("no answer within %v, which start_timeout can raise", d.connectTimeout)
	timer := time.AfterFunc(d.connectTimeout, func() { c.cancel(slow); c.link.Stop() })
	unhook := context.AfterFunc(ctx, func() { c.cancel(ctx.Err()); c.link.Stop() })
	err := connect()
	intime, wanted := timer.Stop(), unhook()
	if !intime || !wanted {
		if err == nil {
			c.session.Close()
		}
		c.link.Stop()
		err = context.Cause(c.ctx)
		if l, ok := c.link.(*stdio.Link); ok && wanted && l.Silent() {
			return &wire.OtherEraError{Err: err, Version: wire.Handshake}
		}
		return err
	}
	if err == nil {
		return nil
	}
	cause := c.link.Err()
	c.cancel(err)
	c.link.Stop()
	if cause != nil {
		err = cause
	}
	return classify(c.link, err)
}

// classify adds what to try next to the error of an attempt to connect.
func classify(l link, err error) error {
	if l, ok := l.(interface{ Classify(error) error }); ok {
		return l.Classify(err)
	}
	return err
}

func (c *conn) watch() {
	err := c.session.Wait()
	if cause := c.link.Err(); cause != nil {
		err = cause
	}
	if err == nil {
		err = errors.New("the server ended the session")
	}
	c.cancel(err)
	close(c.done)
}

// cause says why the connection ended.
func (c *conn) cause() error {
	if err := c.link.Err(); err != nil {
		return err
	}
	return context.Cause(c.ctx)
}

// doubt asks for a new connection in place of this one, whose calls under way
// may still end well.
func (c *conn) doubt(err error) {
	c.mu.Lock()
	c.doubted = true
	c.mu.Unlock()
	select {
	case c.suspect <- err:
	default:
	}
}

// use keeps the connection from being closed until release is called.
func (c *conn) use() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired || c.doubted || c.ctx.Err() != nil || c.link.Err() != nil {
		return false
	}
	c.users++
	return true
}

func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = time.Now()
	if c.users--; c.users == 0 && c.retired {
		close(c.idle)
	}
}

// retire closes the connection once its last call has ended, or with ctx.
func (c *conn) retire(ctx context.Context) {
	c.mu.Lock()
	c.retired = true
	if c.users == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
	case <-c.done:
	case <-ctx.Done():
	}
	c.close()
}

// close ends the session and what it runs on, and returns once both are gone.
func (c *conn) close() {
	c.cancel(wire.ErrNotNeeded)
	timer := time.AfterFunc(closeGrace, c.link.Stop)
	c.session.Close() // its error is of a server that is not needed any more
	timer.Stop()
	c.link.Stop()
	<-c.done
}

// version is the protocol version of the session.
func (c *conn) version() string {
	if r := c.session.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// longestName bounds what is shown of the name of a server, in bytes.
const longestName = 200

// peer is the name and version that the server gives of itself.
func (c *conn) peer() string {
	r := c.session.InitializeResult()
	if r == nil || r.ServerInfo == nil {
		return ""
	}
	return mask.Cut(strings.TrimSpace(r.ServerInfo.Name+" "+mask.Cut(r.ServerInfo.Version, longestName)), longestName)
}
