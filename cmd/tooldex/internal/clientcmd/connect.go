package clientcmd

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/clients"
)

const connectHelp = `Show how a client's file would look with tooldex as its only MCP server, and with
--yes write it. Everything else in the file stays as it is, and the file as it
was is kept beside it as FILE.before-tooldex, until "tooldex disconnect" gives
the servers back.

The client's servers must be in the tooldex configuration, where they are found
through tooldex; "tooldex import" takes them over. Quit the client first, if it
writes the file itself: Claude Desktop, Claude Code.`

const connectExample = `  tooldex import --client cursor --write
  tooldex connect cursor
  tooldex connect cursor --yes
  tooldex connect vscode --http --yes`

const disconnectHelp = `Show how a client's file would look with the servers that "tooldex connect" took
out, and with --yes write it. A file that has not changed since becomes byte for
byte what it was; otherwise what else changed in it stays.`

// connectFlags are the flags of connect.
type connectFlags struct {
	yes, drop, http bool
}

func (c commands) connect() *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{Use: "connect CLIENT", Short: "Make tooldex the only server of an MCP client", Long: connectHelp, Example: connectExample}
	fs := cmd.Flags()
	fs.BoolVar(&f.yes, "yes", false, "write it")
	fs.BoolVar(&f.drop, "drop", false, "take servers out that tooldex does not have, too")
	fs.BoolVar(&f.http, "http", false, "connect to the address of \"tooldex serve\" instead of starting tooldex")
	return oneClient(cmd, func(cmd *cobra.Command, client string) error { return c.runConnect(cmd, client, &f) })
}

func (c commands) disconnect() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "disconnect CLIENT", Short: "Give an MCP client its own servers back", Long: disconnectHelp,
		Example: "  tooldex disconnect cursor\n  tooldex disconnect cursor --yes",
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "write it")
	return oneClient(cmd, func(cmd *cobra.Command, client string) error { return c.runDisconnect(cmd, client, yes) })
}

// oneClient makes cmd take the short name of a client.
func oneClient(cmd *cobra.Command, run func(*cobra.Command, string) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	names := term.SortedKeys(clients.Names)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(names, args[0]) {
			return cli.Usagef(cmd, "client %q: want one of %s", args[0], strings.Join(names, ", "))
		}
		return run(cmd, args[0])
	}
	return cmd
}

// A rewritten file is what of a change is printed as JSON.
type rewritten struct {
	File    string   `json:"file"`
	Removed []string `json:"removed"`
	Added   string   `json:"added,omitempty"`
	Stays   []string `json:"stays,omitempty"`
	Copy    string   `json:"copy"`
}

func (c commands) runConnect(cmd *cobra.Command, client string, f *connectFlags) error {
	t, err := importTarget(cmd)
	if err != nil {
		return err
	}
	if !t.file.Exists() {
		return cli.Hint(fmt.Errorf("configuration %s: there is none, so tooldex would find no tool", t.path), "take over the servers of your clients with \"tooldex import --write\", or see \"tooldex add --help\"")
	}
	self, err := selfFor(cmd, t, f.http)
	if err != nil {
		return err
	}
	system := clients.Here()
	system.Listen = t.listen
	changes, err := system.Connect(client, self)
	if err != nil {
		return cli.Hint(err, "nothing was changed")
	}
	missing := c.notTakenOver(changes, t)
	if err := c.showChanges(changes, self, f.yes && (len(missing) == 0 || f.drop)); err != nil {
		return err
	}
	if len(missing) > 0 && !f.drop {
		return cli.Hint(fmt.Errorf("the tooldex configuration does not have %s: nothing was changed", strings.Join(missing, ", ")),
			"take them over with \"tooldex import --client %s --write\", or leave them out with --drop", client)
	}
	if !slices.ContainsFunc(changes, func(r *clients.Rewrite) bool { return !r.Nothing() }) {
		return nil
	}
	if !f.yes {
		c.unwritten()
		return nil
	}
	if _, err := clients.Apply(changes); err != nil {
		return cli.Hint(err, "nothing was changed")
	}
	if !c.JSON {
		c.Hang("", fmt.Sprintf("Written. Restart %s; \"tooldex disconnect %s\" undoes it.", clients.Names[client], client))
	}
	return nil
}

// unwritten says to a person that nothing was written.
func (c commands) unwritten() {
	if !c.JSON {
		c.Say("Nothing is written yet: --yes writes it.")
	}
}

// notTakenOver are the servers that would be lost.
func (c commands) notTakenOver(changes []*clients.Rewrite, t *target) []string {
	var found []clients.Found
	for _, r := range changes {
		found = append(found, clients.Found{Location: r.Location, Servers: r.Removed})
	}
	var out []string
	for _, row := range clients.MakePlan(found, t.have, t.listen).Rows {
		if row.Action == clients.Add {
			out = append(out, cmp.Or(row.Was, row.Name))
		}
		if row.Action == clients.Update {
			c.Note("warning: %s %s than the tooldex configuration; \"tooldex import --write --update\" takes it over", row.Name, row.Why)
		}
	}
	return out
}

// selfFor is how a client reaches this tooldex, with the configuration that
// the command line and the environment name: clients do not know either.
func selfFor(cmd *cobra.Command, t *target, http bool) (clients.Self, error) {
	if http {
		return clients.Self{URL: t.base + "/mcp"}, nil
	}
	program, err := Program()
	if err != nil {
		return clients.Self{}, err
	}
	self := clients.Self{Command: program, Args: []string{"serve", "--stdio"}}
	if cmd.Flags().Changed("config") || os.Getenv("TOOLDEX_CONFIG") != "" {
		path, err := filepath.Abs(t.path)
		if err != nil {
			return self, err
		}
		self.Args = append(self.Args, "--config", path)
	}
	if cmd.Flags().Changed("state") {
		state, err := cmd.Flags().GetString("state")
		if err != nil {
			return self, err
		}
		if state, err = filepath.Abs(state); err != nil {
			return self, err
		}
		self.Args = append(self.Args, "--state", state)
	}
	return self, nil
}

// Program is this program's absolute path, by the name in PATH where that
// leads to it: such a link outlives an update. What "go run" made is refused.
func Program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if strings.Contains(self, string(filepath.Separator)+"go-build") {
		return "", cli.Hint(fmt.Errorf("this program lies in a temporary folder: %s", self), "install it first: go build -o ~/bin/ ./cmd/tooldex")
	}
	if found, err := exec.LookPath(filepath.Base(self)); err == nil {
		one, err1 := os.Stat(found)
		other, err2 := os.Stat(self)
		if found, err = filepath.Abs(found); err == nil && err1 == nil && err2 == nil && os.SameFile(one, other) {
			return found, nil
		}
	}
	return self, nil
}

// showChanges shows what would be done to each file, without a secret.
func (c commands) showChanges(changes []*clients.Rewrite, self clients.Self, written bool) error {
	if c.JSON {
		files := []rewritten{}
		for _, r := range changes {
			x := rewritten{File: r.Path, Removed: []string{}, Added: r.Added, Stays: r.Stays, Copy: r.Copy()}
			for _, s := range r.Removed {
				x.Removed = append(x.Removed, s.Name)
			}
			files = append(files, x)
		}
		return c.Print(map[string]any{"files": files, "written": written})
	}
	for _, r := range changes {
		if r.Nothing() {
			c.Hang("", fmt.Sprintf("%s has tooldex alone already.", r.Path))
			continue
		}
		c.Hang("", r.Path)
		for _, s := range r.Removed {
			c.Hang("  - ", s.Name+"  "+s.Summary())
		}
		if r.Added != "" {
			c.Hang("  + ", r.Added+"  "+clients.Server{Command: self.Command, Args: self.Args, URL: self.URL}.Line())
		}
		if len(r.Stays) > 0 {
			c.Hang("    ", fmt.Sprintf("%s: no command and no address, so the client provides it: stays", strings.Join(r.Stays, ", ")))
		}
		if r.Projects > 0 {
			c.Hang("    ", fmt.Sprintf("%s with servers of its own: they stay", term.Plural(r.Projects, "project")))
		}
		c.Hang("    ", "the file as it is now is kept in "+r.Copy())
	}
	return nil
}

func (c commands) runDisconnect(cmd *cobra.Command, client string, yes bool) error {
	t, err := importTarget(cmd)
	if err != nil {
		return err
	}
	system := clients.Here()
	system.Listen = t.listen
	changes, err := system.Disconnect(client)
	if err != nil {
		return cli.Hint(err, "nothing was changed")
	}
	back := []restored{}
	for _, r := range changes {
		back = append(back, restored{r.Path, r.Back, r.Whole})
	}
	var copies []string
	if yes {
		if copies, err = clients.Apply(changes); err != nil {
			return cli.Hint(err, "nothing was changed")
		}
	}
	return c.Result(map[string]any{"files": back, "written": yes, "backups": append([]string{}, copies...)}, func() {
		for _, r := range back {
			c.Hang("", r.File)
			c.Hang("  - ", "tooldex")
			for _, name := range r.Servers {
				c.Hang("  + ", name)
			}
			if r.Whole {
				c.Say("    as it was before, byte for byte")
			}
		}
		if !yes {
			c.unwritten()
			return
		}
		c.Hang("", fmt.Sprintf("Written. Restart %s.", clients.Names[client]))
		for _, copied := range copies {
			c.Hang("", fmt.Sprintf("What was there is kept in %s.", copied))
		}
	})
}

// A restored file is what of a disconnection is printed as JSON.
type restored struct {
	File    string   `json:"file"`
	Servers []string `json:"servers"`
	Whole   bool     `json:"byte_for_byte"`
}
