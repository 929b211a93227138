package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

const dumpHelp = `Print what the lexical index holds as JSON: each tool's terms by field and
their lengths, document frequencies, average lengths and parameters. Any score
can be recomputed from it.`

const checkHelp = `Verify every file of the state folder without changing it. Problems are printed
with what to do about them; the exit code is 1 then.`

func (a *cli) index() *cobra.Command {
	return group(&cobra.Command{
		Use: "index", Short: "Look into the index and check its files",
		Example: "  tooldex index dump > index.json\n  tooldex index check",
	}, &cobra.Command{
		Use: "dump", Short: "Print the terms of every tool as JSON", Long: dumpHelp, Args: cobra.NoArgs,
		Example: "  tooldex index dump --json > index.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.stored(cmd)
			if err != nil {
				return err
			}
			return errors.Join(e.Index.Dump(a.out), e.Close())
		},
	}, a.indexCheck())
}

// thisProcess is the flag of a check that may be ended by the damage it meets.
const thisProcess = "this-process"

// checkHere is the command line that checks dir in the process that runs it.
func checkHere(dir string) []string {
	return []string{"index", "check", "--" + thisProcess, "--json", "--config", os.DevNull, "--state", dir}
}

func (a *cli) indexCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check", Short: "Verify the files of the state folder", Long: checkHelp, Args: cobra.NoArgs,
		Example: "  tooldex index check\n  tooldex index check --json --state ./state",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runCheck(cmd) },
	}
	cmd.Flags().Bool(thisProcess, false, "look in this process instead of a child")
	_ = cmd.Flags().MarkHidden(thisProcess) // it was just defined
	return cmd
}

func (a *cli) runCheck(cmd *cobra.Command) error {
	cfg, err := a.loadConfig(cmd, true)
	if err != nil {
		return err
	}
	var problems []index.Problem
	if here, _ := cmd.Flags().GetBool(thisProcess); here {
		if problems, err = index.Check(cfg.State); err != nil {
			err = fmt.Errorf("check %s: %w", cfg.State, err)
		}
	} else {
		problems, err = app.CheckState(cmd.Context(), cfg.State, checkHere(cfg.State)...)
	}
	if err != nil {
		return err
	}
	err = a.result(append([]index.Problem{}, problems...), func() { a.showProblems(cfg.State, problems) })
	if err == nil && slices.ContainsFunc(problems, app.Harmful) {
		return errReported
	}
	return err
}

func (a *cli) showProblems(dir string, problems []index.Problem) {
	if len(problems) == 0 {
		a.say("%s: no problem found", dir)
		return
	}
	g := &grid{head: []string{"file", "problem", "what to do"}}
	for _, p := range problems {
		g.add(p.File, p.What, p.Remedy)
	}
	a.show(g)
}
