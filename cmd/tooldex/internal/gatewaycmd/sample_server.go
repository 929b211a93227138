package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/internal/sample"
	"github.com/tooldex/tooldex/internal/sample/tickets"
)

const sampleHelp = `Run a small MCP server with tools that really work, in four groups: files
(under one folder and nowhere else), text, time, numbers. It speaks MCP on
stdin and stdout, or streamable HTTP on /mcp and legacy HTTP+SSE on /sse with
--http. With --rest it is a REST API instead, a support desk, whose OpenAPI
document is at /openapi.yaml. Without --root the files live in a new folder that
is removed at the end. With --faults it adds tools that misbehave on purpose.`

const sampleExample = `  tooldex sample-server --group text --group time
  tooldex sample-server --http 127.0.0.1:7421 --root ./shared
  tooldex sample-server --rest 127.0.0.1:7422
  tooldex sample-server --faults --discover exit`

func (c commands) sampleServer() *cobra.Command {
	var o sample.Options
	var addr, api string
	cmd := &cobra.Command{
		Use: "sample-server", Short: "Run a small MCP server to try things with", Long: sampleHelp, Example: sampleExample,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&addr, "http", "", "serve HTTP on this loopback `address` instead of stdio")
	f.StringVar(&api, "rest", "", "serve a REST API on this loopback `address` instead")
	f.StringVar(&o.Root, "root", "", "`folder` of the files group (default a new one)")
	f.StringSliceVar(&o.Groups, "group", nil, "offer only this `group`; can be repeated ("+strings.Join(sample.Groups(), ", ")+")")
	f.BoolVar(&o.Faults, "faults", false, "add tools that misbehave on purpose")
	f.StringVar(&o.Discover, "discover", sample.DiscoverAnswer, "what to do on server/discover: answer, exit, ignore")
	cmd.MarkFlagsMutuallyExclusive("http", "rest")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if api != "" {
			return c.runSampleAPI(cmd.Context(), api)
		}
		for _, g := range o.Groups {
			if err := cli.OneOf(cmd, "group", g); err != nil {
				return err
			}
		}
		if err := cli.OneOf(cmd, "discover", o.Discover); err != nil {
			return err
		}
		return c.runSample(cmd.Context(), o, addr)
	}
	return cmd
}

func (c commands) runSample(ctx context.Context, o sample.Options, addr string) error {
	o.Version = c.Version
	if o.Root == "" {
		dir, err := os.MkdirTemp("", "tooldex-sample-")
		if err != nil {
			return fmt.Errorf("make sample folder: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := sample.Seed(dir); err != nil {
			return err
		}
		o.Root = dir
	}
	s, err := sample.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	if addr == "" {
		if err := s.ServeStdio(ctx, c.In, c.Raw); err != nil && ctx.Err() == nil {
			return fmt.Errorf("serve sample on stdio: %w", err)
		}
		return nil
	}
	ln, err := listenLoopback(addr)
	if err != nil {
		return err
	}
	c.Note("sample server on http://%s/mcp (legacy SSE on /sse)", ln.Addr())
	return s.Serve(ctx, ln)
}

// runSampleAPI serves the sample REST API until ctx ends.
func (c commands) runSampleAPI(ctx context.Context, addr string) error {
	ln, err := listenLoopback(addr)
	if err != nil {
		return err
	}
	c.Note("sample REST API, described at http://%s%s", ln.Addr(), tickets.Document)
	return serveTickets(ctx, ln)
}

// serveTickets serves the sample REST API until ctx ends.
func serveTickets(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: tickets.New(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })() // it ends its listener, whose error nobody needs
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve sample REST API: %w", err)
	}
	return nil
}

// listenLoopback listens on addr, which must be of this machine only.
func listenLoopback(addr string) (net.Listener, error) {
	if err := checkLoopback(addr); err != nil {
		return nil, err
	}
	return listen(addr)
}

// checkLoopback refuses an address that other machines can reach.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: want host:port, such as 127.0.0.1:7420", addr)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %q: other machines could use it, and there is no authentication; use 127.0.0.1", addr)
}
