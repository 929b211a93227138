package gatewaycmd

import (
	"cmp"
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
	"github.com/tooldex/tooldex/internal/config"
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
	cmd.Flags().StringVar(&server, "server", "", "with --stdio: serve the virtual server of this `name`")
	cmd.Flags().String("listen", "", "serve HTTP on this loopback `address` (default 127.0.0.1:7420)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if stdio && cmd.Flags().Changed("listen") {
			return cli.Usagef(cmd, "--stdio and --listen: want one of them")
		}
		if surface != "" {
			if err := cli.OneOf(cmd, "surface", surface); err != nil {
				return err
			}
		}
		if server != "" && !stdio {
			return cli.Usagef(cmd, "--server goes with --stdio; over HTTP connect to /servers/%s/mcp", server)
		}
		if stdio {
			return c.serveStdio(cmd, chosen{surface, server})
		}
		return c.serveHTTP(cmd, chosen{surface: surface})
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
			return as.apply(cfg)
		},
	}
}

// chosen is what flags say of the endpoint that is served: its surface and, on
// stdio, its name; "" leave the configuration's.
type chosen struct{ surface, server string }

// apply has a configuration serve what is chosen as its default endpoint.
func (as chosen) apply(cfg *config.Config) (*config.Config, error) {
	if as.server != "" {
		e, err := cfg.Endpoint(as.server)
		if err != nil {
			return nil, fmt.Errorf("--server: %w", err)
		}
		if !e.Enabled {
			return nil, fmt.Errorf("--server: virtual server %s is disabled in %s", as.server, cfg.Path)
		}
		cfg.Default = e
	}
	cfg.Default.Surface = cmp.Or(as.surface, cfg.Default.Surface)
	return cfg, nil
}

// find is who serves cfg already, else the place for this process to do so; it
// has neither when it is to work alone.
func (c commands) find(ctx context.Context, cfg *config.Config, log *slog.Logger) (link io.ReadWriteCloser, claimed *attach.Listener) {
	link, err := app.Attached(ctx, cfg, c.Version)
	if err == nil {
		return link, nil
	}
	log.Debug("not attached", "reason", err)
	claimed, err = app.Claim(ctx, cfg, c.Version, false)
	if err == nil && claimed == nil { // another was faster
		link, err = app.Attached(ctx, cfg, c.Version)
	}
	if err != nil {
		log.Warn("this process works alone", "reason", err)
		return nil, claimed
	}
	return link, claimed
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
	if cfg, err = as.apply(cfg); err != nil {
		return err
	}
	ln, err := listenLoopback(cfg.Listen)
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
	c.Note("serving %s of %s on http://%s/mcp", term.Plural(e.Index.Status().Tools, "tool"), term.Plural(len(cfg.Servers), "server"), ln.Addr())
	if len(cfg.Servers)+len(cfg.Broken()) == 0 {
		c.Note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", cfg.Path)
	}
	return errors.Join(e.Serve(cmd.Context(), ln, nil), e.Close())
}

// serveStdio serves one client: through the process that serves already, or by
// itself.
func (c commands) serveStdio(cmd *cobra.Command, as chosen) error {
	c.Signals.OnHangup(func() {}) // as above; a process that is attached has nothing to do
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	if cfg, err = as.apply(cfg); err != nil {
		return err
	}
	in, ok := c.In.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(c.In)
	}
	log := c.Logger(cmd, cfg, true, false)
	link, claimed := c.find(cmd.Context(), cfg, log)
	if link == nil {
		e, err := c.Open(cmd, cfg, c.serving(cmd, as, claimed), false)
		if err != nil {
			return err
		}
		c.reloadAtHangup(e)
		return errors.Join(e.ServeStdio(cmd.Context(), in, c.Raw), e.Close())
	}
	log.Info("attached to the tooldex that serves this configuration")
	pipe := attach.Pipe{
		In: in, Out: c.Raw, Logger: log,
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
	if cfg, err = as.apply(cfg); err != nil {
		return nil, err
	}
	link, claimed := c.find(ctx, cfg, c.Logger(cmd, cfg, true, false))
	if link != nil {
		return link, nil
	}
	e, err := c.Open(cmd, cfg, c.serving(cmd, as, claimed), false)
	if err != nil {
		return nil, err
	}
	c.reloadAtHangup(e)
	return newOwn(ctx, e), nil
}

// own is the near end of a session with an engine in this process.
type own struct {
	net.Conn
	ended chan error // has a value when the engine is closed
	once  func() error
}

func newOwn(ctx context.Context, e *app.Engine) *own {
	near, far := net.Pipe()
	o := &own{Conn: near, ended: make(chan error, 1)}
	o.once = sync.OnceValue(func() error { return errors.Join(near.Close(), <-o.ended) })
	go func() { o.ended <- errors.Join(e.ServeStdio(ctx, far, far), far.Close(), e.Close()) }()
	return o
}

// Close ends the session and waits for the engine.
func (o *own) Close() error { return o.once() }
