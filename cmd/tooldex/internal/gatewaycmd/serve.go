package gatewaycmd

import (
	"cmp"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/app"
)

const serveHelp = `Serve MCP clients: streamable HTTP on /mcp in every protocol version, with
/healthz, /readyz and /metrics beside it; or, with --stdio, one client on
standard input and output. What the state folder holds is served at once; the
servers are started and listed meanwhile.

SIGTERM, an interrupt, or the end of standard input with --stdio refuse new
calls, wait up to 10 s for those under way, and close every session; a second
signal ends the process at once. SIGHUP changes nothing: the configuration is
read at the start.`

const serveExample = `  tooldex serve
  tooldex serve --listen 127.0.0.1:7520 --log.level debug
  tooldex serve --stdio --config ~/.config/tooldex/tooldex.yaml`

func (c commands) serve() *cobra.Command {
	var stdio bool
	var surface string
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve MCP clients over HTTP or stdio", Long: serveHelp, Example: serveExample,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve one client on standard input and output")
	cmd.Flags().StringVar(&surface, "surface", "", "serve this `set` of meta-tools in place of meta_server.default.surface")
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
		if stdio {
			return c.serveStdio(cmd, surface)
		}
		return c.serveHTTP(cmd, surface)
	}
	return cmd
}

// serving are the options of an engine that serves.
var serving = app.Options{Online: true, Serving: true}

// goOnAtHangup keeps serving when the terminal that started it has gone.
func (c commands) goOnAtHangup(say func(msg string, args ...any)) {
	c.Signals.OnHangup(func() { say("SIGHUP: serving goes on; restart to read the configuration again") })
}

func (c commands) serveHTTP(cmd *cobra.Command, surface string) error {
	c.goOnAtHangup(c.Note)
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	cfg.Default.Surface = cmp.Or(surface, cfg.Default.Surface)
	ln, err := listenLoopback(cfg.Listen)
	if err != nil {
		return err
	}
	e, err := c.Open(cmd, cfg, serving, false)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	c.goOnAtHangup(c.Logger(cmd, cfg, true, false).Info)
	c.Note("serving %s of %s on http://%s/mcp", term.Plural(e.Index.Status().Tools, "tool"), term.Plural(len(cfg.Servers), "server"), ln.Addr())
	if len(cfg.Servers)+len(cfg.Broken()) == 0 {
		c.Note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", cfg.Path)
	}
	return errors.Join(e.Serve(cmd.Context(), ln), e.Close())
}

func (c commands) serveStdio(cmd *cobra.Command, surface string) error {
	c.goOnAtHangup(c.Note)
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	cfg.Default.Surface = cmp.Or(surface, cfg.Default.Surface)
	e, err := c.Open(cmd, cfg, serving, false)
	if err != nil {
		return err
	}
	c.goOnAtHangup(c.Logger(cmd, cfg, true, false).Info)
	in, ok := c.In.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(c.In)
	}
	return errors.Join(e.ServeStdio(cmd.Context(), in, c.Raw), e.Close())
}
