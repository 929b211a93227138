package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/certs"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/manage"
)

const serveHelp = `Serve MCP clients: streamable HTTP on /mcp in every protocol version, with
/healthz, /readyz and /metrics beside it; or, with --stdio, one client on
standard input and output. What the state folder holds is served at once; the
servers are started and listed meanwhile.

SIGTERM, an interrupt, or the end of standard input with --stdio refuse new
calls, wait up to 10 s for those under way, and close every session; a second
signal ends the process at once.

While it serves it keeps to the configuration's file: servers that are added,
changed or removed there take effect without a restart and without touching the
others, as do settings of single tools. SIGHUP has the file read at once.

Other processes of the same version and configuration use the servers of this
one, through a socket in the state folder that only you can open: clients that
start "tooldex serve --stdio" each get a thin process, and all of them share one
set of servers. See "tooldex status" for who serves.`

const serveExample = `  tooldex serve
  tooldex serve --listen 127.0.0.1:7520 --log.level debug
  tooldex serve --stdio --config ~/.config/tooldex/tooldex.yaml`

func (c commands) serve() *cobra.Command {
	var stdio bool
	var surface, server string
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve MCP clients over HTTP or stdio", Long: serveHelp, Example: serveExample,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve one client on standard input and output")
	cmd.Flags().StringVar(&surface, "surface", "", "serve this `set` of meta-tools in place of meta_server.default.surface")
	cmd.Flags().StringVar(&server, "server", config.DefaultEndpoint, "with --stdio: serve the virtual server of this `name`")
	cmd.Flags().String("listen", "", "serve HTTP on this `address` (default 127.0.0.1:7420)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if stdio && cmd.Flags().Changed("listen") {
			return cli.Usagef(cmd, "--stdio and --listen: want one of them")
		}
		if surface != "" {
			if err := cli.OneOf(cmd, "surface", surface); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("server") && !stdio {
			return cli.Usagef(cmd, "--server goes with --stdio; over HTTP connect to /servers/%s/mcp", server)
		}
		if stdio {
			return c.serveStdio(cmd, chosen{surface, server})
		}
		return c.serveHTTP(cmd, chosen{surface, server})
	}
	return cmd
}

// serving are the options of an engine that serves cmd's configuration.
func (c commands) serving(cmd *cobra.Command, as chosen, claimed *attach.Listener) app.Options {
	return app.Options{
		Online: true, Serving: true, Claimed: claimed,
		Load: func() (*config.Config, error) {
			cfg, err := c.ReadConfig(cmd)
			if err != nil {
				return nil, err
			}
			return cfg, as.apply(cfg)
		},
	}
}

// chosen is what flags say of the endpoint that is served: its surface, "" for
// the configuration's, and its name.
type chosen struct{ surface, server string }

// apply gives the chosen endpoint the chosen surface.
func (as chosen) apply(cfg *config.Config) error {
	if as.surface == "" {
		return nil // the endpoint may be one that is not in the file
	}
	chosen := &cfg.Default
	for i := range cfg.Endpoints {
		if cfg.Endpoints[i].Name == as.server {
			chosen = &cfg.Endpoints[i]
		}
	}
	if err := chosen.SetSurface(as.surface); err != nil {
		return fmt.Errorf("--surface: %s: %w", cfg.Path, err)
	}
	return nil
}

// find is who serves the endpoint already, else the place for this process to
// do so; it has neither when it is to work alone.
func (c commands) find(ctx context.Context, cfg *config.Config, endpoint string, log *slog.Logger) (link io.ReadWriteCloser, claimed *attach.Listener, err error) {
	refused := new(*attach.EndpointError)
	link, err = app.Attached(ctx, cfg, c.Version, endpoint)
	if err == nil || errors.As(err, refused) {
		return link, nil, err
	}
	nobody := errors.Is(err, attach.ErrNobody)
	log.Debug("not attached", "reason", err)
	if !errors.As(err, new(*attach.SilentError)) {
		var cerr error
		if claimed, cerr = app.Claim(ctx, cfg, c.Version, false); cerr != nil || claimed != nil {
			err = cerr
		} else if nobody { // another was faster
			link, err = app.Attached(ctx, cfg, c.Version, endpoint)
		}
	}
	if err != nil && !errors.As(err, refused) {
		log.Warn("this process works alone", "reason", err)
		err = nil
	}
	return link, claimed, err
}

// reloadAtHangup has the configuration read again at SIGHUP, which a terminal
// sends that is closed, too.
func (c commands) reloadAtHangup(e *app.Engine) { c.Signals.OnHangup(e.Reload) }

func (c commands) serveHTTP(cmd *cobra.Command, as chosen) error {
	c.Signals.OnHangup(func() {}) // what it asks for is about to be done
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	if err := as.apply(cfg); err != nil {
		return err
	}
	ln, err := c.listen(cmd, cfg)
	if err != nil {
		return err
	}
	claimed, err := app.Claim(cmd.Context(), cfg, c.Version, true)
	if err != nil {
		c.Note("warning: other processes cannot use the servers of this one: %v", err)
	}
	e, err := c.Open(cmd, cfg, c.serving(cmd, as, claimed), false)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	c.reloadAtHangup(e)
	c.serveAPI(e, ln)
	scheme := "http"
	if cfg.TLS.Cert != "" {
		scheme = "https"
	}
	c.Note("serving %s of %s on %s://%s/mcp", term.Plural(e.Index.Status().Tools, "tool"), term.Plural(len(cfg.Servers), "server"), scheme, ln.Addr())
	for _, w := range e.Access.Warnings() {
		c.Note("warning: %s", w)
	}
	if len(cfg.Servers)+len(cfg.Broken()) == 0 {
		c.Note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", cfg.Path)
	}
	return errors.Join(e.Serve(cmd.Context(), ln, nil), e.Close())
}

// serveAPI has the API of administrators served, too.
func (c commands) serveAPI(e *app.Engine, ln net.Listener) {
	if err := manage.Serve(e, c.Version, ln.Addr()); err != nil {
		c.Note("warning: virtual servers cannot be changed while this process serves: %v", err)
	}
}

// listen opens the address of a configuration, with TLS where it says so.
func (c commands) listen(cmd *cobra.Command, cfg *config.Config) (net.Listener, error) {
	if err := cfg.CheckListen(cfg.Listen); err != nil {
		return nil, cli.Hint(err, "docs/auth.md shows a whole configuration")
	}
	ln, err := listen(cfg.Listen)
	if err != nil || cfg.TLS.Cert == "" {
		return ln, err
	}
	files := certs.Files{Cert: cfg.TLS.Cert, Key: cfg.TLS.Key, ClientCA: cfg.TLS.ClientCA}
	secured, err := certs.Listen(ln, files, c.Logger(cmd, cfg, true, false))
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return secured, nil
}

// serveStdio serves one client: through the process that serves already, or by
// itself.
func (c commands) serveStdio(cmd *cobra.Command, as chosen) error {
	c.Signals.OnHangup(func() {}) // as above; a process that is attached has nothing to do
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	if err := as.apply(cfg); err != nil {
		return err
	}
	log := c.Logger(cmd, cfg, true, false)
	link, claimed, err := c.find(cmd.Context(), cfg, as.server, log)
	if err != nil {
		return err
	}
	if link == nil {
		e, err := c.Open(cmd, cfg, c.serving(cmd, as, claimed), false)
		if err != nil {
			return err
		}
		c.reloadAtHangup(e)
		return errors.Join(e.ServeStdio(cmd.Context(), as.server, c.In, c.Raw), e.Close())
	}
	log.Info("attached to the tooldex that serves this configuration")
	pipe := attach.Pipe{
		In: c.In, Out: c.Raw, Logger: log,
		Connect: func(ctx context.Context) (io.ReadWriteCloser, error) { return c.successor(ctx, cmd, as) },
	}
	return pipe.Run(cmd.Context(), link)
}

// successor is who serves this process's client after the one that did has
// ended: another process, or an engine in this one.
func (c commands) successor(ctx context.Context, cmd *cobra.Command, as chosen) (io.ReadWriteCloser, error) {
	cfg, err := c.LoadConfig(cmd, false) // it may have changed
	if err != nil {
		return nil, err
	}
	if err := as.apply(cfg); err != nil {
		return nil, err
	}
	link, claimed, err := c.find(ctx, cfg, as.server, c.Logger(cmd, cfg, true, false))
	if link != nil || err != nil {
		return link, err
	}
	e, err := c.Open(cmd, cfg, c.serving(cmd, as, claimed), false)
	if err != nil {
		return nil, err
	}
	c.reloadAtHangup(e)
	return newOwn(ctx, e, as.server), nil
}

// own is the near end of a session with an engine in this process.
type own struct {
	net.Conn
	ended chan error // has a value when the engine is closed
	once  func() error
}

func newOwn(ctx context.Context, e *app.Engine, endpoint string) *own {
	near, far := net.Pipe()
	o := &own{Conn: near, ended: make(chan error, 1)}
	o.once = sync.OnceValue(func() error { return errors.Join(near.Close(), <-o.ended) })
	go func() { o.ended <- errors.Join(e.ServeStdio(ctx, endpoint, far, far), far.Close(), e.Close()) }()
	return o
}

// Close ends the session and waits for the engine.
func (o *own) Close() error { return o.once() }
