package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

func (a *cli) reindex() *cobra.Command {
	var f reindexFlags
	cmd := &cobra.Command{Use: "reindex", Short: "List the tools of all servers again", Long: reindexHelp, Example: reindexExample, Args: cobra.NoArgs}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.servers, "server", nil, "only this `server`; can be repeated")
	fs.BoolVar(&f.prune, "prune", false, "forget stored servers that the configuration does not name")
	fs.BoolVar(&f.embed, "embed", false, "wait until every tool has its vector")
	fs.DurationVar(&f.timeout, "timeout", 2*time.Minute, "give up on a server after this `time`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.runReindex(cmd, &f) }
	return cmd
}

func (a *cli) runReindex(cmd *cobra.Command, f *reindexFlags) error {
	cfg, err := a.loadConfig(cmd, false)
	if err != nil {
		return err
	}
	e, err := a.open(cmd, cfg, app.Options{Online: true, Servers: f.servers}, true)
	if err != nil {
		return err
	}
	names, err := serverNames(cmd, cfg, f.servers)
	var rows []app.Relisting
	if err == nil {
		rows, err = a.relist(cmd.Context(), e, names, f.timeout)
	}
	var pruned []string
	if err == nil && f.prune {
		pruned, err = e.Prune(cmd.Context())
	}
	var embedding error
	if err == nil && (f.embed || cfg.Embedding.Provider == embed.Builtin) {
		embedding = a.awaitVectors(cmd.Context(), e, f.embed)
	}
	status := e.Index.Status()
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if len(status.Pending) > 0 {
		a.note("warning: not written yet, the state folder is busy: %s", strings.Join(status.Pending, ", "))
	}
	err = a.showRelisted(rows, pruned, status)
	switch {
	case embedding != nil && (f.embed || cmd.Context().Err() != nil):
		return errors.Join(embedding, err)
	case embedding != nil:
		a.note("warning: %v; serving makes the vectors that are missing", embedding)
	}
	return err
}

// relist has servers list their tools, with a bar.
func (a *cli) relist(ctx context.Context, e *app.Engine, names []string, timeout time.Duration) ([]app.Relisting, error) {
	bars := newBars(a.err, a.json)
	defer bars.finish()
	tick := func(done int) { bars.tick("listing servers", done, len(names)) }
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
			return nil, usagef(cmd, "--server %q: its entry says disabled; remove that first", w)
		default:
			return nil, usagef(cmd, "--server %q: the configuration has no such server; it has %s", w, strings.Join(all, ", "))
		}
	}
	if len(all) == 0 {
		return nil, hint(fmt.Errorf("configuration %s: it names no server", cfg.Path), "take over those of your clients with \"tooldex import --write\"")
	}
	if len(wanted) > 0 {
		return wanted, nil
	}
	return all, nil
}

// awaitVectors waits for the embedder with a bar: texts a second, time left.
func (a *cli) awaitVectors(ctx context.Context, e *app.Engine, toTheEnd bool) error {
	bars := newBars(a.err, a.json)
	defer bars.finish()
	err := e.Embed(ctx, toTheEnd, func(model string, done, total int) { bars.tick("embedding with "+model, done, total) })
	return hint(err, "see \"tooldex doctor\"")
}

func (a *cli) showRelisted(rows []app.Relisting, pruned []string, st index.Status) error {
	failed := 0
	g := &grid{head: []string{"server", "tools", "added", "changed", "removed", "problem"}, numbers: []int{1, 2, 3, 4}}
	for _, r := range rows {
		problem := r.Error
		if problem != "" {
			failed++
		} else if n := len(r.Warnings); n > 0 {
			problem = plural(n, "warning")
		}
		g.add(r.Server, fmt.Sprint(r.Tools), fmt.Sprint(len(r.Added)), fmt.Sprint(len(r.Changed)), fmt.Sprint(len(r.Removed)), problem)
	}
	if a.json {
		if err := a.print(map[string]any{"servers": rows, "pruned": append([]string{}, pruned...), "tools": st.Tools, "models": st.Models}); err != nil {
			return err
		}
	} else {
		a.show(g)
		a.showChanges(rows, pruned, st)
	}
	if st.Unwritten {
		return hint(fmt.Errorf("nothing was stored in %s", st.Dir), "see \"tooldex doctor\"")
	}
	if failed > 0 {
		return hint(fmt.Errorf("%d of %s could not be listed", failed, plural(len(rows), "server")), "see \"tooldex doctor\"")
	}
	return nil
}

// shownChanges is how many names of each kind are printed.
const shownChanges = 10

func (a *cli) showNames(r app.Relisting) {
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+", r.Added}, {"~", r.Changed}, {"-", r.Removed}} {
		for i, name := range part.names {
			if i == shownChanges {
				a.say("%s … and %d more of %s", part.sign, len(part.names)-i, r.Server)
				break
			}
			a.say("%s %s", part.sign, flat(name))
		}
	}
}

func (a *cli) showChanges(rows []app.Relisting, pruned []string, st index.Status) {
	a.say("")
	for _, r := range rows {
		if r.Error != "" && width(a.out) > 0 { // the table cuts it
			a.hang(r.Server+": ", r.Error)
		}
		if r.Unchanged+len(r.Changed)+len(r.Removed) > 0 { // else the table says it all
			a.showNames(r)
		}
		for _, w := range r.Warnings {
			a.note("warning: %s: %s", r.Server, flat(w))
		}
	}
	for _, p := range pruned {
		a.say("- server %s forgotten", p)
	}
	if !st.Unwritten {
		a.say("%s searchable in %s", plural(st.Tools, "tool"), st.Dir)
	}
	for _, m := range st.Models {
		if m.CacheAll > 0 {
			a.say("%d of %d vectors of %s, %d from the cache", m.Vectors, m.Wanted, m.Model, m.CacheHit)
		}
	}
}
