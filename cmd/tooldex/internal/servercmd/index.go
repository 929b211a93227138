package servercmd

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/index/check"
	"github.com/tooldex/tooldex/internal/app"
)

const dumpHelp = `Print what the lexical index holds as JSON: each tool's terms by field and
their lengths, document frequencies, average lengths and parameters. Any score
can be recomputed from it.`

const checkHelp = `Verify every file of the state folder without changing it. Problems are printed
with what to do about them; the exit code is 1 then.`

func (c commands) index() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "index", Short: "Look into the index and check its files",
		Example: "  tooldex index dump > index.json\n  tooldex index check",
	}, &cobra.Command{
		Use: "dump", Short: "Print the terms of every tool as JSON", Long: dumpHelp, Args: cobra.NoArgs,
		Example: "  tooldex index dump --json > index.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := c.Stored(cmd)
			if err != nil {
				return err
			}
			return errors.Join(e.Index.Dump(c.Out), e.Close())
		},
	}, c.indexCheck())
}

// thisProcess is the flag of a check that may be ended by the damage it meets.
const thisProcess = "this-process"

// checkHere is the command line that checks dir in the process that runs it.
func checkHere(dir string) []string {
	return []string{"index", "check", "--" + thisProcess, "--json", "--config", os.DevNull, "--state", dir}
}

func (c commands) indexCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "Verify the files of the state folder", Long: checkHelp, Args: cobra.NoArgs,
		Example: "  tooldex index check\n  tooldex index check --json --state ./state",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.runCheck(cmd) },
	}
	cmd.Flags().Bool(thisProcess, false, "look in this process instead of a child")
	_ = cmd.Flags().MarkHidden(thisProcess) // it was just defined
	return cmd
}

func (c commands) runCheck(cmd *cobra.Command) error {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return err
	}
	var problems []check.Problem
	if here, _ := cmd.Flags().GetBool(thisProcess); here {
		if problems, err = check.Folder(cfg.State); err != nil {
			err = fmt.Errorf("check %s: %w", cfg.State, err)
		}
	} else {
		problems, err = app.CheckState(cmd.Context(), cfg.State, checkHere(cfg.State)...)
	}
	if err != nil {
		return err
	}
	err = c.Result(append([]check.Problem{}, problems...), func() { c.showProblems(cfg.State, problems) })
	if err == nil && slices.ContainsFunc(problems, app.Harmful) {
		return cli.ErrReported
	}
	return err
}

func (c commands) showProblems(dir string, problems []check.Problem) {
	if len(problems) == 0 {
		c.Say("%s: no problem found", dir)
		return
	}
	g := &term.Grid{Head: []string{"file", "problem", "what to do"}}
	for _, p := range problems {
		g.Add(p.File, p.What, p.Remedy)
	}
	c.Show(g)
}
