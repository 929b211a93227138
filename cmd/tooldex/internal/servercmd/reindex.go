package servercmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

const reindexHelp = `List the tools of every configured server again and say what was added, changed
and removed. A server that cannot be reached keeps the tools it had; the exit
code is 1 then.

--embed waits until every tool has its vector; otherwise the vectors of an
embedding server are made while tooldex serves. --prune forgets the stored
servers that the configuration no longer names.`

const reindexExample = `  tooldex reindex
  tooldex reindex --server github --timeout 30s
  tooldex reindex --embed --prune`

// reindexFlags are the flags of reindex.
type reindexFlags struct {
	servers      []string
	prune, embed bool
	timeout      time.Duration
}

func (c commands) reindex() *cobra.Command {
	var f reindexFlags
	cmd := &cobra.Command{Use: "reindex", Short: "List the tools of all servers again", Long: reindexHelp, Example: reindexExample, Args: cobra.NoArgs}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.servers, "server", nil, "only this `server`; can be repeated")
	fs.BoolVar(&f.prune, "prune", false, "forget stored servers that the configuration does not name")
	fs.BoolVar(&f.embed, "embed", false, "wait until every tool has its vector")
	fs.DurationVar(&f.timeout, "timeout", 2*time.Minute, "give up on a server after this `time`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.runReindex(cmd, &f) }
	return cmd
}

func (c commands) runReindex(cmd *cobra.Command, f *reindexFlags) error {
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return err
	}
	e, err := c.Open(cmd, cfg, app.Options{Online: true, Servers: f.servers}, true)
	if err != nil {
		return err
	}
	names, err := serverNames(cmd, cfg, f.servers)
	var rows []app.Relisting
	if err == nil {
		rows, err = c.relist(cmd.Context(), e, names, f.timeout)
	}
	var pruned []string
	if err == nil && f.prune {
		pruned, err = e.Prune(cmd.Context())
	}
	var embedding error
	if err == nil && (f.embed || cfg.Embedding.Provider == embed.Builtin) {
		embedding = c.awaitVectors(cmd.Context(), e, f.embed)
	}
	status := e.Index.Status()
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if len(status.Pending) > 0 {
		c.Note("warning: not written yet, the state folder is busy: %s", strings.Join(status.Pending, ", "))
	}
	err = c.showRelisted(rows, pruned, status)
	switch {
	case embedding != nil && (f.embed || cmd.Context().Err() != nil):
		return errors.Join(embedding, err)
	case embedding != nil:
		c.Note("warning: %v; serving makes the vectors that are missing", embedding)
	}
	return err
}

// relist has servers list their tools, with a bar.
func (c commands) relist(ctx context.Context, e *app.Engine, names []string, timeout time.Duration) ([]app.Relisting, error) {
	bars := term.NewBars(c.Err, c.JSON)
	defer bars.Finish()
	tick := func(done int) { bars.Tick("listing servers", done, len(names)) }
	tick(0)
	return e.Relist(ctx, names, timeout, tick)
}

// serverNames are the servers to list.
func serverNames(cmd *cobra.Command, cfg *config.Config, wanted []string) ([]string, error) {
	all := append(cfg.Names(), cfg.Broken()...)
	for _, w := range wanted {
		switch {
		case slices.Contains(all, w):
		case slices.ContainsFunc(cfg.Disabled, func(d config.Disabled) bool { return d.Name == w }):
			return nil, cli.Usagef(cmd, "--server %q: its entry says disabled; remove that first", w)
		default:
			return nil, cli.Usagef(cmd, "--server %q: the configuration has no such server; it has %s", w, strings.Join(all, ", "))
		}
	}
	if len(all) == 0 {
		if off := cli.AllOff(cfg); off != nil {
			return nil, off
		}
		return nil, cli.Hint(fmt.Errorf("configuration %s: it names no server", cfg.Path), "take over those of your clients with \"tooldex import --write\"")
	}
	if len(wanted) > 0 {
		return wanted, nil
	}
	return all, nil
}

// awaitVectors waits for the embedder with a bar: texts a second, time left.
func (c commands) awaitVectors(ctx context.Context, e *app.Engine, toTheEnd bool) error {
	bars := term.NewBars(c.Err, c.JSON)
	defer bars.Finish()
	err := e.Embed(ctx, toTheEnd, func(model string, done, total int) { bars.Tick("embedding with "+model, done, total) })
	return cli.Hint(err, "see \"tooldex doctor\"")
}

func (c commands) showRelisted(rows []app.Relisting, pruned []string, st index.Status) error {
	failed := 0
	g := &term.Grid{Head: []string{"server", "tools", "added", "changed", "removed", "problem"}, Numbers: []int{1, 2, 3, 4}}
	for _, r := range rows {
		problem := r.Error
		if problem != "" {
			failed++
		} else if n := len(r.Warnings); n > 0 {
			problem = term.Plural(n, "warning")
		}
		g.Add(r.Server, fmt.Sprint(r.Tools), fmt.Sprint(len(r.Added)), fmt.Sprint(len(r.Changed)), fmt.Sprint(len(r.Removed)), problem)
	}
	if c.JSON {
		if err := c.Print(map[string]any{"servers": rows, "pruned": append([]string{}, pruned...), "tools": st.Tools, "models": st.Models}); err != nil {
			return err
		}
	} else {
		c.Show(g)
		c.showChanges(rows, pruned, st)
	}
	if st.Unwritten {
		return cli.Hint(fmt.Errorf("nothing was stored in %s", st.Dir), "see \"tooldex doctor\"")
	}
	if failed > 0 {
		return cli.Hint(fmt.Errorf("%d of %s could not be listed", failed, term.Plural(len(rows), "server")), "see \"tooldex doctor\"")
	}
	return nil
}

// shownChanges is how many names of each kind are printed.
const shownChanges = 10

func (c commands) showNames(r app.Relisting) {
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+", r.Added}, {"~", r.Changed}, {"-", r.Removed}} {
		for i, name := range part.names {
			if i == shownChanges {
				c.Say("%s … and %d more of %s", part.sign, len(part.names)-i, r.Server)
				break
			}
			c.Say("%s %s", part.sign, term.Flat(name))
		}
	}
}

func (c commands) showChanges(rows []app.Relisting, pruned []string, st index.Status) {
	c.Say("")
	for _, r := range rows {
		if r.Error != "" && term.Width(c.Out) > 0 { // the table cuts it
			c.Hang(r.Server+": ", r.Error)
		}
		if r.Unchanged+len(r.Changed)+len(r.Removed) > 0 { // else the table says it all
			c.showNames(r)
		}
		for _, w := range r.Warnings {
			c.Note("warning: %s: %s", r.Server, term.Flat(w))
		}
	}
	for _, p := range pruned {
		c.Say("- server %s forgotten", p)
	}
	if !st.Unwritten {
		c.Say("%s searchable in %s", term.Plural(st.Tools, "tool"), st.Dir)
	}
	for _, m := range st.Models {
		if m.CacheAll > 0 {
			c.Say("%d of %d vectors of %s, %d from the cache", m.Vectors, m.Wanted, m.Model, m.CacheHit)
		}
	}
}
