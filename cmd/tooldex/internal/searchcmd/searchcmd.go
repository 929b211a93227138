// Package searchcmd has the commands that ask the catalog in the state folder and
// start no server: search, similar, tools and embed.
package searchcmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.search(), c.similar(), c.tools(), c.embed()}
}
