package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

const statusHelp = `Show the configuration, the state folder, what is stored of each server, the
vectors, and whether a tooldex is serving on the configured address. No server
is started; "tooldex doctor" does that.`

const statusExample = `  tooldex status
  tooldex status --json`

func (a *cli) status() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show what is configured and stored", Long: statusHelp, Example: statusExample, Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.loadConfig(cmd, true)
		if err != nil {
			return err
		}
		e, err := a.open(cmd, cfg, app.Options{}, true)
		if err != nil {
			return err
		}
		defer e.Close() // nothing was written
		st := e.Status(cmd.Context(), buildVersion())
		return a.result(st, func() { a.showStatus(&st) })
	}
	return cmd
}

func (a *cli) showStatus(r *app.Status) {
	line := func(name, format string, args ...any) {
		a.hang(fmt.Sprintf("%-14s ", name), fmt.Sprintf(format, args...))
	}
	st := &r.Index
	line("configuration", "%s", cmp.Or(r.Config, "none (\"tooldex import --write\" makes one)"))
	line("state folder", "%s (%s)", cmp.Or(st.Dir, "in memory"), humanize.IBytes(uint64(max(st.Bytes, 0))))
	hidden := ""
	if st.Hidden > 0 {
		hidden = fmt.Sprintf(", %d hidden", st.Hidden)
	}
	line("tools", "%d searchable%s, generation %d", st.Tools, hidden, st.Generation)
	if r.WordsOnly != "" {
		line("embedding", "none: search by words only: %s", r.WordsOnly)
	} else {
		line("embedding", "%s", r.Embedding)
	}
	for _, tool := range sortedKeys(r.TurnedOff) {
		line("turned off", "%s (%s)", tool, r.TurnedOff[tool])
	}
	for _, m := range st.Models {
		line("", "%s", modelLine(&m))
	}
	switch s := r.Serving; {
	case s == nil:
		line("serving", "nothing answers on %s", r.Listen)
	default:
		line("serving", "on http://%s/mcp, %s, servers: %s", r.Listen, plural(s.Tools, "tool"), states(s.Servers))
	}
	if st.Problem != "" {
		line("problem", "%s", st.Problem)
	}
	if len(st.Pending) > 0 {
		line("not written", "%s", strings.Join(st.Pending, ", "))
	}
	if len(r.Unbuilt) > 0 {
		line("does nothing", "%s", strings.Join(r.Unbuilt, ", "))
	}
	a.showServers(r)
}

func modelLine(m *index.ModelStatus) string {
	s := fmt.Sprintf("%s, %s, %d of %d vectors", m.Model, m.Role, m.Vectors, m.Wanted)
	if m.Graph != "" {
		s += ", " + m.Graph
	}
	if m.Error != "" {
		s += ", last error: " + m.Error
	}
	return s
}

// states writes the numbers of servers by state.
func states(count map[string]int) string {
	var out []string
	for _, state := range sortedKeys(count) {
		out = append(out, fmt.Sprintf("%d %s", count[state], state))
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

func (a *cli) showServers(r *app.Status) {
	g := &grid{head: []string{"server", "tools", "hidden", "listed", "note"}, numbers: []int{1, 2}}
	stored := map[string]bool{}
	for _, s := range r.Index.Servers {
		stored[s.Name] = true
		note := ""
		if n := len(s.Warnings); n > 0 {
			note = plural(n, "warning") + ": " + s.Warnings[0]
		}
		if r.Config != "" && !slices.Contains(r.Configured, s.Name) {
			note = "not in the configuration"
		}
		g.add(s.Name, fmt.Sprint(s.Tools), fmt.Sprint(s.Hidden), ago(s.Listed), note)
	}
	for _, name := range r.Configured {
		if !stored[name] {
			g.add(name, "", "", "never", "\"tooldex reindex\" lists it")
		}
	}
	for _, d := range r.Disabled {
		g.add(d.Name, "", "", "", strings.TrimSuffix("disabled: "+d.Reason, ": "))
	}
	if len(g.rows) > 0 {
		a.say("")
		a.show(g)
	}
}

// ago is a time in words.
func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return humanize.Time(t)
}
