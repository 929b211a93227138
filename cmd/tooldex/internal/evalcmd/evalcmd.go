// Package evalcmd has the eval commands: flags over labelled sets to eval's
// measuring, comparing and tuning, and tables of what came of it.
package evalcmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.eval()}
}
