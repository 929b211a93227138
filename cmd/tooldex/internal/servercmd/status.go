package servercmd

import (
	"cmp"
	"errors"
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
	"github.com/tooldex/tooldex/internal/attach"
	"github.com/tooldex/tooldex/internal/config"
)

const statusHelp = `Show the configuration, the state folder, the vectors, and each server: its
state, since when and why, its last listing, and when it is tried again, as the
tooldex has it that serves this configuration, over HTTP or for a client over
stdio. When none does, what is stored is shown. No server is started; "tooldex
doctor" does that.

When the file has a mistake the tooldex that serves goes on with what it said
before: that is shown, with the mistake, and the exit code is 1.`

const statusExample = `  tooldex status
  tooldex status --json`

func (c commands) status() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show what is configured and stored", Long: statusHelp, Example: statusExample, Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return c.statusBefore(cmd, err)
		}
		found := app.Neighbours(cmd.Context(), cfg.State)
		mine, _ := app.Place(cfg, c.Version) // none is nobody's
		if st := app.StatusOf(cmd.Context(), found, mine, cfg.Path, c.Version); st != nil {
			return c.Result(st, func() { c.showStatus(st) })
		}
		e, err := c.Open(cmd, cfg, app.Options{}, true)
		if err != nil {
			return err
		}
		defer e.Close() // nothing was written
		st := e.Status(c.Version)
		st.Beside(cmd.Context(), found, mine)
		return c.Result(&st, func() { c.showStatus(&st) })
	}
	return cmd
}

// told says where telemetry goes, and whether it arrives.
func told(t *app.Traced) string {
	if t.Problem != "" {
		return "does not arrive at " + t.Endpoint + ": " + t.Problem
	}
	return "sent to " + t.Endpoint
}

// statusBefore shows how it stands with who serves the configuration that the
// file held before it became wrong.
func (c commands) statusBefore(cmd *cobra.Command, wrong error) error {
	given, err := cmd.Flags().GetString("config")
	if err != nil {
		return err
	}
	path, err := config.Find(given)
	if err != nil {
		return wrong
	}
	found := app.Neighbours(cmd.Context(), config.StateOf(path, cmd.Flags()))
	st := app.StatusOf(cmd.Context(), found, attach.Place{}, path, c.Version)
	if st == nil {
		return wrong
	}
	return errors.Join(c.Result(st, func() { c.showStatus(st) }), wrong)
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
	if r.Auto != nil {
		line("", "%s", autoLine(r.Auto))
	}
	if r.Audit != nil {
		line("audit", "%s", cmp.Or(r.Audit.Problem, "kept in "+r.Audit.Folder))
	}
	if r.Otel != nil {
		line("telemetry", "%s", told(r.Otel))
	}
	c.showServing(r, line)
	if st.Problem != "" {
		line("problem", "%s", st.Problem)
	}
	if len(st.Pending) > 0 {
		line("not written", "%s", strings.Join(st.Pending, ", "))
	}
	if r.Process != nil {
		c.showRunning(r)
	} else {
		c.showServers(r)
	}
	showVirtual(c, r)
}

// showVirtual lists the virtual servers, where there are others than the one
// that everybody has, with what is wrong with each.
func showVirtual(c commands, r *app.Status) {
	g := &term.Grid{Head: []string{"virtual server", "surface", "tools", "state", "note"}, Numbers: []int{2}}
	notes := 0
	for _, x := range r.Virtual {
		note := cmp.Or(x.Problem, strings.Join(x.Warnings, "; "))
		if note != "" {
			notes++
		}
		state := "served"
		switch {
		case x.Problem != "":
			state = "broken"
		case !x.Enabled:
			state = "disabled"
		}
		g.Add(x.Name, x.Surface, fmt.Sprint(x.Tools), state, note)
	}
	if len(r.Virtual) > 1 || notes > 0 {
		c.Say("")
		c.Show(g)
	}
}

// showServing says who serves, and how its configuration stands to the file.
func (c commands) showServing(r *app.Status, line func(name, format string, args ...any)) {
	switch {
	case r.Process != nil && r.Process.Listen != "":
		line("serving", "%s on %s/mcp", process(r.Process), cmp.Or(r.URL, "http://"+r.Process.Listen))
	case r.Process != nil:
		line("serving", "%s, for a client over stdio and whoever attaches", process(r.Process))
	case r.Serving != nil:
		line("serving", "on %s/mcp, %s, servers: %s", cmp.Or(r.URL, "http://"+r.Listen), term.Plural(r.Serving.Tools, "tool"), states(r.Serving.Servers))
	case len(r.Silent) > 0:
		line("serving", "nobody who answers; what is stored is shown")
	default:
		line("serving", "no tooldex serves this configuration; what is stored is shown")
	}
	for _, s := range r.Silent {
		what := "of this configuration"
		if !s.Here {
			what = "of another version or other settings"
		}
		line("", "%s; it is the socket %s. Continue that process, or end it", s.Error(), what)
	}
	for _, a := range r.Others {
		line("", "%s serves %s, of another version or with other settings", process(&a), cmp.Or(a.Config, "no configuration"))
	}
	if r.Live == nil {
		return
	}
	if r.Live.Problem != "" {
		line("not in force", "the file since %s: %s", ago(r.Live.Since), r.Live.Problem)
	}
	if len(r.Live.Restart) > 0 {
		line("needs restart", "%s: the file says otherwise than when it was started", strings.Join(r.Live.Restart, ", "))
	}
}

// process names a process that serves.
func process(a *attach.About) string {
	return fmt.Sprintf("process %d (tooldex %s, started %s)", a.PID, a.Version, ago(a.Since))
}

// showRunning shows the servers as the process has them that serves.
func (c commands) showRunning(r *app.Status) {
	g := &term.Grid{Head: []string{"server", "state", "since", "tools", "listed", "next try", "note"}, Numbers: []int{3}}
	warned := map[string][]string{}
	for _, s := range r.Index.Servers {
		warned[s.Name] = s.Warnings
	}
	for _, s := range r.Servers {
		note := cmp.Or(s.Error, s.Why)
		if all := append(slices.Clone(s.Warnings), warned[s.Name]...); note == "" && len(all) > 0 {
			note = term.Plural(len(all), "warning") + ": " + all[0]
		}
		if s.Sessions > 0 && s.Error == "" {
			note = "sessions of " + term.Plural(s.Sessions, "caller")
		}
		next := ""
		if !s.NextTry.IsZero() {
			next = ago(s.NextTry)
		}
		g.Add(s.Name, string(s.State), ago(s.Since), fmt.Sprint(s.Tools), ago(s.Listed), next, note)
	}
	for _, d := range r.Disabled {
		if d.Reason == "" {
			g.Add(d.Name, "disabled", "", "", "", "", "by the configuration")
		}
	}
	if len(g.Rows) > 0 {
		c.Say("")
		c.Show(g)
	}
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

// autoLine says how far phrases are that a model writes by itself.
func autoLine(a *app.Auto) string {
	s := fmt.Sprintf("auto: %s lack phrases", term.Plural(a.Left, "tool"))
	if a.Model == "" {
		s = "auto: not asked for yet"
	} else if !a.Since.IsZero() {
		s += fmt.Sprintf("; since %s %s was asked for %d of at most %d an hour, %d of %d tokens",
			a.Since.Local().Format("15:04"), a.Model, a.Tools, a.MaxTools, a.Tokens, a.MaxTokens)
	}
	if a.Barren > 0 {
		s += fmt.Sprintf("; for %d it wrote nothing that passes", a.Barren)
	}
	if a.Failures > 0 {
		s += fmt.Sprintf("; %s failed, %s in a row", a.Model, term.Plural(a.Failures, "time"))
	}
	if !a.Until.IsZero() {
		s += ", asked again " + ago(a.Until)
	}
	if a.Error != "" {
		s += ": " + a.Error
	}
	return s
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
