package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
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

func (a *app) reindex() *cobra.Command {
	var f reindexFlags
	cmd := &cobra.Command{Use: "reindex", Short: "List the tools of all servers again", Long: reindexHelp, Example: reindexExample, Args: cobra.NoArgs}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.servers, "server", nil, "only this `server`; can be repeated")
	fs.BoolVar(&f.prune, "prune", false, "forget stored servers that the configuration does not name")
	fs.BoolVar(&f.embed, "embed", false, "wait until every tool has its vector")
	fs.DurationVar(&f.timeout, "timeout", 2*time.Minute, "give up on a server after this `time`")
	must(cmd.RegisterFlagCompletionFunc("server", a.completeServers))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.runReindex(cmd, &f) }
	return cmd
}

// A relisting is what listing one server again gave.
type relisting struct {
	Server    string   `json:"server"`
	Tools     int      `json:"tools"`
	Added     []string `json:"added"`
	Changed   []string `json:"changed"`
	Removed   []string `json:"removed"`
	Unchanged int      `json:"unchanged"`
	Warnings  []string `json:"warnings,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// A relister collects what the servers' listings changed.
type relister struct {
	mu    sync.Mutex // guards diffs and errs
	diffs map[string]index.Diff
	errs  map[string]error
}

// listed adds one listing; a server may list twice, at its start and on
// request.
func (r *relister) listed(server string, d index.Diff, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.diffs[server]
	sum.Added = append(sum.Added, d.Added...)
	sum.Changed = append(sum.Changed, d.Changed...)
	sum.Removed = append(sum.Removed, d.Removed...)
	sum.Warnings = d.Warnings
	r.diffs[server], r.errs[server] = sum, err
}

func (a *app) runReindex(cmd *cobra.Command, f *reindexFlags) error {
	r := &relister{diffs: map[string]index.Diff{}, errs: map[string]error{}}
	e, err := a.openEngine(cmd, engineOptions{online: true, reports: true, servers: f.servers, listed: r.listed})
	if err != nil {
		return err
	}
	names, err := e.serverNames(cmd, f.servers)
	var rows []relisting
	if err == nil {
		rows, err = a.relist(cmd.Context(), e, r, names, f.timeout)
	}
	var pruned []string
	if err == nil && f.prune {
		pruned, err = e.ix.Prune(cmd.Context(), e.disabledNames()...)
	}
	var embedding error
	if err == nil && (f.embed || e.cfg.Embedding.Provider == embed.Builtin) {
		embedding = a.awaitVectors(cmd.Context(), e.ix, f.embed)
	}
	status := e.ix.Status()
	if err = errors.Join(err, e.close()); err != nil {
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

// serverNames are the servers to list.
func (e *engine) serverNames(cmd *cobra.Command, wanted []string) ([]string, error) {
	all := append(enabledNames(e.cfg), brokenNames(e.cfg)...)
	for _, w := range wanted {
		if !slices.Contains(all, w) && slices.Contains(e.disabledNames(), w) {
			return nil, usagef(cmd, "--server %q: its entry says disabled; remove that first", w)
		}
		if !slices.Contains(all, w) {
			return nil, usagef(cmd, "--server %q: the configuration has no such server; it has %s", w, strings.Join(all, ", "))
		}
	}
	if len(all) == 0 {
		return nil, hint(fmt.Errorf("configuration %s: it names no server", e.cfg.Path), "take over those of your clients with \"tooldex import --write\"")
	}
	if len(wanted) > 0 {
		return wanted, nil
	}
	return all, nil
}

// disabledNames are the servers that do not run and are configured.
func (e *engine) disabledNames() []string {
	var names []string
	for _, d := range e.cfg.Disabled {
		names = append(names, d.Name)
	}
	return names
}

// relist asks every server for its tools, all at once.
func (a *app) relist(ctx context.Context, e *engine, r *relister, names []string, timeout time.Duration) ([]relisting, error) {
	bars := newBars(a.err, a.json)
	defer bars.finish()
	rows := make([]relisting, len(names))
	err := e.running(ctx, func(ctx context.Context) error {
		var wg sync.WaitGroup
		var mu sync.Mutex // guards done
		done := 0
		bars.tick("listing servers", 0, len(names))
		for i, name := range names {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				l, err := e.set.Refresh(ctx, name)
				rows[i] = r.row(name, len(l.Tools), e.withReason(name, err))
				mu.Lock()
				defer mu.Unlock()
				done++
				bars.tick("listing servers", done, len(names))
			})
		}
		wg.Wait()
		return ctx.Err()
	})
	return rows, err
}

// withReason words a failure for where the server's name stands already; to
// a wait that ended it adds what the last failure was.
func (e *engine) withReason(name string, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return errors.New(strings.TrimPrefix(err.Error(), "refresh "+name+": "))
	}
	for _, st := range e.set.Status() {
		if st.Name == name && st.Error != "" {
			return fmt.Errorf("no answer in time; last: %s", st.Error)
		}
	}
	return errors.New("no answer in time")
}

func (r *relister) row(name string, tools int, err error) relisting {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.diffs[name]
	if err == nil {
		err = r.errs[name]
	}
	row := relisting{
		Server: name, Tools: tools, Warnings: d.Warnings,
		Added: nonNil(d.Added), Changed: nonNil(d.Changed), Removed: nonNil(d.Removed),
	}
	row.Unchanged = max(0, tools-len(d.Added)-len(d.Changed))
	if err != nil {
		row.Error = err.Error()
	}
	return row
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// briefly is how long reindex waits for the built-in model unasked. The model
// takes microseconds a tool; while others change the catalog without a pause
// there is no end to wait for.
const briefly = 10 * time.Second

// A waiter makes vectors in the background.
type waiter interface {
	Wait(ctx context.Context) error
	Status() index.Status
}

// awaitVectors waits for the embedder with a bar: texts a second, time left.
// Unless toTheEnd it gives up after a while, which is no error.
func (a *app) awaitVectors(ctx context.Context, ix waiter, toTheEnd bool) error {
	if !toTheEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, briefly)
		defer cancel()
	}
	bars := newBars(a.err, a.json)
	defer bars.finish()
	done := make(chan error, 1)
	go func() { done <- ix.Wait(ctx) }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if !toTheEnd && errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			if err != nil {
				return hint(fmt.Errorf("embed tools: %w", err), "see \"tooldex doctor\"")
			}
			return nil
		case <-tick.C:
			for _, m := range ix.Status().Models {
				if m.Vectors < m.Wanted {
					bars.tick("embedding with "+m.Model, m.Vectors, m.Wanted)
				}
			}
		}
	}
}

func (a *app) showRelisted(rows []relisting, pruned []string, st index.Status) error {
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
		if err := a.print(map[string]any{"servers": rows, "pruned": nonNil(pruned), "tools": st.Tools, "models": st.Models}); err != nil {
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

func (a *app) showChanges(rows []relisting, pruned []string, st index.Status) {
	a.say("")
	for _, r := range rows {
		if r.Error != "" && width(a.out) > 0 { // the table cuts it
			a.hang(r.Server+": ", r.Error)
		}
		if r.Unchanged+len(r.Changed)+len(r.Removed) == 0 {
			continue // listed for the first time: the table says it
		}
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

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
