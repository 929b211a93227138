package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

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

func (a *cli) serve() *cobra.Command {
	var stdio bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve MCP clients over HTTP or stdio", Long: serveHelp, Example: serveExample,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve one client on standard input and output")
	cmd.Flags().String("listen", "", "serve HTTP on this loopback `address` (default 127.0.0.1:7420)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if stdio && cmd.Flags().Changed("listen") {
			return usagef(cmd, "--stdio and --listen: want one of them")
		}
		if stdio {
			return a.serveStdio(cmd)
		}
		return a.serveHTTP(cmd)
	}
	return cmd
}

// serving are the options of an engine that serves.
var serving = app.Options{Online: true, Serving: true}

// goOnAtHangup keeps serving when the terminal that started it has gone.
func (a *cli) goOnAtHangup(say func(msg string, args ...any)) {
	a.signals.onHangup(func() { say("SIGHUP: serving goes on; restart to read the configuration again") })
}

func (a *cli) serveHTTP(cmd *cobra.Command) error {
	a.goOnAtHangup(a.note)
	cfg, err := a.loadConfig(cmd, false)
	if err != nil {
		return err
	}
	ln, err := listenLoopback(cfg.Listen)
	if err != nil {
		return err
	}
	e, err := a.open(cmd, cfg, serving, false)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	a.goOnAtHangup(a.logger(cmd, cfg, true, false).Info)
	a.note("serving %s of %s on http://%s/mcp", plural(e.Index.Status().Tools, "tool"), plural(len(cfg.Servers), "server"), ln.Addr())
	if len(cfg.Servers)+len(cfg.Broken()) == 0 {
		a.note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", cfg.Path)
	}
	return errors.Join(e.Serve(cmd.Context(), ln), e.Close())
}

func (a *cli) serveStdio(cmd *cobra.Command) error {
	a.goOnAtHangup(a.note)
	cfg, err := a.loadConfig(cmd, false)
	if err != nil {
		return err
	}
	e, err := a.open(cmd, cfg, serving, false)
	if err != nil {
		return err
	}
	a.goOnAtHangup(a.logger(cmd, cfg, true, false).Info)
	in, ok := a.in.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.in)
	}
	return errors.Join(e.ServeStdio(cmd.Context(), in, a.raw), e.Close())
}
