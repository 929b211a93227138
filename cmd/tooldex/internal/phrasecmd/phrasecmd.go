// Package phrasecmd has the commands about what people say when they need a
// tool: phrases list, add, remove, forget, export and import, and enrich.
package phrasecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/app"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.phrases(), c.enrich()}
}

const phrasesHelp = `Show and change what people say when they need a tool. A tool is found by its
phrases as well as by its own text: at most 12 count, of 120 bytes each, those
of the configuration first, then those that come with tooldex, a model's,
imported ones, and those of use.`

func (c commands) phrases() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "phrases", Short: "Show and change what people say when they need a tool", Long: phrasesHelp,
		Example: "  tooldex phrases list github/create_pull_request\n  tooldex phrases add github/create_pull_request \"open a PR\"\n  tooldex phrases export --missing --out todo.jsonl",
	}, c.list(), c.add(), c.remove(), c.forget(), c.export(), c.importFile())
}

// A line is one phrase as list shows it.
type line struct {
	Tool   string `json:"tool"`
	Counts bool   `json:"counts"` // in the ranking
	phrase.Phrase
}

func (c commands) list() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use: "list [TOOL]", Short: "List phrases", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.CompleteTools,
		Long:    "List the phrases of one tool or of all, with the source of each. Those that stand\nin brackets do not count: their tool has twelve others.",
		Example: "  tooldex phrases list\n  tooldex phrases list github/create_pull_request\n  tooldex phrases list --source use --json",
	}
	cmd.Flags().StringVar(&source, "source", "", "only this `source`: config, pack, model, import or use")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if source != "" {
			if err := cli.OneOf(cmd, "source", source); err != nil {
				return err
			}
		}
		return c.Offline(cmd, func(_ context.Context, e *app.Engine) error {
			tools, err := chosen(e, args)
			if err != nil {
				return err
			}
			lines := []line{}
			for _, t := range tools {
				for i, p := range t.Phrases {
					if source == "" || p.Source == phrase.Source(source) {
						lines = append(lines, line{t.Tool, i < t.Counted, p})
					}
				}
			}
			return c.Result(lines, func() { c.show(lines) })
		})
	}
	return cmd
}

// chosen are the tools that the arguments name, all without any.
func chosen(e *app.Engine, args []string) ([]index.ToolPhrases, error) {
	if len(args) == 0 {
		return e.Index.Phrases().List(), nil
	}
	hit, err := cli.Resolve(e, args[0])
	if err != nil {
		return nil, err
	}
	t, _ := e.Index.Phrases().Of(hit.ID)
	return []index.ToolPhrases{t}, nil
}

func (c commands) show(lines []line) {
	g := &term.Grid{Head: []string{"tool", "phrase", "source", "note"}}
	for _, l := range lines {
		text := l.Text
		if !l.Counts {
			text = "(" + text + ")"
		}
		g.Add(l.Tool, text, string(l.Source), note(&l.Phrase))
	}
	c.ShowRows(g, "No phrase found.")
}

// note is what else is known of a phrase.
func note(p *phrase.Phrase) string {
	var all []string
	if p.Count > 0 {
		all = append(all, term.Plural(p.Count, "use"))
	}
	if !p.Time.IsZero() {
		all = append(all, p.Time.Format(time.DateOnly))
	}
	if p.Model != "" {
		all = append(all, "by "+p.Model)
	}
	if p.Stale {
		all = append(all, "the tool's text has changed since")
	}
	if p.Waits {
		all = append(all, fmt.Sprintf("waits: %s so far", term.Plural(len(p.By), "principal")))
	}
	return strings.Join(all, ", ")
}

// write runs f over a catalog that takes changes, and waits for the vectors of
// what is new where that takes no server.
func (c commands) write(cmd *cobra.Command, f func(ctx context.Context, e *app.Engine) error) error {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return err
	}
	e, err := c.Open(cmd, cfg, app.Options{Writing: true}, false)
	if err != nil {
		return err
	}
	if err = cli.Advised(e.NeedTools(), cfg); err == nil {
		err = f(cmd.Context(), e)
	}
	if err == nil && cfg.Embedding.Provider == embed.Builtin {
		err = e.Index.Wait(cmd.Context())
	}
	return errors.Join(err, e.Close())
}

// A change is what a command did.
type change struct {
	Added   int `json:"added,omitempty"`
	Known   int `json:"known,omitempty"` // were there already
	Removed int `json:"removed,omitempty"`
	Tools   int `json:"tools"`
	Skipped int `json:"skipped,omitempty"` // tools that are not in the catalog
}

func (c commands) add() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add TOOL PHRASE…", Short: "Add phrases to a tool", Args: cobra.MinimumNArgs(2), ValidArgsFunction: c.CompleteTools,
		Long:    "Add phrases to a tool, with the source \"import\". Those that the configuration of\na server gives are in its entry: \"tools: {TOOL: {phrases: […]}}\".",
		Example: "  tooldex phrases add github/create_pull_request \"open a PR\" \"propose my branch\"",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var list []phrase.Phrase
		for _, text := range args[1:] {
			clean, err := phrase.Clean(text)
			if err != nil {
				return cli.Usagef(cmd, "phrase %q: %w", phrase.Clip(text), err)
			}
			list = append(list, phrase.Phrase{Text: clean, Source: phrase.Import})
		}
		return c.write(cmd, func(ctx context.Context, e *app.Engine) error {
			hit, err := cli.Resolve(e, args[0])
			if err != nil {
				return err
			}
			n, err := e.Index.Phrases().Add(ctx, map[string][]phrase.Phrase{hit.ID: list})
			if err != nil {
				return err
			}
			done := change{Added: n, Known: len(list) - n, Tools: 1}
			return c.Result(done, func() { c.Say("%s: %s", hit.Tool.QualifiedName(), done.said()) })
		})
	}
	return cmd
}

// said is what was added, in words.
func (d change) said() string {
	s := fmt.Sprintf("%s added", term.Plural(d.Added, "phrase"))
	if d.Known > 0 {
		s += fmt.Sprintf(", %d there already", d.Known)
	}
	return s
}

func (c commands) remove() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove TOOL PHRASE", Short: "Remove one phrase of a tool", Args: cobra.ExactArgs(2), ValidArgsFunction: c.CompleteTools,
		Example: "  tooldex phrases remove github/create_pull_request \"open a PR\"",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.write(cmd, func(ctx context.Context, e *app.Engine) error {
			hit, err := cli.Resolve(e, args[0])
			if err != nil {
				return err
			}
			same := func(p phrase.Phrase) bool { return phrase.Key(p.Text) == phrase.Key(args[1]) }
			n, err := e.Index.Phrases().Remove(ctx, same, hit.ID)
			if err == nil && n == 0 {
				err = notRemoved(e, hit, args[1], same)
			}
			if err != nil {
				return err
			}
			return c.Result(change{Removed: n, Tools: 1}, func() { c.Say("%s: removed", hit.Tool.QualifiedName()) })
		})
	}
	return cmd
}

// notRemoved says why a phrase is not among the stored ones.
func notRemoved(e *app.Engine, hit index.Hit, text string, same func(phrase.Phrase) bool) error {
	name := hit.Tool.QualifiedName()
	t, _ := e.Index.Phrases().Of(hit.ID)
	for _, p := range t.Phrases {
		if !same(p) {
			continue
		}
		err := fmt.Errorf("phrase %q of %s: it is of the source %q, which is not stored", text, name, p.Source)
		if p.Source == phrase.Config {
			return cli.Hint(err, "take it out of %s", e.Config.Path)
		}
		return err
	}
	return cli.Hint(fmt.Errorf("phrase %q of %s: there is none", text, name), "\"tooldex phrases list %s\" shows what there is", name)
}

func (c commands) forget() *cobra.Command {
	var source string
	var all bool
	cmd := &cobra.Command{
		Use: "forget [TOOL]", Short: "Forget the stored phrases of a tool, or of all", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.CompleteTools,
		Long:    "Forget the stored phrases of a tool, of all tools, or of one source. Those of the\nconfiguration and those that come with tooldex stay.",
		Example: "  tooldex phrases forget github/create_pull_request\n  tooldex phrases forget --source use --all",
	}
	cmd.Flags().StringVar(&source, "source", "", "only this `source`: model, import or use")
	cmd.Flags().BoolVar(&all, "all", false, "of all tools")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) == 1) {
			return cli.Usagef(cmd, "name a tool, or say --all")
		}
		if source != "" && !phrase.Source(source).Stored() {
			return cli.Usagef(cmd, "--source %q: want model, import or use: no others are stored", source)
		}
		return c.write(cmd, func(ctx context.Context, e *app.Engine) error {
			var ids []string
			if !all {
				hit, err := cli.Resolve(e, args[0])
				if err != nil {
					return err
				}
				ids = []string{hit.ID}
			}
			n, err := e.Index.Phrases().Remove(ctx, func(p phrase.Phrase) bool {
				return source == "" || p.Source == phrase.Source(source)
			}, ids...)
			if err != nil {
				return err
			}
			return c.Result(change{Removed: n, Tools: len(ids)}, func() { c.Say("%s forgotten", term.Plural(n, "phrase")) })
		})
	}
	return cmd
}
