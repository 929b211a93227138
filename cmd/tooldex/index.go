package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
)

const dumpHelp = `Print what the lexical index holds as JSON: each tool's terms by field and
their lengths, document frequencies, average lengths and parameters. Any score
can be recomputed from it.`

const checkHelp = `Verify every file of the state folder without changing it. Problems are printed
with what to do about them; the exit code is 1 then.`

func (a *cli) index() *cobra.Command {
	cmd := &cobra.Command{
		Use: "index", Short: "Look into the index and check its files",
		Example: "  tooldex index dump > index.json\n  tooldex index check",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef(cmd, "command %q: unknown%s", "index "+args[0], suggestion(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
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
	return cmd
}

// thisProcess is the flag of a check that may be ended by the damage it meets.
const thisProcess = "this-process"

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
	check := childCheck
	if here, _ := cmd.Flags().GetBool(thisProcess); here {
		check = checkHere
	}
	problems, err := check(cmd.Context(), cfg.State)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		if problems == nil {
			problems = []index.Problem{}
		}
		err = a.print(problems)
	case len(problems) == 0:
		a.say("%s: no problem found", cfg.State)
	default:
		g := &grid{head: []string{"file", "problem", "what to do"}}
		for _, p := range problems {
			g.add(p.File, p.What, p.Remedy)
		}
		a.show(g)
	}
	if err == nil && slices.ContainsFunc(problems, harmful) {
		return errReported
	}
	return err
}

func checkHere(_ context.Context, dir string) ([]index.Problem, error) {
	problems, err := index.Check(dir)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir, err)
	}
	return problems, nil
}
