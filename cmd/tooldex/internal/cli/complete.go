package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/sample"
)

// completion finishes an argument or a flag's value in a shell.
type completion = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// The closed sets of flags, by their names.
var (
	Modes      = []string{"hybrid", "keyword", "semantic"}
	Sorts      = []string{"name", "created_at", "execution_count", "success_rate", "category"}
	discovers  = []string{sample.DiscoverAnswer, sample.DiscoverExit, sample.DiscoverIgnore}
	closedSets = map[string][]string{
		"mode": Modes, "phrases": {"none", "pack", "all"}, "sort": Sorts, "discover": discovers, "group": sample.Groups(), "client": term.SortedKeys(clients.Names),
		"log.level": {"debug", "info", "warn", "error"},
		"embedder":  {embed.Builtin, embed.Ollama, embed.OpenAI, embed.None},
		"transport": {"http", "sse"},
		"method":    {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"},
		"surface":   serve.Surfaces(),
		"source":    {"config", "pack", "model", "import", "use"},
		"format":    {"jsonl", "tsv"},
		"event":     audit.Events(),
		"metric":    metric.Names([]int{1, 5, 10}),
	}
)

// OneOf is a usage error unless value is in the closed set of the flag.
func OneOf(cmd *cobra.Command, flag, value string) error {
	if set := closedSets[flag]; !slices.Contains(set, value) {
		return Usagef(cmd, "--%s %q: want one of %s", flag, value, strings.Join(set, ", "))
	}
	return nil
}

// CompleteFlags tells shells what the flags of cmd and of those below it take:
// a closed set, what the catalog has, a folder, or, for numbers and times,
// nothing that a shell knows. Other texts are files.
func (c *CLI) CompleteFlags(cmd *cobra.Command) {
	nothing := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp)
	folder := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	open := map[string]completion{
		"server": c.CompleteServers, "category": c.CompleteLabels, "tag": c.CompleteLabels, "expect": c.CompleteTools,
		"model": nothing, "since": nothing, "principal": nothing, "team": nothing, "endpoint": c.CompleteEndpoints, "state": folder, "root": folder, "listen": nothing, "http": nothing, "title": nothing, "env": nothing, "header": nothing, "cwd": folder, "split": nothing, "args": nothing,
		"path": nothing, "rest": nothing, "operation": nothing, "host": nothing, "base-url": nothing, "name": nothing,
		"include-servers": c.CompleteServers, "exclude-servers": c.CompleteServers, "include-tags": c.CompleteLabels, "exclude-tags": c.CompleteLabels,
		"include-categories": c.CompleteLabels, "include-visibility": nothing, "include-teams": nothing, "name-patterns": nothing, "exclude-name-patterns": nothing, "template": nothing,
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete, known := open[f.Name]
		set, closed := closedSets[f.Name]
		if f.Name == "server" && cmd.Name() == "serve" { // a virtual one
			complete = c.CompleteEndpoints
		}
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
		c.CompleteFlags(sub)
	}
}

// CompleteTools completes the names of tools from the state folder.
func (c *CLI) CompleteTools(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Args != nil && cmd.Args(cmd, append(args, typed)) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		hits, _ := e.Index.List(index.Listing{})
		for _, h := range hits {
			if name := h.Tool.QualifiedName(); strings.HasPrefix(name, typed) || strings.HasPrefix(h.Tool.Name, typed) {
				out = append(out, cobra.CompletionWithDesc(term.Flat(name), term.OneLine(h.Tool.Description, 60)))
			}
		}
		return out
	})
}

// CompleteServers completes the names of servers from the state folder.
func (c *CLI) CompleteServers(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		for _, s := range e.Index.Status().Servers {
			if strings.HasPrefix(s.Name, typed) {
				out = append(out, s.Name)
			}
		}
		return out
	})
}

// CompleteEndpoints completes the names of virtual servers, those of the
// configuration and those that are stored.
func (c *CLI) CompleteEndpoints(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		for _, x := range e.Endpoints() {
			if strings.HasPrefix(x.Name, typed) {
				out = append(out, cobra.CompletionWithDesc(x.Name, term.Flat(cmp.Or(x.Problem, fmt.Sprintf("%s, %s", x.Surface, term.Plural(x.Tools, "tool"))))))
			}
		}
		return out
	})
}

// CompleteLabels completes the categories and tags of the state folder.
func (c *CLI) CompleteLabels(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.complete(cmd, func(e *app.Engine) []cobra.Completion {
		var out []cobra.Completion
		categories, tags, _, _ := e.Index.Categories(index.Filter{})
		for _, c := range append(categories, tags...) {
			if strings.HasPrefix(c.Name, typed) {
				out = append(out, term.Flat(c.Name))
			}
		}
		return out
	})
}

func (c *CLI) complete(cmd *cobra.Command, list func(*app.Engine) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	e, err := c.Stored(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer e.Close() // nothing was written
	return list(e), cobra.ShellCompDirectiveNoFileComp
}
