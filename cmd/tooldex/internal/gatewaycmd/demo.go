package gatewaycmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/searchcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/sample"
	"github.com/tooldex/tooldex/internal/sample/tickets"
)

const demoHelp = `See the main job run, with nothing but this program: it starts four small MCP
servers and a REST API, indexes their tools, finds some by what they do,
explains a score, runs two of them, and then serves MCP clients until you press
Ctrl-C. Everything lives in a temporary folder that is removed at the end.`

const demoExample = `  tooldex demo
  tooldex demo --once
  tooldex demo --listen 127.0.0.1:7520`

// demoListen is where the demo serves; if it is taken, on another port.
const demoListen = "127.0.0.1:7420"

func (c commands) demo() *cobra.Command {
	var once bool
	var addr string
	cmd := &cobra.Command{Use: "demo", Short: "See it work, nothing else needed", Long: demoHelp, Example: demoExample, Args: cobra.NoArgs}
	cmd.Flags().BoolVar(&once, "once", false, "leave after the walk instead of going on serving")
	cmd.Flags().StringVar(&addr, "listen", demoListen, "serve on this loopback `address` after the walk")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		dir, err := os.MkdirTemp("", "tooldex-demo-")
		if err != nil {
			return fmt.Errorf("make demo folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if once {
			addr = ""
		}
		return c.runDemo(cmd, dir, addr)
	}
	return cmd
}

// demoConfig is a configuration with one sample server a group, each a child
// process of this program, and the REST API at that address.
func demoConfig(dir, api string) (*config.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	files := filepath.Join(dir, "files")
	if err := sample.Seed(files); err != nil {
		return nil, err
	}
	servers := map[string]any{}
	for _, g := range sample.Groups() {
		servers[g] = map[string]any{"command": literal(self), "args": []string{"sample-server", "--group", g, "--root", literal(files)}}
	}
	state := filepath.Join(dir, "state")
	path := filepath.Join(dir, "tooldex.json")
	text, err := json.Marshal(map[string]any{
		"mcpServers": servers, "rest": map[string]any{"tickets": map[string]any{"openapi": "http://" + api + tickets.Document}}, "state": literal(state),
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, fmt.Errorf("write demo configuration: %w", err)
	}
	cfg, err := config.Load(config.Options{Path: path})
	if err != nil {
		return nil, err
	}
	cfg.State = state // TOOLDEX_STATE must not lead the demo into the person's own folder
	return cfg, nil
}

// literal is a path as the configuration's file has it when it holds what
// looks like ${VAR}: its $ is the default of a variable that nobody sets.
func literal(path string) string {
	return strings.ReplaceAll(path, "${", "${TOOLDEX_DEMO_DOLLAR:-$}{")
}

// runDemo walks and then serves on addr; "" serves nothing.
func (c commands) runDemo(cmd *cobra.Command, dir, addr string) (err error) {
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context())) // the API outlives the calls
	go func() { served <- serveTickets(ctx, ln) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	cfg, err := demoConfig(dir, ln.Addr().String())
	if err != nil {
		return err
	}
	if addr != "" {
		return c.demoServe(cmd, cfg, addr)
	}
	e, err := c.Open(cmd, cfg, app.Options{Online: true}, false)
	if err != nil {
		return err
	}
	err = e.Run(cmd.Context(), func(ctx context.Context) error { return c.anyWalk(ctx, e) })
	return errors.Join(err, e.Close())
}

func (c commands) anyWalk(ctx context.Context, e *app.Engine) error {
	if c.JSON {
		return c.walkJSON(ctx, e)
	}
	return c.walk(ctx, e)
}

// walk shows each step of the main job and what came of it.
func (c commands) walk(ctx context.Context, e *app.Engine) error {
	for _, step := range []func(context.Context, *app.Engine) error{
		c.demoIndex, c.demoSearch, c.demoExplain, c.demoDescribe, c.demoCall,
	} {
		if err := step(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// walkJSON is the walk as one object.
func (c commands) walkJSON(ctx context.Context, e *app.Engine) error {
	quiet := commands{&cli.CLI{Terminal: &term.Terminal{In: c.In, Out: io.Discard, Err: c.Err}}}
	if err := quiet.demoIndex(ctx, e); err != nil {
		return err
	}
	type search struct {
		Query  string `json:"query"`
		Answer any    `json:"answer"`
	}
	var searches []search
	for _, query := range demoQueries {
		r := demoRequest(query)
		res, err := e.Gateway.Search(ctx, view.View{}, r)
		if err != nil {
			return cli.Told(err)
		}
		searches = append(searches, search{query, meta.Found(res, r)})
	}
	called, err := demoExecute(ctx, e, demoTool, demoArguments)
	if err != nil {
		return err
	}
	return c.Print(map[string]any{"servers": e.Servers.Status(), "tools": e.Index.Status().Tools, "searches": searches, "call": called})
}

func demoRequest(query string) gateway.SearchRequest {
	return gateway.SearchRequest{Text: query, Limit: 3}
}

// step prints the heading of one step.
func (c commands) step(n int, format string, args ...any) {
	c.Say("\n%d. %s\n", n, fmt.Sprintf(format, args...))
}

func (c commands) demoIndex(ctx context.Context, e *app.Engine) error {
	c.Say("tooldex stands between a model and many MCP servers and REST APIs. This demo starts some.")
	began := time.Now()
	rows := e.List(ctx, e.Config.Names(), time.Minute, nil)
	for _, r := range rows {
		if r.Error != "" {
			return fmt.Errorf("list sample server %s: %s", r.Server, r.Error)
		}
	}
	if err := e.Index.Wait(ctx); err != nil {
		return fmt.Errorf("index tools: %w", err)
	}
	c.step(1, "Started %d MCP servers and a REST API and listed their tools (%d ms)", len(rows)-1, time.Since(began).Milliseconds())
	g := &term.Grid{Head: []string{"server", "tools", "reached over"}, Numbers: []int{1}, Indent: "   "}
	for _, st := range e.Servers.Status() {
		protocol := "MCP " + st.Protocol
		if st.Transport == "rest" {
			protocol = st.Protocol
		}
		g.Add(st.Name, fmt.Sprint(st.Tools), st.Transport+", "+protocol)
	}
	c.Show(g)
	c.Say("\n   %s indexed. A client sees six meta-tools instead of all of them.", term.Plural(e.Index.Status().Tools, "tool"))
	return nil
}

// demoQueries ask for a capability in other words than the tools' own; the
// first is explained and its tool run.
var demoQueries = []string{"how far apart are two places", "what time is it in Tokyo", "search my notes for a phrase", "show what customers still wait for"}

// demoTool is run with demoArguments: Berlin to Paris. demoAPI is run as it is.
const (
	demoAPI       = "tickets/list_tickets"
	demoAPIOpen   = `{"status":"open"}`
	demoTool      = "numbers/distance_between_points"
	demoArguments = `{"from":{"latitude":52.52,"longitude":13.405},"to":{"latitude":48.857,"longitude":2.352}}`
)

func (c commands) demoSearch(ctx context.Context, e *app.Engine) error {
	c.step(2, "Found tools by what they do: the client calls search_tools")
	for _, query := range demoQueries {
		began := time.Now()
		res, err := e.Gateway.Search(ctx, view.View{}, demoRequest(query))
		if err != nil {
			return cli.Told(err)
		}
		c.Say("   %q  (%.1f ms)", query, float64(time.Since(began).Microseconds())/1000)
		for _, h := range res.Hits {
			c.Say("     %.4f  %-34s %s", h.Score, h.Tool.QualifiedName(), c.short(h.Tool.Description, 48))
		}
	}
	return nil
}

// short cuts a text so that the line fits beside what stands left of it.
func (c commands) short(s string, left int) string {
	s = strings.Join(strings.Fields(s), " ")
	if columns := term.Width(c.Out); columns > 0 {
		return term.Cut(s, max(columns-left, 10))
	}
	return s
}

func (c commands) demoExplain(ctx context.Context, e *app.Engine) error {
	query := demoQueries[0]
	c.step(3, "Asked why: tooldex search %q --explain", query)
	hit, err := cli.Resolve(e, demoTool)
	if err != nil {
		return err
	}
	x, err := e.Index.Explain(ctx, index.Query{Text: query, Limit: 3}, hit.ID)
	if err != nil {
		return err
	}
	searchcmd.Explained{Tool: hit.Tool.QualifiedName(), Explanation: x, Among: true}.Show(c.Terminal, "   ")
	return nil
}

func (c commands) demoDescribe(ctx context.Context, e *app.Engine) error {
	c.step(4, "Read its parameters: the client calls describe_tool")
	d, err := e.Gateway.Describe(ctx, view.View{}, gateway.DescribeRequest{Name: demoTool})
	if err != nil {
		return cli.Told(err)
	}
	c.Hang("   ", d.Tool.QualifiedName()+": "+d.Tool.Description)
	for _, x := range d.Tool.Examples {
		c.Hang("   example ", string(x.Arguments))
	}
	return nil
}

func (c commands) demoCall(ctx context.Context, e *app.Engine) error {
	c.step(5, "Ran it: the client calls execute_tool")
	for _, call := range [][3]string{
		{"", demoTool, demoArguments},
		{"An operation of a REST API is a tool like any other:", demoAPI, demoAPIOpen},
		{"A mistake is answered with what to do about it:", demoTool, strings.Replace(demoArguments, "to", "too", 1)},
	} {
		if call[0] != "" {
			c.Say("\n   %s", call[0])
		}
		answer, err := demoExecute(ctx, e, call[1], call[2])
		if err != nil {
			return err
		}
		c.Hang("   call   ", call[1]+" "+call[2])
		c.Hang("   answer ", string(answer))
	}
	return nil
}

// demoExecute is what a client gets that runs a tool.
func demoExecute(ctx context.Context, e *app.Engine, tool, args string) (json.RawMessage, error) {
	arguments, err := json.Marshal(map[string]any{"tool_name": tool, "arguments": json.RawMessage(args)})
	if err != nil {
		return nil, err
	}
	s, err := e.Endpoint(config.DefaultEndpoint)
	if err != nil {
		return nil, err
	}
	return s.Call(ctx, "execute_tool", arguments).JSON, nil
}
