package main

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

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/sample"
)

const demoHelp = `See the main job run, with nothing but this program: it starts four small MCP
servers, indexes their tools, finds some by what they do, explains a score,
runs one tool, and then serves MCP clients until you press Ctrl-C. Everything
lives in a temporary folder that is removed at the end.`

const demoExample = `  tooldex demo
  tooldex demo --once
  tooldex demo --listen 127.0.0.1:7520`

// demoListen is where the demo serves; if it is taken, on another port.
const demoListen = "127.0.0.1:7420"

func (a *cli) demo() *cobra.Command {
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
		return a.runDemo(cmd, dir, addr)
	}
	return cmd
}

// demoConfig is a configuration with one sample server a group, each a child
// process of this program.
func demoConfig(dir string) (*config.Config, error) {
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
		servers[g] = map[string]any{"command": "tooldex"}
	}
	path := filepath.Join(dir, "tooldex.json")
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
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
	// Set here and not in the file: TOOLDEX_STATE must not lead the demo into
	// the person's own folder, and paths may hold what looks like ${VAR}.
	cfg.State = filepath.Join(dir, "state")
	for i := range cfg.Servers {
		spec := &cfg.Servers[i].Spec
		spec.Command, spec.Args = self, []string{"sample-server", "--group", spec.Name, "--root", files}
	}
	return cfg, nil
}

// runDemo walks and then serves on addr; "" serves nothing.
func (a *cli) runDemo(cmd *cobra.Command, dir, addr string) error {
	cfg, err := demoConfig(dir)
	if err != nil {
		return err
	}
	e, err := a.open(cmd, cfg, app.Options{Online: true}, false)
	if err != nil {
		return err
	}
	err = e.Run(cmd.Context(), func(ctx context.Context) error {
		walk := a.walk
		if a.json {
			walk = a.walkJSON
		}
		if err := walk(ctx, e); err != nil || addr == "" {
			return err
		}
		return a.demoServe(ctx, e, addr)
	})
	return errors.Join(err, e.Close())
}

// walk shows each step of the main job and what came of it.
func (a *cli) walk(ctx context.Context, e *app.Engine) error {
	for _, step := range []func(context.Context, *app.Engine) error{
		a.demoIndex, a.demoSearch, a.demoExplain, a.demoDescribe, a.demoCall,
	} {
		if err := step(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// walkJSON is the walk as one object.
func (a *cli) walkJSON(ctx context.Context, e *app.Engine) error {
	quiet := cli{in: a.in, out: io.Discard, err: a.err}
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
			return told(err)
		}
		searches = append(searches, search{query, meta.Found(res, r)})
	}
	called, err := demoExecute(ctx, e, demoArguments)
	if err != nil {
		return err
	}
	return a.print(map[string]any{"servers": e.Servers.Status(), "tools": e.Index.Status().Tools, "searches": searches, "call": called})
}

func demoRequest(query string) gateway.SearchRequest {
	return gateway.SearchRequest{Text: query, Limit: 3}
}

// step prints the heading of one step.
func (a *cli) step(n int, format string, args ...any) {
	a.say("\n%d. %s\n", n, fmt.Sprintf(format, args...))
}

func (a *cli) demoIndex(ctx context.Context, e *app.Engine) error {
	a.say("tooldex stands between a model and many MCP servers. This demo starts some.")
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
	a.step(1, "Started %d MCP servers as child processes and listed their tools (%d ms)", len(rows), time.Since(began).Milliseconds())
	g := &grid{head: []string{"server", "tools", "reached over"}, numbers: []int{1}, indent: "   "}
	for _, st := range e.Servers.Status() {
		g.add(st.Name, fmt.Sprint(st.Tools), fmt.Sprintf("%s, MCP %s", st.Transport, st.Protocol))
	}
	a.show(g)
	a.say("\n   %s indexed. A client sees six meta-tools instead of all of them.", plural(e.Index.Status().Tools, "tool"))
	return nil
}

// demoQueries ask for a capability in other words than the tools' own; the
// first is explained and its tool run.
var demoQueries = []string{"how far apart are two places", "what time is it in Tokyo", "search my notes for a phrase"}

// demoTool is run with demoArguments: Berlin to Paris.
const (
	demoTool      = "numbers/distance_between_points"
	demoArguments = `{"from":{"latitude":52.52,"longitude":13.405},"to":{"latitude":48.857,"longitude":2.352}}`
)

func (a *cli) demoSearch(ctx context.Context, e *app.Engine) error {
	a.step(2, "Found tools by what they do: the client calls search_tools")
	for _, query := range demoQueries {
		began := time.Now()
		res, err := e.Gateway.Search(ctx, view.View{}, demoRequest(query))
		if err != nil {
			return told(err)
		}
		a.say("   %q  (%.1f ms)", query, float64(time.Since(began).Microseconds())/1000)
		for _, h := range res.Hits {
			a.say("     %.4f  %-34s %s", h.Score, h.Tool.QualifiedName(), a.short(h.Tool.Description, 48))
		}
	}
	return nil
}

// short cuts a text so that the line fits beside what stands left of it.
func (a *cli) short(s string, left int) string {
	if columns := width(a.out); columns > 0 {
		return cut(s, max(columns-left, 10))
	}
	return s
}

func (a *cli) demoExplain(ctx context.Context, e *app.Engine) error {
	query := demoQueries[0]
	a.step(3, "Asked why: tooldex search %q --explain", query)
	hit, err := resolve(e, demoTool)
	if err != nil {
		return err
	}
	x, err := e.Index.Explain(ctx, index.Query{Text: query, Limit: 3}, hit.ID)
	if err != nil {
		return err
	}
	a.showExplained("   ", explained{hit.Tool.QualifiedName(), x, true})
	return nil
}

func (a *cli) demoDescribe(ctx context.Context, e *app.Engine) error {
	a.step(4, "Read its parameters: the client calls describe_tool")
	d, err := e.Gateway.Describe(ctx, view.View{}, gateway.DescribeRequest{Name: demoTool})
	if err != nil {
		return told(err)
	}
	a.hang("   ", d.Tool.QualifiedName()+": "+d.Tool.Description)
	for _, x := range d.Tool.Examples {
		a.hang("   example ", string(x.Arguments))
	}
	return nil
}

func (a *cli) demoCall(ctx context.Context, e *app.Engine) error {
	a.step(5, "Ran it: the client calls execute_tool")
	for i, arguments := range []string{demoArguments, strings.Replace(demoArguments, "to", "too", 1)} {
		if i > 0 {
			a.say("\n   A mistake is answered with what to do about it:")
		}
		answer, err := demoExecute(ctx, e, arguments)
		if err != nil {
			return err
		}
		a.hang("   call   ", demoTool+" "+arguments)
		a.hang("   answer ", string(answer))
	}
	return nil
}

// demoExecute is what a client gets that runs the demo's tool.
func demoExecute(ctx context.Context, e *app.Engine, args string) (json.RawMessage, error) {
	arguments, err := json.Marshal(map[string]any{"tool_name": demoTool, "arguments": json.RawMessage(args)})
	if err != nil {
		return nil, err
	}
	return e.Server.Call(ctx, "execute_tool", arguments).JSON, nil
}

// demoServe goes on serving until the person has seen enough.
func (a *cli) demoServe(ctx context.Context, e *app.Engine, addr string) error {
	ln, err := listenLoopback(addr)
	if err != nil && addr == demoListen {
		ln, err = listen("127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	url := "http://" + ln.Addr().String() + "/mcp"
	a.step(6, "Serving MCP clients on %s until you press Ctrl-C", url)
	a.say("   Claude Code:  claude mcp add --transport http tooldex %s", url)
	a.say("   Cursor:       {\"mcpServers\": {\"tooldex\": {\"url\": %q}}}", url)
	a.say("   your servers: tooldex import --write, then tooldex serve")
	serve.TuneGC()
	return e.Server.Serve(ctx, ln)
}
