package searchcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

const similarHelp = `Show the tools most like a given one, with what they share. Copies of the same
tool on several servers are one row. The answer comes from the state folder.`

const similarExample = `  tooldex similar files/read_text_file
  tooldex similar read_text_file --limit 3 --json`

func (c commands) similar() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "similar TOOL", Short: "Show the tools most like one", Long: similarHelp, Example: similarExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.CompleteTools,
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "most rows to show (default 5)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("limit") && (limit < 1 || limit > maxSimilar) {
			return cli.Usagef(cmd, "--limit %d: want 1 to %d", limit, maxSimilar)
		}
		return c.Offline(cmd, func(ctx context.Context, e *app.Engine) error {
			if err := turnedOff(e, meta.SimilarTool); err != nil {
				return err
			}
			res, err := e.Gateway.Similar(ctx, view.View{}, gateway.SimilarRequest{Name: args[0], Limit: limit})
			if err != nil {
				return cli.Told(err)
			}
			return c.Answer(meta.Alike(res), func() { c.showSimilar(res.Tools) })
		})
	}
	return cmd
}

// maxSimilar is how many tools can be asked for.
const maxSimilar = 20

// turnedOff is the error of a command whose meta-tool the operator does not
// want.
func turnedOff(e *app.Engine, tool string) error {
	setting, off := app.TurnedOff(e.Config)[tool]
	if !off {
		return nil
	}
	return cli.Hint(fmt.Errorf("the operator turned it off (%s)", setting), "use %s or %s", cli.Words.Search, cli.Words.List)
}

func (c commands) showSimilar(tools []index.Neighbor) {
	g := &term.Grid{Head: []string{"similarity", "tool", "shared"}, Numbers: []int{0}}
	for _, t := range tools {
		g.Add(fmt.Sprintf("%.4f", t.Score), words.ToolName(t.Tool.Server, t.Tool.Name), words.Cut(t.Reason, words.MaxReason))
	}
	c.ShowRows(g, "No similar tool found.")
}
