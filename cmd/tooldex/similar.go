package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

const similarHelp = `Show the tools most like a given one, with what they share. Copies of the same
tool on several servers are one row. The answer comes from the state folder.`

const similarExample = `  tooldex similar files/read_text_file
  tooldex similar read_text_file --limit 3 --json`

func (a *app) similar() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "similar TOOL", Short: "Show the tools most like one", Long: similarHelp, Example: similarExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeTools,
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "most rows to show (default 5)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e, err := a.openEngine(cmd, engineOptions{optional: true})
		if err != nil {
			return err
		}
		defer e.close() // nothing was written
		if err := e.needTools(); err != nil {
			return err
		}
		arguments := map[string]any{"tool_name": args[0]}
		if cmd.Flags().Changed("limit") {
			arguments["limit"] = limit
		}
		raw, err := e.metaCall(cmd.Context(), "get_similar_tools", arguments)
		if err != nil {
			return err
		}
		if a.json {
			a.say("%s", raw)
			return nil
		}
		return a.showSimilar(raw)
	}
	return cmd
}

func (a *app) showSimilar(raw json.RawMessage) error {
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
	if len(g.rows) == 0 {
		a.say("No similar tool found.")
	} else {
		a.show(g)
	}
	if res.Hint != "" {
		a.note("hint: %s", commandWords.Replace(res.Hint))
	}
	return nil
}
