package servercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/gateway/upstream/login"
	"github.com/tooldex/tooldex/index/check"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/logins"
)

const doctorHelp = `Check the configuration, the state folder, the embedder, the virtual servers
over the catalog that is stored, and every server by starting it and listing its
tools. What is wrong is printed with the command or
change that mends it; the exit code is 1 then.

--repair moves a damaged state folder's files aside, so that the next reindex
builds them anew; counts of past calls and first-seen dates are lost then.
--pull has an Ollama server download the embedding model that it lacks.`

const doctorExample = `  tooldex doctor
  tooldex doctor --server github --timeout 20s
  tooldex doctor --repair`

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	servers []string
	timeout time.Duration
	repair  bool
	pull    bool
}

func (c commands) doctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{Use: "doctor", Short: "Find out what is wrong and what mends it", Long: doctorHelp, Example: doctorExample, Args: cobra.NoArgs}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.servers, "server", nil, "of the servers check only this `server`; can be repeated")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "give up on a server after this `time`")
	fs.BoolVar(&f.repair, "repair", false, "move damaged files of the state folder aside")
	fs.BoolVar(&f.pull, "pull", false, "have the Ollama server download the embedding model")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.runDoctor(cmd, &f) }
	return cmd
}

// A finding is one thing that was checked.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

func (c commands) runDoctor(cmd *cobra.Command, f *doctorFlags) error {
	cfg, findings := c.checkConfig(cmd)
	if cfg == nil {
		return c.showFindings(findings)
	}
	findings = append(findings, c.checkState(cmd.Context(), cfg, f.repair)...)
	if f.pull {
		if p := c.pullModel(cmd.Context(), cfg); p != nil {
			findings = append(findings, *p)
		}
	}
	findings = append(findings, checkEmbedder(cmd.Context(), cfg))
	findings = append(findings, checkEndpoints(c, cmd)...)
	servers, err := c.checkServers(cmd, cfg, f)
	if err != nil {
		return err
	}
	return c.showFindings(append(findings, servers...))
}

func (c commands) checkConfig(cmd *cobra.Command) (*config.Config, []finding) {
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		remedy := ""
		if h := new(cli.Hinted); errors.As(err, h) && errors.Is(err, config.ErrNone) {
			remedy = h.Advice
		} else {
			remedy = "mend what is named, line by line"
		}
		return nil, []finding{{"configuration", false, err.Error(), remedy}}
	}
	out := []finding{{"configuration", true, fmt.Sprintf("%s, %s", cfg.Path, term.Plural(len(cfg.Servers), "server")), ""}}
	if len(cfg.Servers)+len(cfg.Broken()) == 0 {
		out[0].OK, out[0].Remedy = false, "take over the servers of your clients with \"tooldex import --write\""
	}
	out = append(out, writableByAll("configuration", "they choose what runs", cfg.Path, filepath.Dir(cfg.Path))...)
	for _, path := range config.Unused(cfg.Path) {
		out = append(out, finding{"configuration", true, cli.UnusedHint(path), ""})
	}
	off := app.TurnedOff(cfg)
	for _, tool := range term.SortedKeys(off) {
		out = append(out, finding{"setting", true, fmt.Sprintf("%s is turned off (%s)", tool, off[tool]), ""})
	}
	return cfg, out
}

// checkState verifies the state folder.
func (c commands) checkState(ctx context.Context, cfg *config.Config, repair bool) []finding {
	dir := cfg.State
	if err := app.Writable(dir); err != nil {
		return []finding{{"state folder", false, fmt.Sprintf("%s: %v", dir, err), "make it writable, or choose another with --state"}}
	}
	problems, err := app.CheckState(ctx, dir, checkHere(dir)...)
	if err != nil {
		return []finding{{"state folder", false, err.Error(), "tooldex index check"}}
	}
	out := writableByAll("state folder", "they choose what is found", dir)
	if !slices.ContainsFunc(problems, app.Harmful) {
		out = append(out, finding{"state folder", true, dir + ": every file is sound", ""})
	}
	if repair {
		out = append(out, repaired(dir, problems)...)
		problems = slices.DeleteFunc(problems, check.Problem.Repairable)
	}
	for _, p := range problems {
		out = append(out, finding{"state folder", !app.Harmful(p), p.File + ": " + p.What, cmp.Or(p.Remedy, "tooldex doctor --repair")})
	}
	return out
}

// writableByAll finds the files and folders that every user of the machine may
// change.
func writableByAll(what, harm string, paths ...string) []finding {
	var out []finding
	for _, path := range paths {
		if mode, yes := app.WritableByAll(path); yes {
			detail := fmt.Sprintf("%s: every user of this machine may change it (mode %04o): %s", path, mode, harm)
			out = append(out, finding{what, false, detail, "chmod go-w " + path})
		}
	}
	return out
}

// repaired mends what can be mended.
func repaired(dir string, problems []check.Problem) []finding {
	done, err := check.Repair(dir, problems)
	var out []finding
	for _, d := range done {
		out = append(out, finding{"state folder", true, d, "tooldex reindex"})
	}
	if err != nil {
		out = append(out, finding{"state folder", false, err.Error(), "stop every running tooldex, then \"tooldex doctor --repair\""})
	}
	return out
}

func checkEmbedder(ctx context.Context, cfg *config.Config) finding {
	const what = "embedding"
	e, done, err := app.OpenEmbedder(cfg)
	if err != nil {
		return finding{what, false, err.Error(), "mend the embedding section of " + cfg.Path}
	}
	defer done() // it was only asked
	if e == nil {
		return finding{what, true, "none: search by words only: " + app.WordsOnly(cfg), ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	h := embed.Check(ctx, e)
	if h.Problem != "" {
		remedy := "see the embedding section of " + cfg.Path
		if h.Provider == embed.Ollama && h.Reachable && !h.HasModel {
			remedy = "tooldex doctor --pull"
		}
		return finding{what, false, strings.TrimSpace(h.Provider + " " + h.Model + ": " + h.Problem), remedy}
	}
	detail := fmt.Sprintf("%s, %d dimensions", cmp.Or(h.Identity, h.Provider), h.Dims)
	if h.Latency > 0 {
		detail += fmt.Sprintf(", %s a text, %.0f texts per second", h.Latency.Round(100*time.Microsecond), h.Rate)
	}
	return finding{what, true, detail, ""}
}

// checkEndpoints looks at the virtual servers over what is stored, where there
// are others than the one that everybody has.
func checkEndpoints(c commands, cmd *cobra.Command) (out []finding) {
	e, err := c.Stored(cmd)
	if err != nil {
		return nil // the state folder or the embedder, which is said
	}
	defer e.Close() // nothing was written
	all := e.Endpoints()
	for _, x := range all {
		what := "virtual server " + x.Name
		switch {
		case x.Problem != "":
			remedy := "mend what is named; it is served again then"
			if x.Stored {
				remedy = fmt.Sprintf("mend what is named, or see \"tooldex servers edit %s\" and \"tooldex servers delete %s\"", x.Name, x.Name)
			}
			out = append(out, finding{what, false, x.Problem, remedy})
		case !x.Enabled:
			out = append(out, finding{what, true, "disabled", ""})
		case len(all) > 1:
			out = append(out, finding{what, true, fmt.Sprintf("surface %s, %s, on %s", x.Surface, term.Plural(x.Tools, "tool"), x.Path), ""})
		}
		for _, w := range x.Warnings {
			out = append(out, finding{what, true, "warning: " + w, ""})
		}
	}
	return out
}

// checkServers starts every server and lists its tools, all at once. What
// they list is not stored.
func (c commands) checkServers(cmd *cobra.Command, cfg *config.Config, f *doctorFlags) ([]finding, error) {
	probe := *cfg
	probe.State = "" // in memory: the doctor changes nothing
	probe.Embedding = config.Embedding{Provider: embed.None}
	e, err := c.Open(cmd, &probe, app.Options{Online: true, Servers: f.servers, Logins: cfg.State}, true)
	if err != nil {
		return nil, err
	}
	names := f.servers
	if names == nil {
		names = append(cfg.Names(), cfg.Broken()...)
	}
	rows, err := c.relist(cmd.Context(), e, names, f.timeout)
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, err
	}
	var out []finding
	needs := loginsNeeded(cfg)
	for _, row := range rows {
		if why := needs[row.Server]; why != "" && row.Error == "" {
			row.Error, row.Login = why, true
		}
		out = append(out, serverFindings(row, cfg.Section(row.Server))...)
	}
	for _, d := range cfg.Disabled {
		if d.Reason == "" {
			out = append(out, finding{"server " + d.Name, true, "disabled", ""})
		}
	}
	return out, nil
}

// loginsNeeded says of the REST APIs at which nobody is logged in what they
// need: their tools come of a document, which asks for no login.
func loginsNeeded(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for _, st := range logins.States(cfg, logins.Keeper(cfg, "")) {
		if cfg.Section(st.Server) != "rest" || st.Auth != login.OAuth || st.State == "logged in" {
			continue
		}
		out[st.Server] = fmt.Sprintf("server %s needs a login: tooldex auth login %s", st.Server, st.Server)
		if st.Why != "" {
			out[st.Server] += " (" + st.Why + ")"
		}
	}
	return out
}

// refused recognizes a server that does not accept the credentials it got.
var refused = regexp.MustCompile(`HTTP 40[13]\b|\b(?:Unauthorized|Forbidden)\b`)

func serverFindings(row app.Relisting, section string) []finding {
	what := "server " + row.Server
	if row.Error != "" {
		mend := "mend " + section + "." + row.Server
		if row.Login {
			return []finding{{what, false, row.Error, "tooldex auth login " + row.Server}}
		}
		if refused.MatchString(row.Error) {
			mend = "the server wants other credentials: mend auth or headers of " + section + "." + row.Server
		}
		return []finding{{what, false, row.Error, mend + ", then \"tooldex reindex --server " + row.Server + "\""}}
	}
	out := []finding{{what, true, term.Plural(row.Tools, "tool"), ""}}
	for _, w := range row.Warnings {
		out = append(out, finding{what, true, "warning: " + w, ""})
	}
	return out
}

func (c commands) showFindings(findings []finding) error {
	bad := 0
	for _, f := range findings {
		if !f.OK {
			bad++
		}
	}
	if c.JSON {
		if err := c.Print(map[string]any{"ok": bad == 0, "findings": findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			mark := "ok    "
			if !f.OK {
				mark = "FAIL  "
			}
			for line := range strings.Lines(f.What + ": " + f.Detail) {
				c.Hang(mark, strings.TrimRight(line, "\n"))
				mark = "      "
			}
			if f.Remedy != "" {
				c.Hang("      → ", f.Remedy)
			}
		}
	}
	if bad > 0 {
		return cli.ErrReported
	}
	return nil
}
