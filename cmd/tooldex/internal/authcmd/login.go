package authcmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/keep"
	"github.com/tooldex/tooldex/internal/logins"
)

const loginHelp = `Log in at a server that wants an OAuth token: tooldex finds out who gives it,
registers itself there if nobody gave it a client, opens the address at which
you say yes in your browser, and waits for the browser to come back to this
machine. The tokens are kept encrypted in the state folder, where every tooldex
of this configuration finds them at once and one of them refreshes them.

The address is printed, too. With --no-browser it is only printed: open it in a
browser of this machine or of another one. A browser elsewhere cannot come back:
paste the address at which it ends, which it cannot load.`

// logins is where logins of this configuration are kept.
func (c commands) logins(cmd *cobra.Command) (*config.Config, *keep.Keeper, error) {
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return nil, nil, err
	}
	return cfg, logins.Keeper(cfg, ""), nil
}

func (c commands) login() *cobra.Command {
	var scopes []string
	var timeout time.Duration
	var quiet bool
	cmd := &cobra.Command{
		Use: "login SERVER", Short: "Log in at a server that wants it", Args: cobra.ExactArgs(1), Long: loginHelp,
		Example: "  tooldex auth login notion\n  tooldex auth login notion --no-browser --scope read,write",
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&scopes, "scope", nil, "ask for this `scope` in place of those that the server names; repeat it for more")
	fs.DurationVar(&timeout, "timeout", 5*time.Minute, "how `long` to wait for the browser")
	// Which scopes there are knows the server alone.
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.NoFileCompletions)
	fs.BoolVar(&quiet, "no-browser", false, "only print the address")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, kept, err := c.logins(cmd)
		if err != nil {
			return err
		}
		source, err := logins.At(cfg, kept, args[0])
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		_, err = source.Login(ctx, scopes, func(address string, ended func(string) error) {
			c.Note("open this address to log in at server %s:", args[0])
			fmt.Fprintln(c.Err, address) // by itself, to be copied whole
			if quiet || browse(address) != nil {
				c.Note("a browser on another machine ends at an address that it cannot load: paste that here")
				go c.paste(cmd.InOrStdin(), ended)
			}
		})
		if err != nil {
			return fmt.Errorf("log in at server %s: %w", args[0], err)
		}
		st := c.stateOf(cfg, kept, args[0])
		return c.Result(st, func() { c.Say("logged in at server %s, through %s%s", st.Server, st.Issuer, c.lasting(st)) })
	}
	return cmd
}

// paste hands on lines until one is where the browser ended.
func (c commands) paste(in io.Reader, ended func(string) error) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		err := ended(lines.Text())
		if err == nil {
			return
		}
		c.Note("%v", err)
	}
}

// stateOf is how it stands with one server.
func (c commands) stateOf(cfg *config.Config, kept *keep.Keeper, server string) logins.State {
	for _, st := range logins.States(cfg, kept) {
		if st.Server == server {
			return st
		}
	}
	return logins.State{Server: server}
}

// lasting says how long a login lasts.
func (c commands) lasting(st logins.State) string {
	switch {
	case st.Renews:
		return "; it is refreshed without you"
	case st.Expires.IsZero():
		return ""
	}
	return "; it holds until " + st.Expires.Local().Format("2006-01-02 15:04") + ", and cannot be refreshed"
}

// browse opens an address in the browser of whoever sits here. The address is
// one of http or https: the metadata that it is of were checked for that.
func browse(address string) error {
	program := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		program[0] = "open"
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(program[0], program[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // the browser is its user's from here on
	return nil
}

func (c commands) logout() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout SERVER", Short: "Forget a login", Args: cobra.ExactArgs(1), Example: "  tooldex auth logout notion",
		Long: "Forget the login to a server, and have its tokens taken back by who gave them,\nwhere that is offered. Every tooldex that serves notices with its next request.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, kept, err := c.logins(cmd)
		if err != nil {
			return err
		}
		source, err := logins.At(cfg, kept, args[0])
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
		defer cancel()
		was, left, err := source.Logout(ctx)
		if err != nil {
			return err
		}
		said := map[string]any{"server": args[0], "was_logged_in": was, "revoked": was && left == nil}
		return c.Result(said, func() {
			switch {
			case !was:
				c.Say("nobody was logged in at server %s", args[0])
			case left != nil:
				c.Say("logged out of server %s", args[0])
				c.Note("its tokens were not taken back: %v", left)
			default:
				c.Say("logged out of server %s; its tokens were taken back", args[0])
			}
		})
	}
	return cmd
}

func (c commands) loginStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show who is logged in where", Args: cobra.NoArgs, Example: "  tooldex auth status",
		Long: "Show the servers that take a login, how it stands with each, and where the key\nis by which logins are encrypted. No server is asked.",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, kept, err := c.logins(cmd)
		if err != nil {
			return err
		}
		states, key := logins.States(cfg, kept), ""
		if kept != nil {
			key = kept.Where()
		}
		return c.Result(map[string]any{"servers": states, "key": key}, func() { c.showLogins(states, key) })
	}
	return cmd
}

func (c commands) showLogins(states []logins.State, key string) {
	g := term.NewGrid("server", "state", "through", "scopes", "token until", "note")
	for _, st := range states {
		until := ""
		if !st.Expires.IsZero() {
			until = st.Expires.Local().Format("2006-01-02 15:04")
		}
		if st.Renews {
			until = strings.TrimSpace(until + " (refreshed)")
		}
		note := st.Why
		if len(st.Wanted) > 0 {
			note = "the server asks for " + strings.Join(st.Wanted, " ") + ", too"
		}
		if note != "" || st.State == "needs a login" {
			note += ": tooldex auth login " + st.Server
		}
		g.Add(st.Server, st.State, st.Issuer, strings.Join(st.Scopes, " "), until, note)
	}
	c.ShowRows(g, "no server takes a login")
	if key != "" {
		c.Note("the key of the logins is in %s", key)
	}
}
