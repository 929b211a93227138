// Package servercmd has the commands about the configured servers and what is
// stored of them: add, remove, enable, disable, call, reindex, status, doctor
// and index.
package servercmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

// entries are the commands that change the entries of servers in the
// configuration.
type entries struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	e := entries{shared}
	return []*cobra.Command{e.add(), e.remove(), e.enable(), e.disable(), c.call(), c.reindex(), c.status(), c.doctor(), c.index()}
}
