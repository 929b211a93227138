package clientcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/settings"
)

const importHelp = `Show the MCP servers that your other clients have configured, and with --write
take them over into the tooldex configuration, keeping a copy of the old one.
Clients: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini
CLI, Zed. Only your own files are read: --project adds those that a project
keeps in the working folder, and --from reads another file in any of their
formats.

No secret is shown: values of variables and headers are left out, and what
looks like a key is hidden. Entries that are tooldex itself are left out; a
name that is taken gets the client's name added. A server whose variables are
not set is taken over as disabled. --undo takes the last import back: the file
becomes what it was, or, if it has changed since, loses what was taken over.

Tools that a client has switched off, or does not list among those it shows, are
taken over as hidden. A server that is there with another key is shown as an
update, which --write --update takes over.

With --openapi the tools of a REST API are taken over instead: the entry is
written at once, with what "rest check" says of the document.`

const importExample = `  tooldex import
  tooldex import --client cursor --client vscode --write
  tooldex import --project
  tooldex import --from ./mcp.json --write
  tooldex import --openapi ./billing.yaml --name billing --tag invoices
  tooldex import --undo`

// importFlags are the flags of import.
type importFlags struct {
	clients []string
	from    []string
	project bool
	write   bool
	update  bool
	undo    bool
	api     openAPI
}

func (c commands) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{Use: "import", Short: "Take over the servers of your MCP clients", Long: importHelp, Example: importExample, Args: cobra.NoArgs}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.clients, "client", nil, "only this `client`; can be repeated ("+strings.Join(term.SortedKeys(clients.Names), ", ")+")")
	fs.StringSliceVar(&f.from, "from", nil, "read this `file` instead; can be repeated")
	fs.BoolVar(&f.project, "project", false, "also read the files that a project keeps in the working folder")
	fs.BoolVar(&f.write, "write", false, "write them into the tooldex configuration")
	fs.BoolVar(&f.update, "update", false, "with --write: take over changed variables and headers of servers that are there")
	fs.BoolVar(&f.undo, "undo", false, "take the last import back")
	ofAPI := apiFlags(fs, &f.api)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if ofAPI.used(cmd) {
			return c.importAPI(cmd, &f.api)
		}
		if f.undo {
			if f.write || f.update || f.project || len(f.clients)+len(f.from) > 0 {
				return cli.Usagef(cmd, "--undo goes with no other flag")
			}
			return c.undoImport(cmd)
		}
		for _, c := range f.clients {
			if err := cli.OneOf(cmd, "client", c); err != nil {
				return err
			}
		}
		return c.runImport(cmd, &f)
	}
	return cmd
}

// A target is the tooldex configuration to write into.
type target struct {
	path   string
	file   *settings.File
	have   []clients.Server
	listen string
	base   string // scheme and host by which clients reach it
}

func (c commands) runImport(cmd *cobra.Command, f *importFlags) error {
	t, err := importTarget(cmd)
	if err != nil {
		return err
	}
	found, problems := clients.Here().Find(clients.Search{Clients: f.clients, From: f.from, Project: f.project})
	plan := clients.MakePlan(found, t.have, t.listen)
	backup := ""
	added := plan.Added()
	var updates []clients.Row
	if f.update {
		updates = plan.Updated()
	}
	if f.write && len(added)+len(updates) > 0 {
		if backup, err = clients.Write(t.file, added, updates); err != nil {
			return cli.Hint(fmt.Errorf("write %s: %w", t.path, err), "choose another file with --config")
		}
	}
	if err := c.showPlan(plan, t, f, backup); err != nil {
		return err
	}
	if f.write && len(added) > 0 {
		cfg, err := config.Load(config.Options{Path: t.path})
		if err != nil {
			c.Note("warning: the configuration does not check yet:\n%v", err)
		} else if broken := cfg.Broken(); len(broken) > 0 {
			c.Note("warning: see \"tooldex status\" for what is wrong with %s", strings.Join(broken, ", "))
		}
	}
	for _, p := range problems {
		c.Note("warning: %v", p)
	}
	c.noteProject(f)
	if len(problems) > 0 && len(plan.Rows) == 0 {
		return cli.Hint(errors.New("no server could be read"), "see the files that the warnings name")
	}
	return nil
}

// undoImport takes the last import back.
func (c commands) undoImport(cmd *cobra.Command) error {
	t, err := importTarget(cmd)
	if err != nil {
		return err
	}
	u, err := clients.Undo(t.file)
	if err != nil {
		return cli.Hint(fmt.Errorf("configuration %s: %w", t.path, err), "\"tooldex remove\" takes single servers out")
	}
	return c.Result(u, func() {
		if len(u.Removed) > 0 || len(u.Reverted) == 0 {
			c.Hang("", fmt.Sprintf("Taken out of %s: %s.", t.path, cmp.Or(strings.Join(u.Removed, ", "), "nothing")))
		}
		if len(u.Reverted) > 0 {
			c.Hang("", fmt.Sprintf("Has the variables and headers again that it had: %s.", strings.Join(u.Reverted, ", ")))
		}
		if u.Restored {
			c.Say("It is what it was before the import.")
		}
		if len(u.Kept) > 0 {
			c.Hang("", fmt.Sprintf("Changed since, and kept: %s.", strings.Join(u.Kept, ", ")))
		}
		if u.Copy != "" {
			c.Hang("", fmt.Sprintf("What was there is kept in %s.", u.Copy))
		}
	})
}

// noteProject tells of the project's files, which were left out.
func (c commands) noteProject(f *importFlags) {
	if f.project || len(f.from) > 0 {
		return
	}
	here := clients.Here()
	for _, l := range here.ProjectFiles() {
		if slices.Contains(here.Files(), l) {
			continue // the working folder is the home folder
		}
		if _, err := os.Stat(l.Path); err == nil && (len(f.clients) == 0 || slices.Contains(f.clients, l.Client)) {
			c.Note("note: %s of the working folder is left out; --project takes it in", shortPath(l.Path))
		}
	}
}

// importTarget reads the configuration that cmd's flags name; a file that
// does not exist yet is fine.
func importTarget(cmd *cobra.Command) (*target, error) {
	path, err := cmd.Flags().GetString("config")
	if err == nil {
		path, err = config.Target(path)
	}
	if err != nil {
		return nil, err
	}
	t := &target{path: path, listen: "127.0.0.1:7420", base: "http://127.0.0.1:7420"}
	t.file, err = settings.Read(path)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, app.PlainCause(err))
	}
	if !t.file.Exists() {
		return t, nil
	}
	if t.have, err = clients.Have(t.file.Text); err != nil {
		return nil, cli.Hint(fmt.Errorf("configuration %s: %w", path, err), "mend the file, then see \"tooldex doctor\"")
	}
	if c, err := config.Load(config.Options{Path: path}); err == nil {
		t.listen, t.base = c.Listen, access.Base(c) // a file that does not check yet has the usual address
	}
	return t, nil
}

// An importRow is a plan's row as JSON: without anything secret.
type importRow struct {
	Name     string   `json:"name"`
	Was      string   `json:"was,omitempty"`
	Client   string   `json:"client"`
	File     string   `json:"file"`
	Summary  string   `json:"summary"`
	Secrets  []string `json:"variables_and_headers,omitempty"`
	Action   string   `json:"action"`
	Why      string   `json:"why,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

func (c commands) showPlan(plan clients.Plan, t *target, f *importFlags, backup string) error {
	added := len(plan.Added())
	updates := len(plan.Updated())
	updated := f.write && f.update && updates > 0
	written := f.write && added > 0 || updated
	if c.JSON {
		rows := []importRow{}
		for _, r := range plan.Rows {
			rows = append(rows, importRow{
				Name: r.Name, Was: r.Was, Client: r.From.Client, File: r.From.Path, Summary: r.Summary(), Secrets: r.Secrets(),
				Action: r.Action, Why: r.Why, Disabled: r.Disabled, Notes: r.Notes,
			})
		}
		return c.Print(map[string]any{"config": t.path, "servers": rows, "written": written, "backup": backup})
	}
	if len(plan.Rows) == 0 {
		c.Say("No MCP servers found in the places where your clients keep them. \"tooldex add --help\" says how to add one.")
		return nil
	}
	g := &term.Grid{Head: []string{"server", "from", "file", "take over", "command or address"}}
	for _, r := range plan.Rows {
		g.Add(r.Name, cmp.Or(clients.Names[r.From.Client], "--from"), shortPath(r.From.Path), decision(r), summary(r))
	}
	c.Show(g)
	for _, r := range plan.Rows {
		for _, n := range r.Notes {
			c.Hang(r.Name+": ", n)
		}
	}
	c.Say("")
	switch {
	case added == 0 && !updated:
		c.Hang("", fmt.Sprintf("Nothing to take over: %s has all of them.", t.path))
	case !written:
		c.Hang("", fmt.Sprintf("%s to take over. \"tooldex import --write\" writes them into %s.", term.Plural(added, "server"), t.path))
	default:
		if added > 0 {
			c.Hang("", fmt.Sprintf("%s written to %s. \"tooldex reindex\" lists their tools.", term.Plural(added, "server"), t.path))
		}
		if updated {
			c.Hang("", fmt.Sprintf("%s updated in %s.", term.Plural(updates, "server"), t.path))
		}
		if backup != "" {
			c.Say("What was there is kept in %s.", backup)
		}
		c.sayConnect(plan)
	}
	if updates > 0 && !updated {
		c.Hang("", fmt.Sprintf("%s with changed variables or headers: \"tooldex import --write --update\" takes them over.", term.Plural(updates, "server")))
	}
	return nil
}

// sayConnect tells how clients stop having the servers twice.
func (c commands) sayConnect(plan clients.Plan) {
	var names []string
	for _, r := range plan.Rows {
		if r.Action != clients.Skip && r.From.Client != "" && !slices.Contains(names, r.From.Client) {
			names = append(names, r.From.Client)
		}
	}
	if len(names) > 0 {
		c.Hang("", fmt.Sprintf("These clients still have them, too: %s. \"tooldex connect CLIENT\" leaves tooldex alone there, so that no tool is listed twice.", strings.Join(names, ", ")))
	}
}

// shortPath is a path as people write it: ~ for the home folder, relative in
// the working folder.
func shortPath(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return "." + string(filepath.Separator) + rel
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			return "~" + string(filepath.Separator) + rel
		}
	}
	return path
}

// decision is a row's action in words.
func decision(r clients.Row) string {
	switch {
	case r.Action == clients.Skip:
		return "no: " + r.Why
	case r.Action == clients.Update:
		return "update: " + r.Why
	case r.Disabled && r.Was != "":
		return "disabled, was " + r.Was
	case r.Disabled:
		return "disabled"
	case r.Was != "":
		return "yes, was " + r.Was
	}
	return "yes"
}

// summary is a row's connection with the names of what is not shown.
func summary(r clients.Row) string {
	s := r.Summary()
	if hidden := r.Secrets(); len(hidden) > 0 {
		s += " (with " + strings.Join(hidden, ", ") + ")"
	}
	return s
}
