package servercmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/app"
)

const statusHelp = `Show the configuration, the state folder, what is stored of each server, the
vectors, and whether a tooldex is serving on the configured address. No server
is started; "tooldex doctor" does that.`

const statusExample = `  tooldex status
  tooldex status --json`

func (c commands) status() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show what is configured and stored", Long: statusHelp, Example: statusExample, Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return err
		}
		e, err := c.Open(cmd, cfg, app.Options{}, true)
		if err != nil {
			return err
		}
		defer e.Close() // nothing was written
		st := e.Status(cmd.Context(), c.Version)
		return c.Result(st, func() { c.showStatus(&st) })
	}
	return cmd
}

func (c commands) showStatus(r *app.Status) {
	line := func(name, format string, args ...any) {
		c.Hang(fmt.Sprintf("%-14s ", name), fmt.Sprintf(format, args...))
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
	for _, tool := range term.SortedKeys(r.TurnedOff) {
		line("turned off", "%s (%s)", tool, r.TurnedOff[tool])
	}
	for _, m := range st.Models {
		line("", "%s", modelLine(&m))
	}
	line("phrases", "%s", phrasesLine(&r.Phrases))
	switch s := r.Serving; {
	case s == nil:
		line("serving", "nothing answers on %s", r.Listen)
	default:
		line("serving", "on http://%s/mcp, %s, servers: %s", r.Listen, term.Plural(s.Tools, "tool"), states(s.Servers))
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
	c.showServers(r)
}

func modelLine(m *index.ModelStatus) string {
	s := fmt.Sprintf("%s, %s, %d of %d vectors", m.Model, m.Role, m.Vectors, m.Wanted)
	if m.PhraseVectors < m.Phrases {
		s += fmt.Sprintf(", %d of %d phrases in them", m.PhraseVectors, m.Phrases)
	}
	if m.Graph != "" {
		s += ", " + m.Graph
	}
	if m.Error != "" {
		s += ", last error: " + m.Error
	}
	return s
}

// phrasesLine says how many tools are known by what people say, and whence.
func phrasesLine(p *app.Phrased) string {
	var out []string
	for _, s := range phrase.Sources() {
		if n := p.BySource[s]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", s, n))
		}
	}
	if p.Stale > 0 {
		out = append(out, fmt.Sprintf("stale %d", p.Stale))
	}
	if len(out) == 0 {
		return "of no tool"
	}
	return fmt.Sprintf("of %s (%s)", term.Plural(p.Tools, "tool"), strings.Join(out, ", "))
}

// states writes the numbers of servers by state.
func states(count map[string]int) string {
	var out []string
	for _, state := range term.SortedKeys(count) {
		out = append(out, fmt.Sprintf("%d %s", count[state], state))
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

func (c commands) showServers(r *app.Status) {
	g := &term.Grid{Head: []string{"server", "tools", "hidden", "listed", "note"}, Numbers: []int{1, 2}}
	stored := map[string]bool{}
	for _, s := range r.Index.Servers {
		stored[s.Name] = true
		note := ""
		if n := len(s.Warnings); n > 0 {
			note = term.Plural(n, "warning") + ": " + s.Warnings[0]
		}
		if r.Config != "" && !slices.Contains(r.Configured, s.Name) {
			note = "not in the configuration"
		}
		g.Add(s.Name, fmt.Sprint(s.Tools), fmt.Sprint(s.Hidden), ago(s.Listed), note)
	}
	for _, name := range r.Configured {
		if !stored[name] {
			g.Add(name, "", "", "never", "\"tooldex reindex\" lists it")
		}
	}
	for _, d := range r.Disabled {
		g.Add(d.Name, "", "", "", strings.TrimSuffix("disabled: "+d.Reason, ": "))
	}
	if len(g.Rows) > 0 {
		c.Say("")
		c.Show(g)
	}
}

// ago is a time in words.
func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return humanize.Time(t)
}
