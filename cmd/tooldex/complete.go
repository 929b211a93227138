package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

// completion finishes an argument or a flag's value in a shell.
type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// words completes a fixed set.
func words(set ...string) completion {
	return cobra.FixedCompletions(set, cobra.ShellCompDirectiveNoFileComp)
}

// must stops on a mistake of ours: a flag that does not exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// completeTools completes the names of tools from the state folder.
func (a *cli) completeTools(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Args != nil && cmd.Args(cmd, append(args, typed)) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		hits, _ := e.Index.List(index.Listing{})
		for _, h := range hits {
			if name := h.Tool.QualifiedName(); strings.HasPrefix(name, typed) || strings.HasPrefix(h.Tool.Name, typed) {
				out = append(out, cobra.CompletionWithDesc(flat(name), oneLine(h.Tool.Description, 60)))
			}
		}
		return out
	})
}

// completeServers completes the names of servers from the state folder.
func (a *cli) completeServers(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		for _, s := range e.Index.Status().Servers {
			if strings.HasPrefix(s.Name, typed) {
				out = append(out, s.Name)
			}
		}
		return out
	})
}

func (a *cli) complete(cmd *cobra.Command, list func(*app.Engine) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	e, err := a.stored(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer e.Close() // nothing was written
	return list(e), cobra.ShellCompDirectiveNoFileComp
}
