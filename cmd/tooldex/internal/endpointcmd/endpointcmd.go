// Package endpointcmd has the commands about virtual servers: servers list,
// show, create, edit, delete and preview. They use the API of the tooldex that
// serves, and where none does the same API over the state folder.
package endpointcmd

import (
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
)

type commands struct{ *cli.CLI }

const serversHelp = `Virtual servers are addresses that clients connect to, each with a set of
meta-tools and a scope: the tools that its clients may find and run. Those of
the configuration's file are changed there. Those made here are kept in the
state folder: whoever serves from it serves them within two seconds, without a
restart, and they stay.

The servers that own tools are another thing: see "tooldex add" and "tooldex status".`

const serversExample = `  tooldex servers list
  tooldex servers preview --include-tags finance
  tooldex servers create finance --include-tags finance --surface discover
  tooldex servers show finance --hidden`

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	servers := &cobra.Command{Use: "servers", Short: "Make and change virtual servers, with scopes of their own", Long: serversHelp, Example: serversExample}
	return []*cobra.Command{cli.Group(servers, c.list(), c.show(), c.create(), c.edit(), c.delete(), c.preview())}
}
