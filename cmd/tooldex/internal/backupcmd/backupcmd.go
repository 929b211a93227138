// Package backupcmd has the commands that write a state folder to a file and
// make one of it: backup and restore.
package backupcmd

import (
	"errors"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/backup"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.backup(), c.restore()}
}

const backupHelp = `Write what the state folder has that cannot be made again into one file: the
catalog with its phrases and counts, the hashes of tokens, and the virtual
servers made at run time. It may be done while tooldex serves. The file is there
whole or not at all; an older backup of that name is replaced, any other file is
not.

The configuration is a file of its own: keep it, too. Neither are in it the
audit, the key of the API, and logins at servers.`

const restoreHelp = `Make the state folder of a file that "tooldex backup" wrote. The file is checked
whole before anything is changed, and a folder that a tooldex uses is left alone:
end it first. One with something in it is replaced with --replace alone, and
then kept beside the new one, where its audit goes on.`

// A result is what the commands say as JSON.
type result struct {
	File  string    `json:"file"`
	State string    `json:"state"`
	Made  time.Time `json:"made"`
	Files int       `json:"files"`
	Bytes int64     `json:"bytes"`
	Aside string    `json:"aside,omitempty"` // where what was there is kept
}

func resultOf(m backup.Manifest, file, state string) result {
	return result{File: file, State: state, Made: m.Made, Files: len(m.Files), Bytes: m.Size()}
}

func (c commands) backup() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write the state folder to a file", Long: backupHelp, Args: cobra.ExactArgs(1),
		Example: "  tooldex backup /var/backups/tooldex.backup",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return err
		}
		m, err := backup.Write(cmd.Context(), cfg.State, args[0], c.Version)
		if err != nil {
			return err
		}
		r := resultOf(m, args[0], cfg.State)
		return c.Result(r, func() {
			c.Say("%s of %s, %s, written to %s", term.Plural(r.Files, "file"), r.State, humanize.IBytes(uint64(r.Bytes)), r.File)
		})
	}
	return cmd
}

func (c commands) restore() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Make the state folder of a backup", Long: restoreHelp, Args: cobra.ExactArgs(1),
		Example: "  tooldex restore /var/backups/tooldex.backup\n  tooldex restore /var/backups/tooldex.backup --state /srv/tooldex",
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a folder with something in it, and keep that beside it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := c.LoadConfig(cmd, true)
		if err != nil {
			return err
		}
		m, aside, err := backup.Restore(args[0], cfg.State, replace)
		switch {
		case errors.Is(err, backup.ErrUsed):
			return cli.Hint(err, "end it, which \"tooldex status\" names, and restore again; nothing was changed")
		case errors.Is(err, backup.ErrOccupied):
			return cli.Hint(err, "add --replace, which keeps what is there beside it, or name another folder with --state")
		case err != nil:
			return cli.Hint(err, "nothing was changed")
		}
		r := resultOf(m, args[0], cfg.State)
		r.Aside = aside
		return c.Result(r, func() {
			c.Say("%s of %s, from %s, are now %s", term.Plural(r.Files, "file"), r.Made.Local().Format(time.DateTime), r.File, r.State)
			if aside != "" {
				c.Say("what was there is in %s", aside)
			}
		})
	}
	return cmd
}
