package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WrapArgs turns what cobra says of wrong arguments into usage errors.
func WrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, ok := err.(UsageError); err == nil || ok {
				return err
			}
			return WrongUsage(cmd, err)
		}
	}
	for _, sub := range cmd.Commands() {
		WrapArgs(sub)
	}
}

// Group makes a command of its subcommands: alone it shows its help.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef(cmd, "command %q: unknown%s", strings.TrimSpace(Path(cmd)+" "+args[0]), suggestion(cmd, args[0]))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
	return cmd
}

// NearestFlag adds to an error about an unknown flag the one that was meant.
func NearestFlag(cmd *cobra.Command, err error) error {
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
