package phrasecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/enrich"
)

const enrichHelp = `Ask a chat model what people say when they need a tool, and find the tool by
that from then on. The model is phrases.model of the configuration: Ollama, or
anything that speaks OpenAI's protocol. It is told a tool's server, name, title,
description and names of parameters.

Without arguments every tool is meant that has no phrases yet. What the model
says is checked before it is stored; a run that ends early goes on with the
rest the next time, with --all too: the oldest phrases come first.`

const enrichExample = `  tooldex enrich --dry-run
  tooldex enrich github --max-tools 50
  tooldex enrich --stale`

type enrichFlags struct {
	missing, stale, all, dryRun bool
	model                       string
	maxTools, maxTokens, rate   int
}

func (c commands) enrich() *cobra.Command {
	var f enrichFlags
	cmd := &cobra.Command{Use: "enrich [SERVER[/TOOL]]...", Short: "Have a chat model write what people say when they need a tool",
		Long: enrichHelp, Example: enrichExample}
	fs := cmd.Flags()
	fs.BoolVar(&f.missing, "missing", false, "tools that have no phrases (default)")
	fs.BoolVar(&f.stale, "stale", false, "tools whose text has changed since the model wrote")
	fs.BoolVar(&f.all, "all", false, "every tool, also one that has phrases of the model")
	fs.StringVar(&f.model, "model", "", "this `model` instead of the configuration's")
	fs.IntVar(&f.maxTools, "max-tools", 0, "at most this many tools; 0 is no bound")
	fs.IntVar(&f.maxTokens, "max-tokens", 0, "at most about this many tokens; 0 is no bound")
	fs.IntVar(&f.rate, "rate", 0, "at most this many requests a minute; 0 is no bound")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say how many tools and about how many tokens it would be")
	cmd.MarkFlagsMutuallyExclusive("missing", "stale", "all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.runEnrich(cmd, &f, args) }
	return cmd
}

// which are the tools that the flags ask for.
func (f *enrichFlags) which() app.Lacking {
	switch {
	case f.all:
		return app.AnyTools
	case f.stale:
		return app.Stale
	}
	return app.Missing
}

// nothing says that there are no such tools.
func (f *enrichFlags) nothing() string {
	if f.stale {
		return "no tool's text has changed since a model wrote its phrases"
	}
	return "no tool lacks phrases"
}

func (c commands) runEnrich(cmd *cobra.Command, f *enrichFlags, args []string) error {
	for name, n := range map[string]int{"max-tools": f.maxTools, "max-tokens": f.maxTokens, "rate": f.rate} {
		if n < 0 {
			return cli.Usagef(cmd, "--%s %d: want 0 or more", name, n)
		}
	}
	if f.dryRun {
		return c.Offline(cmd, func(_ context.Context, e *app.Engine) error { return c.enriched(cmd, f, e, args) })
	}
	return c.write(cmd, func(_ context.Context, e *app.Engine) error { return c.enriched(cmd, f, e, args) })
}

func (c commands) enriched(cmd *cobra.Command, f *enrichFlags, e *app.Engine, args []string) error {
	tools, names, err := app.ToEnrich(e, f.which(), args)
	if err != nil {
		return err
	}
	left := 0
	if f.maxTools > 0 && len(tools) > f.maxTools {
		left = len(tools) - f.maxTools
		tools = tools[:f.maxTools]
	}
	if f.dryRun {
		return c.showPlan(tools, left)
	}
	if len(tools) == 0 {
		return c.Result(&enrich.Result{Refused: map[string]int{}, Failed: []enrich.Failure{}}, func() { fmt.Fprintln(c.Out, f.nothing()) })
	}
	choice := e.Config.Phrases.Model
	if f.model != "" {
		choice.Model = f.model
	}
	m, err := app.ChatModel(choice)
	if err != nil {
		return cli.Hint(err, "set phrases.model, for instance {provider: ollama, model: llama3.2}")
	}
	bars := term.NewBars(c.Err, c.JSON)
	r, err := app.Enrich(cmd.Context(), e, m, tools, enrich.Options{Names: names, MaxTokens: f.maxTokens, PerMinute: f.rate,
		Progress: func(done, total int) { bars.Tick("asking "+m.Name(), done, total) }})
	bars.Finish()
	r.Left += left
	if shown := c.Result(r, func() { c.showEnriched(r) }); shown != nil {
		return shown
	}
	if err == nil && r.Written == 0 {
		err = cli.Hint(errors.New("no tool got phrases"), "the table says why; another model may do better")
	}
	return err
}

func (c commands) showPlan(tools []enrich.Tool, left int) error {
	tokens := 0
	for _, t := range tools {
		tokens += enrich.Estimate(t)
	}
	plan := struct {
		Tools  int `json:"tools"`
		Left   int `json:"left"`
		Tokens int `json:"tokens"`
	}{len(tools), left, tokens}
	return c.Result(plan, func() {
		fmt.Fprintf(c.Out, "%s, about %d tokens\n", term.Plural(len(tools), "tool"), tokens)
		if left > 0 {
			fmt.Fprintf(c.Out, "%d more lack phrases\n", left)
		}
	})
}

func (c commands) showEnriched(r *enrich.Result) {
	g := &term.Grid{Head: []string{"tools asked for", fmt.Sprint(r.Tools)}, Numbers: []int{1}}
	g.Add("written", fmt.Sprint(r.Written))
	g.Add("phrases", fmt.Sprint(r.Phrases))
	for _, why := range term.SortedKeys(r.Refused) {
		g.Add("refused: "+why, fmt.Sprint(r.Refused[why]))
	}
	g.Add("failed", fmt.Sprint(len(r.Failed)))
	g.Add("left", fmt.Sprint(r.Left))
	g.Add("tokens", fmt.Sprint(r.Tokens))
	g.Add("time", (time.Duration(r.Seconds * float64(time.Second))).Round(100*time.Millisecond).String())
	c.Show(g)
	const most = 10
	for _, f := range r.Failed[:min(most, len(r.Failed))] {
		fmt.Fprintf(c.Out, "%s: %s\n", f.Tool, f.Error)
	}
	if n := len(r.Failed) - most; n > 0 {
		fmt.Fprintf(c.Out, "and %d more; --json lists them\n", n)
	}
	if r.Why != "" {
		fmt.Fprintf(c.Out, "ended early: %s\n", r.Why)
	}
}
