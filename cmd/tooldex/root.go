package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/auditcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/authcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/backupcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/clientcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/endpointcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/evalcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/gatewaycmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/phrasecmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/restcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/searchcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/servercmd"
)

const rootHelp = `tooldex stands between an LLM client and any number of MCP servers. It indexes
every tool they offer and lets the model find the right one by meaning.

Settings come from flags, then from TOOLDEX_* variables (--state is
TOOLDEX_STATE), then from the configuration file: the one that --config names,
$TOOLDEX_CONFIG, or tooldex.yaml in the user's configuration folder. A file in
the working folder is never taken unless it is named.`

const rootExample = `  tooldex demo                           see it work, nothing else needed
  tooldex import --write                 take over your MCP clients' servers
  tooldex reindex                        list their tools
  tooldex search "open a pull request"   find a tool
  tooldex serve                          serve clients on 127.0.0.1:7420/mcp`

func newRoot(c *cli.CLI) *cobra.Command {
	root := &cobra.Command{
		Use: "tooldex", Short: "Find the right tool among many MCP servers", Long: rootHelp, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Version: buildVersion(),
	}
	p := root.PersistentFlags()
	p.String("config", "", "configuration `file`")
	p.String("state", "", "state `folder`: where the catalog and its vectors are kept")
	p.BoolVar(&c.JSON, "json", false, "print the result as JSON")
	p.BoolVarP(&c.Verbose, "verbose", "v", false, "say which configuration is used, and log what happens")
	p.String("log.level", "", "least `level` that is logged to stderr: debug, info, warn, error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.WrongUsage(cmd, cli.NearestFlag(cmd, err))
	})
	cobra.AddTemplateFunc("wrapped", func(f *pflag.FlagSet) string {
		return strings.TrimRight(f.FlagUsagesWrapped(min(cmp.Or(c.Columns(), 80), 100)), " \n")
	})
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "wrapped .LocalFlags", ".InheritedFlags.FlagUsages", "wrapped .InheritedFlags",
	).Replace(root.UsageTemplate()))
	cli.Group(root, slices.Concat(gatewaycmd.Commands(c), searchcmd.Commands(c), servercmd.Commands(c), endpointcmd.Commands(c), phrasecmd.Commands(c), auditcmd.Commands(c), restcmd.Commands(c), authcmd.Commands(c), backupcmd.Commands(c), clientcmd.Commands(c),
		evalcmd.Commands(c), []*cobra.Command{versionCommand(c), manCommand(c)})...)
	cli.WrapArgs(root)
	c.AuditChanges(root)
	c.CompleteFlags(root)
	return root
}
