// Package auditcmd has the commands about the audit: audit shows it, audit
// verify says what was done to it.
package auditcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway/audit"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	cmd := c.show()
	cmd.AddCommand(c.verify())
	return []*cobra.Command{cmd}
}

const auditHelp = `Show who called which tool when, and how it went: what "audit.enabled: true"
in the configuration has every tooldex keep in the state folder, in the order of
time. With --json each event is a line.`

const auditExample = `  tooldex audit --since 1h
  tooldex audit --follow --event denied --event hidden_tool_access
  tooldex audit --principal token:ci-bot --json
  tooldex audit verify`

// A selection is what the flags say.
type selection struct {
	since  string
	filter audit.Filter
	follow bool
}

func (c commands) show() *cobra.Command {
	var s selection
	cmd := &cobra.Command{Use: "audit", Short: "Show who called which tool", Long: auditHelp, Example: auditExample, Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "", "only events since this `time`: 90m, 7d, 2026-11-23, 2026-11-23T08:00:00Z")
	f.StringSliceVar(&s.filter.Principals, "principal", nil, "only of this `principal`, such as token:ci-bot; may be repeated")
	f.StringSliceVar(&s.filter.Endpoints, "endpoint", nil, "only through this `endpoint`; may be repeated")
	f.StringSliceVar(&s.filter.Events, "event", nil, "only this `kind`: "+strings.Join(audit.Events(), ", ")+"; may be repeated")
	f.BoolVarP(&s.follow, "follow", "f", false, "go on as more happens, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, e := range s.filter.Events {
			if err := cli.OneOf(cmd, "event", e); err != nil {
				return err
			}
		}
		since, err := moment(s.since, time.Now())
		if err != nil {
			return cli.WrongUsage(cmd, err)
		}
		s.filter.Since = since
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return err
		}
		return c.list(cmd, cfg, s)
	}
	return cmd
}

// moment reads a time, or how long ago it was; "" is zero.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if ago, err := config.ParseDuration(s); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q is no time; write 90m, 7d, 2026-11-23 or 2026-11-23T08:00:00Z", s)
}

func (c commands) list(cmd *cobra.Command, cfg *config.Config, s selection) error {
	shown := 0
	for r, err := range audit.Records(cmd.Context(), app.AuditFolder(cfg), s.filter, s.follow) {
		if err != nil {
			return err
		}
		shown++
		if err := c.one(r, s.follow); err != nil {
			return err
		}
	}
	if shown == 0 && !s.follow {
		c.none(cfg)
	}
	return nil
}

// one shows an event, at once when more are waited for.
func (c commands) one(r audit.Record, now bool) error {
	if c.JSON {
		if err := c.SayRaw(json.Marshal(r)); err != nil {
			return err
		}
	} else {
		c.Say("%s", text(r))
	}
	if now {
		return c.Flush()
	}
	return nil
}

// text is an event on one line.
func text(r audit.Record) string {
	parts := []string{r.Time.Local().Format(time.DateTime), fmt.Sprintf("%-18s", r.Kind), principal(r)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if r.Endpoint != "" {
		add("%s", r.Endpoint)
	}
	if r.Tool != "" {
		add("%s(%s)", r.Tool, strings.Join(r.Arguments, ", "))
	}
	if r.OK != nil && *r.OK {
		add("ok")
	} else if r.OK != nil {
		add("failed")
	}
	if r.Ms != nil {
		add("%d ms", *r.Ms)
	}
	if r.Count > 0 {
		add("%s", term.Plural(r.Count, "event"))
	}
	if len(r.Files) > 0 {
		add("%s", term.Plural(len(r.Files), "file"))
	}
	if r.Reason != "" {
		add("%s", r.Reason)
	}
	return term.Visible(strings.Join(parts, "  "))
}

// principal is who called.
func principal(r audit.Record) string {
	switch {
	case r.Principal != "":
		return r.Principal
	case r.Kind == audit.AuthFailed:
		return "unknown"
	}
	return "operator"
}

// none says why nothing is shown.
func (c commands) none(cfg *config.Config) {
	if !cfg.Audit.Enabled {
		c.Note("nothing is audited: set audit.enabled: true in %s", cfg.Path)
		return
	}
	c.Note("no such events in %s", app.AuditFolder(cfg))
}

const verifyHelp = `Check every file of the audit: whether a line was changed, removed, added or
moved, the end of a file cut, or a file taken away. A file whose process was
killed is no error: at most its last second is lost. The exit code is 1 when
something was done to a file.

It tells what others did who do not have the key, which is beside the files:
keep copies of the folder where the users of this machine cannot write.`

var errDamaged = errors.New("the audit is not as it was written")

func (c commands) verify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Say what was done to the audit", Long: verifyHelp, Args: cobra.NoArgs,
		Example: "  tooldex audit verify\n  tooldex audit verify --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return err
		}
		found, err := audit.Verify(app.AuditFolder(cfg))
		if err != nil {
			return err
		}
		damaged := 0
		g := term.NewGrid("file", "state", "records", "line", "problem")
		g.Numbers = []int{2, 3}
		for _, f := range found {
			if f.State == audit.Damaged {
				damaged++
			}
			line := ""
			if f.Line > 0 {
				line = fmt.Sprint(f.Line)
			}
			g.Add(f.File, string(f.State), fmt.Sprint(f.Records), line, f.Problem)
		}
		if err := c.Result(found, func() { c.ShowRows(g, "there is no audit") }); err != nil {
			return err
		}
		if damaged > 0 {
			return cli.Hint(fmt.Errorf("%w: %s of %d", errDamaged, term.Plural(damaged, "file"), len(found)), "compare with a backup of %s", app.AuditFolder(cfg))
		}
		return nil
	}
	return cmd
}
