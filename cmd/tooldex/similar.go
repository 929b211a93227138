package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/internal/app"
)

const similarHelp = `Show the tools most like a given one, with what they share. Copies of the same
tool on several servers are one row. The answer comes from the state folder.`

const similarExample = `  tooldex similar files/read_text_file
  tooldex similar read_text_file --limit 3 --json`

func (a *cli) similar() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "similar TOOL", Short: "Show the tools most like one", Long: similarHelp, Example: similarExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeTools,
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "most rows to show (default 5)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		arguments := map[string]any{"tool_name": args[0]}
		if cmd.Flags().Changed("limit") {
			arguments["limit"] = limit
		}
		return a.offline(cmd, func(ctx context.Context, e *app.Engine) error {
			raw, err := metaCall(ctx, e, "get_similar_tools", arguments)
			if err != nil || a.json {
				return a.sayRaw(raw, err)
			}
			return a.showSimilar(raw)
		})
	}
	return cmd
}

func (a *cli) showSimilar(raw json.RawMessage) error {
	var res struct {
		Tools []struct {
			Name       string  `json:"name"`
			Similarity float64 `json:"similarity"`
			Reason     string  `json:"reason"`
		} `json:"similar_tools"`
		Hint string `json:"hint"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	g := &grid{head: []string{"similarity", "tool", "shared"}, numbers: []int{0}}
	for _, t := range res.Tools {
		g.add(fmt.Sprintf("%.4f", t.Similarity), t.Name, t.Reason)
	}
	a.showRows(g, "No similar tool found.")
	a.advise(res.Hint)
	return nil
}
