package servercmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

const callHelp = `Run one tool, on the servers of the tooldex that serves this configuration; when
there is none its server is started, or connected to, for this call alone.

Arguments are key=value: a value is a text where the tool's schema wants one,
else JSON; key:=value is always JSON. --args takes all of them as one JSON
object, @FILE from a file, - from standard input.

The result goes to standard output: a text as it is, anything else as JSON.
--json prints what execute_tool returns, --raw the server's result untouched.`

const callExample = `  tooldex call numbers/convert_units value=26.2 from=mile to=km
  tooldex call text/sort_lines --args '{"text":"b\na"}'
  tooldex call files/read_text_file path=notes.txt --json`

// callFlags are the flags of call.
type callFlags struct {
	args    string
	raw     bool
	timeout time.Duration
}

func (c commands) call() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use: "call TOOL [key=value…]", Short: "Run one tool", Long: callHelp, Example: callExample,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return c.CompleteTools(cmd, args, typed)
		},
	}
	cmd.Flags().StringVar(&f.args, "args", "", "all arguments as a `JSON` object, @file, or - for standard input")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "print the server's result untouched")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "give up after this `time` (default: the configuration's)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.args != "" && len(args) > 1 {
			return cli.Usagef(cmd, "--args and key=value: want one of them")
		}
		return c.runCall(cmd, args[0], args[1:], &f)
	}
	return cmd
}

func (c commands) runCall(cmd *cobra.Command, tool string, pairs []string, f *callFlags) error {
	cmd.SetContext(gateway.From(cmd.Context(), gateway.Origin{Principal: auth.Local().Name}))
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	// Servers that run already are used; else the catalog says which to start.
	var o app.Options
	var silent *attach.SilentError
	running, err := app.Running(cmd.Context(), cfg, c.Version)
	switch {
	case err == nil:
		o.Calls = running
	case errors.As(err, &silent):
		c.Note("warning: %v; the tool's server is started for this call", silent)
	}
	look, err := c.Open(cmd, cfg, o, true)
	if err != nil {
		return err
	}
	defer look.Close() // nothing was written
	server, request, err := c.prepareCall(cmd, look, tool, pairs, f)
	if err != nil {
		return err
	}
	var x gateway.Execution
	if running != nil {
		x, err = look.Gateway.Execute(cmd.Context(), view.View{}, request)
		err = cli.Told(err)
	} else {
		x, err = c.callAlone(cmd, cfg, server, request)
	}
	if err != nil {
		return err
	}
	return c.showResult(x, f.raw)
}

// callAlone starts the tool's server for this call.
func (c commands) callAlone(cmd *cobra.Command, cfg *config.Config, server string, request gateway.ExecuteRequest) (x gateway.Execution, err error) {
	e, err := c.Open(cmd, cfg, app.Options{Online: true, Servers: []string{server}}, true)
	if err != nil {
		return x, err
	}
	err = e.Run(cmd.Context(), func(ctx context.Context) error {
		// The tool's time begins when its server is there: a start may download.
		if err := e.Connect(ctx, server); err != nil {
			return cli.Hint(err, "see \"tooldex doctor --server %s\"", server)
		}
		x, err = e.Gateway.Execute(ctx, view.View{}, request)
		return cli.Told(err)
	})
	return x, errors.Join(err, e.Close())
}

// prepareCall finds the tool and reads its arguments.
func (c commands) prepareCall(cmd *cobra.Command, e *app.Engine, tool string, pairs []string, f *callFlags) (server string, r gateway.ExecuteRequest, err error) {
	if err := e.NeedTools(); err != nil {
		return "", r, cli.Advised(err, e.Config)
	}
	hit, err := cli.Resolve(e, tool)
	if err != nil {
		return "", r, err
	}
	if _, most := e.Gateway.Timeouts(); f.timeout < 0 || f.timeout > most {
		return "", r, cli.Usagef(cmd, "--timeout %s: want at most %s", f.timeout, most)
	}
	args, err := c.givenArguments(cmd, e, hit.ID, pairs, f)
	return hit.Tool.Server, gateway.ExecuteRequest{Name: hit.ID, Arguments: args, Timeout: f.timeout}, err
}

// givenArguments are the tool's arguments from --args or key=value.
func (c commands) givenArguments(cmd *cobra.Command, e *app.Engine, id string, pairs []string, f *callFlags) (json.RawMessage, error) {
	if f.args == "" {
		return pairArguments(cmd, e, id, pairs)
	}
	text := []byte(f.args)
	var err error
	if f.args == "-" {
		text, err = io.ReadAll(c.In)
	} else if name, ok := strings.CutPrefix(f.args, "@"); ok {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read --args: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, cli.Hint(fmt.Errorf("--args: not a JSON object: %w", err), "quote it for the shell: --args '{\"key\":\"value\"}'")
	}
	return text, nil
}

// pairArguments reads key=value and key:=value by the tool's schema.
func pairArguments(cmd *cobra.Command, e *app.Engine, id string, pairs []string) (json.RawMessage, error) {
	var tool struct {
		InputSchema struct {
			Properties map[string]struct {
				Type any `json:"type"`
			} `json:"properties"`
		} `json:"inputSchema"`
	}
	raw, err := e.Index.Raw(id)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(raw, &tool) != nil {
		tool.InputSchema.Properties = nil // an odd schema: values are JSON where they can be
	}
	args := map[string]any{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cli.Usagef(cmd, "argument %q: want key=value", pair)
		}
		name, forced := strings.CutSuffix(key, ":")
		var v any
		decoded := json.Unmarshal([]byte(value), &v) == nil
		switch {
		case forced && !decoded:
			return nil, cli.Usagef(cmd, "argument %q: %s is no JSON", pair, value)
		case !forced && (!decoded || tool.InputSchema.Properties[name].Type == "string"):
			args[name] = value
		default:
			args[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(args)
}

// showResult prints what a tool returned.
func (c commands) showResult(x gateway.Execution, raw bool) error {
	value := meta.Value(x.Result)
	var text string
	isText := json.Unmarshal(value, &text) == nil
	switch {
	case raw:
		answer, err := meta.Executed(x, gateway.StatelessEra, true)
		if err != nil {
			return err
		}
		if err := c.SayRaw(answer.MarshalJSON()); err != nil || !x.Result.IsError {
			return err
		}
		return cli.ErrReported
	case x.Result.IsError:
		err := fmt.Errorf("%s", cmp.Or(text, string(value)))
		return cli.Hint(err, "%s itself reported this error; %s shows what it expects", words.ToolName(x.Tool.Tool.Server, x.Tool.Tool.Name), cli.Words.Describe)
	case c.JSON:
		answer, err := meta.Executed(x, gateway.StatelessEra, false)
		if err != nil {
			return err
		}
		return c.SayRaw(answer.JSON, nil)
	case isText:
		out := c.Out
		if term.Width(out) == 0 {
			out = c.Raw // a file or another program gets what the tool gave
		}
		fmt.Fprintln(out, strings.TrimSuffix(text, "\n"))
	default:
		if err := c.Print(value); err != nil {
			return err
		}
	}
	if other := otherBlocks(x.Result.Content); other != "" {
		c.Note("note: not shown: %s; --raw prints everything", other)
	}
	return nil
}

// otherBlocks names the content blocks that are no text.
func otherBlocks(content []gateway.Block) string {
	var out []string
	for _, b := range content {
		var known struct{ MIMEType string }
		if b.Type != "text" && json.Unmarshal(b.Raw, &known) == nil {
			out = append(out, strings.TrimSpace(b.Type+" "+known.MIMEType))
		}
	}
	return strings.Join(out, ", ")
}
