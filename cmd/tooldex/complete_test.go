package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

// files are the flags that take a file, which shells know by themselves.
var files = []string{
	"config", "from", "openapi", "distractors", "file", "out", "params", "per-query", "run", "set", "state-file", "tools",
}

// Every flag with a value says to shells what it takes, or takes a file.
func TestEveryFlagCompletes(t *testing.T) {
	t.Setenv("TOOLDEX_STATE", t.TempDir())
	root := newRoot(&cli.CLI{Terminal: &term.Terminal{}})
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok == slices.Contains(files, f.Name) && f.Value.Type() != "bool" {
				t.Errorf("%s --%s: completes: %t", cmd.CommandPath(), f.Name, ok)
			}
		})
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				visit(sub)
			}
		}
	}
	visit(root)
	for args, want := range map[string]string{
		"search --mode ":            "hybrid keyword semantic :4",
		"eval run --mode ":          "hybrid keyword semantic :4",
		"eval lint --embedder ":     "builtin ollama openai none :4",
		"tools list --sort ":        "name created_at execution_count success_rate category :4",
		"sample-server --group ":    "files text time numbers :4",
		"sample-server --discover ": "answer exit ignore :4",
		"status --log.level ":       "debug info warn error :4",
		"search --limit ":           ":4",
		"status --state ":           ":16",
	} {
		code, stdout, _ := execute(slices.Concat([]string{"__complete"}, strings.Split(args, " "))...)
		if got := strings.Join(strings.Fields(stdout), " "); code != 0 || got != want {
			t.Errorf("%s: exit %d, got %q, want %q", args, code, got, want)
		}
	}
}
