package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/sample"
)

// completion finishes an argument or a flag's value in a shell.
type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// The closed sets of flags, by their names.
var (
	modes      = []string{"hybrid", "keyword", "semantic"}
	sorts      = []string{"name", "created_at", "execution_count", "success_rate", "category"}
	discovers  = []string{sample.DiscoverAnswer, sample.DiscoverExit, sample.DiscoverIgnore}
	closedSets = map[string][]string{
		"mode": modes, "sort": sorts, "discover": discovers, "group": sample.Groups(), "client": sortedKeys(clients.Names),
		"log.level": {"debug", "info", "warn", "error"},
		"embedder":  {embed.Builtin, embed.Ollama, embed.OpenAI, embed.None},
		"metric":    metric.Names([]int{1, 5, 10}),
	}
)

// oneOf is a usage error unless value is in the closed set of the flag.
func oneOf(cmd *cobra.Command, flag, value string) error {
	if set := closedSets[flag]; !slices.Contains(set, value) {
		return usagef(cmd, "--%s %q: want one of %s", flag, value, strings.Join(set, ", "))
	}
	return nil
}

// completeFlags tells shells what the flags of cmd and of those below it take:
// a closed set, what the catalog has, a folder, or, for numbers and times,
// nothing that a shell knows. Other texts are files.
func (a *cli) completeFlags(cmd *cobra.Command) {
	nothing := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	folder := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	open := map[string]completion{
		"server": a.completeServers, "category": a.completeLabels, "tag": a.completeLabels, "expect": a.completeTools,
		"state": folder, "root": folder, "listen": nothing, "http": nothing, "title": nothing, "split": nothing, "args": nothing,
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete, known := open[f.Name]
		set, closed := closedSets[f.Name]
		switch {
		case cmd.HasParent() && cmd.Root().PersistentFlags().Lookup(f.Name) == f:
			return // the root's, which it has said
		case closed:
			complete = cobra.FixedCompletions(set, cobra.ShellCompDirectiveNoFileComp)
		case !known && f.Value.Type() != "string" && f.Value.Type() != "stringSlice":
			complete = nothing
		case !known:
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // two of one name
		}
	})
	for _, sub := range cmd.Commands() {
		a.completeFlags(sub)
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

// completeLabels completes the categories and tags of the state folder.
func (a *cli) completeLabels(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		categories, tags, _, _ := e.Index.Categories(index.Filter{})
		for _, c := range append(categories, tags...) {
			if strings.HasPrefix(c.Name, typed) {
				out = append(out, flat(c.Name))
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
