package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// cli is what all subcommands share.
type cli struct {
	in       io.Reader
	out, err io.Writer // screens
	raw      io.Writer // standard output as it is: protocols and files
	json     bool      // print results as JSON
	signals  *interrupts
	verbose  bool // say which configuration is used, log what happens
}

func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use: "tooldex", Short: "Find the right tool among many MCP servers", Long: rootHelp, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Version: buildVersion(),
	}
	p := root.PersistentFlags()
	p.String("config", "", "configuration `file`")
	p.String("state", "", "state `folder`: where the catalog and its vectors are kept")
	p.BoolVar(&a.json, "json", false, "print the result as JSON")
	p.BoolVarP(&a.verbose, "verbose", "v", false, "say which configuration is used, and log what happens")
	p.String("log.level", "", "least `level` that is logged to stderr: debug, info, warn, error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{nearestFlag(cmd, err), path(cmd)} })
	cobra.AddTemplateFunc("wrapped", func(f *pflag.FlagSet) string {
		return strings.TrimRight(f.FlagUsagesWrapped(min(cmp.Or(width(a.out), 80), 100)), " \n")
	})
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "wrapped .LocalFlags", ".InheritedFlags.FlagUsages", "wrapped .InheritedFlags",
	).Replace(root.UsageTemplate()))
	group(root, a.serve(), a.search(), a.similar(), a.tools(), a.call(), a.reindex(), a.importCommand(), a.status(),
		a.doctor(), a.demo(), a.index(), a.embed(), a.eval(), a.sampleServer(), a.version())
	wrapArgs(root)
	a.completeFlags(root)
	return root
}

// wrapArgs turns what cobra says of wrong arguments into usage errors.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, ok := err.(usageError); err == nil || ok {
				return err
			}
			return usageError{err, path(cmd)}
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}

// group makes a command of its subcommands: alone it shows its help.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef(cmd, "command %q: unknown%s", strings.TrimSpace(path(cmd)+" "+args[0]), suggestion(cmd, args[0]))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
	return cmd
}

// nearestFlag adds to an error about an unknown flag the one that was meant.
func nearestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	name, best := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := levenshtein.ComputeDistance(unknown.GetSpecifiedName(), f.Name); d < best && !f.Hidden {
			name, best = f.Name, d
		}
	})
	if name == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, name)
}

func suggestion(cmd *cobra.Command, typed string) string {
	cmd.SuggestionsMinimumDistance = 2
	names := cmd.SuggestionsFor(typed)
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// print writes v as indented JSON.
func (a *cli) print(v any) error {
	return writeJSON(a.out, v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// result prints v as JSON when that is wanted, else shows it to a person.
func (a *cli) result(v any, show func()) error {
	if a.json {
		return a.print(v)
	}
	show()
	return nil
}

// say writes a line of the result.
func (a *cli) say(format string, args ...any) {
	fmt.Fprintf(a.out, format+"\n", args...)
}

// note writes a line beside the result.
func (a *cli) note(format string, args ...any) {
	fmt.Fprintf(a.err, "tooldex: "+format+"\n", args...)
}
