package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

// manCommand writes the manual pages that packages carry. Their date is
// SOURCE_DATE_EPOCH's where that is set, so that a build can be repeated.
func manCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages of all commands into a folder", Args: cobra.ExactArgs(1), Hidden: true,
		Example: "  tooldex man ./man1 && man ./man1/tooldex.1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the folder of the pages: %w", err)
			}
			root := cmd.Root()
			root.InitDefaultCompletionCmd()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "tooldex " + buildVersion(), Manual: "tooldex"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the pages into %s: %w", args[0], err)
			}
			return c.Result(map[string]string{"folder": args[0]}, func() { c.Say("Manual pages are in %s.", args[0]) })
		},
	}
}
