package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/index"
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

func (a *app) serve() *cobra.Command {
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

// tune sets the collector anew: after load the heap hardly changes, and a
// changed catalog moves the limit.
func tune(_ string, d index.Diff, err error) {
	if err == nil && len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
		gateway.TuneGC()
	}
}

// servingEngine are the options of an engine that serves.
var servingEngine = engineOptions{online: true, serving: true, listed: tune}

// goOnAtHangup keeps serving when the terminal that started it has gone.
func (a *app) goOnAtHangup(say func(msg string, args ...any)) {
	a.signals.onHangup(func() { say("SIGHUP: serving goes on; restart to read the configuration again") })
}

func (a *app) serveHTTP(cmd *cobra.Command) error {
	a.goOnAtHangup(a.note)
	cfg, err := a.loadConfig(cmd, false)
	if err != nil {
		return err
	}
	ln, err := listenLoopback(cfg.Listen)
	if err != nil {
		return err
	}
	e, err := a.engineFor(cmd, cfg, servingEngine)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	a.goOnAtHangup(e.log.Info)
	gateway.TuneGC()
	a.note("serving %s of %s on http://%s/mcp", plural(e.ix.Status().Tools, "tool"), plural(len(cfg.Servers), "server"), ln.Addr())
	if len(cfg.Servers)+len(brokenNames(cfg)) == 0 {
		a.note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", cfg.Path)
	}
	err = e.running(cmd.Context(), func(ctx context.Context) error { return e.gw.Serve(ctx, ln) })
	return errors.Join(err, e.close())
}

func (a *app) serveStdio(cmd *cobra.Command) error {
	a.goOnAtHangup(a.note)
	e, err := a.openEngine(cmd, servingEngine)
	if err != nil {
		return err
	}
	a.goOnAtHangup(e.log.Info)
	in, ok := a.in.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.in)
	}
	gateway.TuneGC()
	err = e.running(cmd.Context(), func(ctx context.Context) error { return e.gw.ServeStdio(ctx, in, a.raw) })
	return errors.Join(err, e.close())
}
