// Package clientcmd has the commands that read and write the configuration of
// other MCP clients: import, connect and disconnect.
package clientcmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.importCommand(), c.connect(), c.disconnect()}
}
