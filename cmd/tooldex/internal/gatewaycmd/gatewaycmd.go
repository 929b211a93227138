// Package gatewaycmd has the commands that serve MCP: serve, demo and
// sample-server.
package gatewaycmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.serve(), c.demo(), c.sampleServer()}
}
