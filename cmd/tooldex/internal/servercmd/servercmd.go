// Package servercmd has the commands about the configured servers and what is
// stored of them: call, reindex, status, doctor and index.
package servercmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.call(), c.reindex(), c.status(), c.doctor(), c.index()}
}
