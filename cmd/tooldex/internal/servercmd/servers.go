package servercmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/settings"
)

const removeHelp = `Take servers out of the configuration, all of them or none. The rest of the file
stays as it is, and a copy of what was there is kept beside it.`

const switchHelp = `Write servers into the configuration as disabled, or no longer so. A disabled
server keeps its entry; nothing starts it and its tools are not found.`

// A change is a command that changes the entries of servers.
type change struct {
	cobra.Command
	done string // what was done to a server
	edit func(format settings.Format, text []byte, entry ...string) ([]byte, error)
}

func (c entries) remove() *cobra.Command {
	return c.changes(&change{
		Command: cobra.Command{
			Use: "remove SERVER…", Short: "Take servers out of the configuration", Long: removeHelp,
			Example: "  tooldex remove github\n  tooldex remove github files --config ./tooldex.yaml",
		},
		done: "removed",
		edit: func(format settings.Format, text []byte, entry ...string) ([]byte, error) {
			return settings.Remove(format, text, entry...)
		},
	})
}

func (c entries) disable() *cobra.Command {
	return c.changes(&change{
		Command: cobra.Command{
			Use: "disable SERVER…", Short: "Stop using servers, and keep their entries", Long: switchHelp,
			Example: "  tooldex disable github",
		},
		done: "disabled",
		edit: func(format settings.Format, text []byte, entry ...string) ([]byte, error) {
			return settings.Set(format, text, true, append(entry, "disabled")...)
		},
	})
}

func (c entries) enable() *cobra.Command {
	return c.changes(&change{
		Command: cobra.Command{
			Use: "enable SERVER…", Short: "Use servers that are disabled again", Long: switchHelp,
			Example: "  tooldex enable github",
		},
		done: "enabled",
		edit: func(format settings.Format, text []byte, entry ...string) ([]byte, error) {
			return settings.Remove(format, text, append(entry, "disabled")...)
		},
	})
}

func (c entries) changes(x *change) *cobra.Command {
	cmd := &x.Command
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.ValidArgsFunction = completeEntries
	cmd.RunE = func(cmd *cobra.Command, names []string) error { return c.runChange(cmd, x, names) }
	return cmd
}

// A changed is what of change is printed as JSON.
type changed struct {
	Config  string   `json:"config"`
	Servers []string `json:"servers"`
	Done    string   `json:"done"`
	Backup  string   `json:"backup,omitempty"`
}

func (c entries) runChange(cmd *cobra.Command, x *change, names []string) error {
	path, err := targetOf(cmd)
	if err != nil {
		return err
	}
	after, copied, err := config.Edit(path, func(format settings.Format, text []byte) (_ []byte, err error) {
		have, err := clients.Have(text)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			i := slices.IndexFunc(have, func(s clients.Server) bool { return s.Name == name })
			if i < 0 {
				return nil, unknownServer(name, have)
			}
			if text, err = x.edit(format, text, have[i].Section(), name); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
	if err != nil {
		return mend(err)
	}
	return c.Result(changed{path, names, x.done, copied}, func() {
		c.Hang("", fmt.Sprintf("%s in %s: %s.", x.done, path, strings.Join(names, ", ")))
		c.sayCopy(copied)
		for _, name := range names {
			if why := after.DisabledReason(name); why != "" && x.done == "enabled" {
				c.Note("warning: %s is still disabled: %s", name, why)
			}
		}
		if x.done == "removed" {
			c.Say("\"tooldex reindex --prune\" forgets what is stored of it.")
		}
	})
}

func (c entries) sayCopy(copied string) {
	if copied != "" {
		c.Hang("", fmt.Sprintf("What was there is kept in %s.", copied))
	}
}

// mend adds to an error of changing the configuration what to do.
func mend(err error) error {
	return cli.Hint(err, "nothing was changed; mend what is named, or see \"tooldex doctor\"")
}

// targetOf is the configuration file that cmd changes.
func targetOf(cmd *cobra.Command) (string, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return "", err
	}
	return config.Target(path)
}

// unknownServer names the nearest of the servers that there are.
func unknownServer(name string, have []clients.Server) error {
	if len(have) == 0 {
		return fmt.Errorf("server %q: the configuration names no server", name)
	}
	var names []string
	for _, s := range have {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	near := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
	if levenshtein.ComputeDistance(name, near) <= max(2, len(name)/3) {
		return fmt.Errorf("server %q: not in the configuration; did you mean %s?", name, near)
	}
	return fmt.Errorf("server %q: not in the configuration; it has %s", name, strings.Join(names, ", "))
}

// completeEntries completes the servers of the configuration.
func completeEntries(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path, err := targetOf(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	f, err := settings.Read(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	have, err := clients.Have(f.Text)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []cobra.Completion
	for _, s := range have {
		if strings.HasPrefix(s.Name, typed) && !slices.Contains(args, s.Name) {
			out = append(out, term.Flat(s.Name))
		}
	}
	slices.Sort(out)
	return out, cobra.ShellCompDirectiveNoFileComp
}
