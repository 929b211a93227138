package evalcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/index"
)

const evalLintLong = `Look for what makes tools hard to find, whatever the ranking.

PATH is a tools/list answer as JSON, a folder of them (named by server), or a
labelled set. Without PATH the tools come from --catalog.

  unfindable  its own description does not find it among the first rows
  empty       its description says nothing that its name does not
  duplicate   it says nearly the same as a tool of another server
  collision   it shares its name with other tools
  oversize    its object costs a model too many tokens
  odd         its object is not what the protocol says`

func (c commands) evalLint() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.LintOptions
	var show int
	cmd := &cobra.Command{
		Use: "lint [PATH...]", Short: "Say what to change in tools that are hard to find", Long: evalLintLong,
		Example: "  tooldex eval lint --catalog\n  tooldex eval lint tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			tools, err := f.toolsOf(args)
			if err != nil {
				return err
			}
			opts, done, err := f.options()
			if err != nil {
				return err
			}
			defer done()
			o.Options = opts
			l, err := eval.LintTools(cmd.Context(), tools, o)
			if err != nil {
				return err
			}
			return c.Result(l, func() { printLint(c.Out, l, show) })
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	fs := cmd.Flags()
	fs.IntVar(&o.First, "first", 3, "rows within which a tool must find itself")
	fs.IntVar(&o.MaxBytes, "max-bytes", 8000, "of a tool object")
	fs.IntVar(&show, "show", 20, "findings to show of each kind; 0 shows all")
	return cmd
}

// toolsOf reads the tools of --catalog or --tools, else those of every path.
func (f *evalFlags) toolsOf(paths []string) ([]index.Tool, error) {
	tools, err := f.givenTools()
	if err != nil || tools != nil {
		return tools, err
	}
	if len(paths) == 0 {
		return nil, cli.Usagef(f.cmd, "no tools: give a path or --catalog")
	}
	for _, p := range paths {
		more, err := dumpedTools(p)
		if err != nil {
			return nil, err
		}
		tools = append(tools, more...)
	}
	return tools, nil
}

func printLint(w io.Writer, l *eval.Lint, show int) {
	fmt.Fprintf(w, "%s of %s; %.1f %% are found by their own description\n", term.Plural(l.Tools, "tool"), term.Plural(l.Servers, "server"), 100*l.Found)
	last, shown := eval.Rule(""), 0
	for _, f := range l.Findings {
		if f.Rule != last {
			fmt.Fprintf(w, "\n%s: %d\n", f.Rule, l.Counts[f.Rule])
			last, shown = f.Rule, 0
		}
		shown++
		if show > 0 && shown > show {
			if shown == show+1 {
				fmt.Fprintf(w, "  … %d more; --show 0 shows all\n", l.Counts[f.Rule]-show)
			}
			continue
		}
		fmt.Fprintf(w, "  %s: %s\n    change: %s\n    gain:   %s\n", f.Tool, term.OneLine(f.Detail, 240), term.OneLine(f.Change, 240), term.OneLine(f.Gain, 240))
	}
}
