package main

import (
	"context"
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
calls, wait up to 10 s for those under way, and close every session.`

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
		// After load the heap hardly changes; a new snapshot moves the limit.
		tune := func(_ string, d index.Diff, err error) {
			if err == nil && len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
				gateway.TuneGC()
			}
		}
		e, err := a.openEngine(cmd, engineOptions{online: true, serving: true, listed: tune})
		if err != nil {
			return err
		}
		serve := a.serveHTTP
		if stdio {
			serve = a.serveStdio
		}
		err = serve(cmd.Context(), e)
		if cerr := e.close(); err == nil {
			err = cerr
		}
		return err
	}
	return cmd
}

func (a *app) serveHTTP(ctx context.Context, e *engine) error {
	ln, err := listenLoopback(e.cfg.Listen)
	if err != nil {
		return err
	}
	gateway.TuneGC()
	a.note("serving %d tools of %d servers on http://%s/mcp", e.ix.Status().Tools, len(e.cfg.Servers), ln.Addr())
	if len(e.cfg.Servers) == 0 {
		a.note("warning: %s names no server; \"tooldex import --write\" takes over those of your clients", e.cfg.Path)
	}
	return e.running(ctx, func(ctx context.Context) error { return e.gw.Serve(ctx, ln) })
}

func (a *app) serveStdio(ctx context.Context, e *engine) error {
	in, ok := a.in.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.in)
	}
	gateway.TuneGC()
	return e.running(ctx, func(ctx context.Context) error { return e.gw.ServeStdio(ctx, in, a.out) })
}
