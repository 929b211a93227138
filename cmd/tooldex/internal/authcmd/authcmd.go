// Package authcmd has the commands about who may call (auth token new, list and
// revoke, auth explain) and at which servers somebody has logged in (auth login,
// logout and status).
package authcmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway/auth"
	"github.com/tooldex/tooldex/internal/app/access"
	"github.com/tooldex/tooldex/internal/config"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{cli.Group(&cobra.Command{
		Use: "auth", Short: "Log in at servers; manage tokens, and say who may see and run what",
		Long:    "Who calls is found out by a bearer token, a client's certificate, or over stdio\nby the user of the process. What they may do say the grants of the\nconfiguration's section auth; what these do not give, nobody has.\n\nlogin, logout and status are of the other side: servers that want to know who\nyou are.",
		Example: "  tooldex auth login notion\n  tooldex auth token new ci-bot --team platform\n  tooldex auth explain token:ci-bot",
	}, cli.Group(&cobra.Command{
		Use: "token", Short: "Make, list and revoke static tokens",
		Example: "  tooldex auth token new ci-bot\n  tooldex auth token list\n  tooldex auth token revoke ci-bot",
	}, c.newToken(), c.listTokens(), c.revokeToken()), c.explain(), c.login(), c.logout(), c.loginStatus())}
}

// file is where tokens of this configuration are kept.
func (c commands) file(cmd *cobra.Command) (*config.Config, *auth.TokenFile, error) {
	cfg, err := c.LoadConfig(cmd, false)
	if err != nil {
		return nil, nil, err
	}
	file, err := access.TokenFile(cfg)
	return cfg, file, err
}

// made is what a new token is for people and machines.
type made struct {
	Principal string    `json:"principal"`
	Token     string    `json:"token"`
	Hash      string    `json:"hash"`
	Teams     []string  `json:"teams,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

func (c commands) newToken() *cobra.Command {
	var teams []string
	var expires time.Duration
	var printed bool
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a token", Args: cobra.ExactArgs(1),
		Long:    "Make a token and print it, this once: only its hash is kept, in the state\nfolder. It holds at once, in every process that serves. Its principal is\ntoken:NAME, which may do what grants give to that name or to its teams.",
		Example: "  tooldex auth token new ci-bot --team platform --expires 2160h\n  tooldex auth token new ci-bot --print",
	}
	cmd.Flags().StringSliceVar(&teams, "team", nil, "a `team` of the principal; repeat it for more")
	cmd.Flags().DurationVar(&expires, "expires", 0, "how `long` the token holds, such as 720h; 0 means until it is revoked")
	cmd.Flags().BoolVar(&printed, "print", false, "keep nothing, but print the lines for the configuration")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if err := auth.CheckTokenName(name); err != nil {
			return cli.WrongUsage(cmd, err)
		}
		if expires < 0 || expires > 0 && printed {
			return cli.Usagef(cmd, "--expires %v: want a time above 0, without --print, as tokens of the configuration hold until they are taken out", expires)
		}
		cfg, file, err := c.file(cmd)
		if err != nil {
			return err
		}
		if _, ok := cfg.Auth.Tokens[name]; ok {
			return fmt.Errorf("auth.tokens of %s has a token %q already; choose another name", cfg.Path, name)
		}
		m := made{Principal: "token:" + name, Token: auth.NewSecret(), Teams: teams}
		m.Hash = auth.HashToken(m.Token)
		kept := auth.Token{Hash: m.Hash, Teams: teams, Created: time.Now().UTC().Truncate(time.Second)}
		if expires > 0 {
			kept.Expires = kept.Created.Add(expires)
			m.Expires = kept.Expires
		}
		if !printed {
			if err := file.Add(name, kept); err != nil {
				return err
			}
		}
		return c.Result(m, func() { c.showMade(cfg, name, m, printed) })
	}
	return cmd
}

func (c commands) showMade(cfg *config.Config, name string, m made, printed bool) {
	c.Say("%s", m.Token)
	c.Note("the token of %s; it is not shown again", m.Principal)
	if printed {
		c.Note("for auth.tokens of the configuration:")
		c.Note("  %s: {hash: %q, teams: [%s]}", name, m.Hash, strings.Join(m.Teams, ", "))
	}
	if !cfg.Auth.Enabled {
		c.Note("warning: %s has no section auth, so nobody is asked for a token", cfg.Path)
	}
}

// A row is a token as list shows it.
type row struct {
	Principal string    `json:"principal"`
	Teams     []string  `json:"teams,omitempty"`
	Created   time.Time `json:"created,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	From      string    `json:"from"` // configuration or state
}

func (c commands) listTokens() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens", Args: cobra.NoArgs, Example: "  tooldex auth token list",
		Long: "List the static tokens by name: those of the configuration and those that were\nmade by \"tooldex auth token new\". The tokens themselves are not kept.",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, file, err := c.file(cmd)
		if err != nil {
			return err
		}
		stored, err := file.List()
		if err != nil {
			return err
		}
		rows := []row{}
		for _, name := range slices.Sorted(maps.Keys(cfg.Auth.Tokens)) {
			rows = append(rows, row{Principal: "token:" + name, Teams: cfg.Auth.Tokens[name].Teams, From: "configuration"})
			delete(stored, name)
		}
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			t := stored[name]
			rows = append(rows, row{"token:" + name, t.Teams, t.Created, t.Expires, "state"})
		}
		return c.Result(rows, func() { c.showTokens(rows) })
	}
	return cmd
}

func (c commands) showTokens(rows []row) {
	g := term.NewGrid("principal", "teams", "made", "expires", "kept in")
	day := func(t time.Time, none string) string {
		if t.IsZero() {
			return none
		}
		return t.Local().Format("2006-01-02 15:04")
	}
	for _, r := range rows {
		expires := day(r.Expires, "never")
		if !r.Expires.IsZero() && time.Now().After(r.Expires) {
			expires += ", over"
		}
		g.Add(r.Principal, strings.Join(r.Teams, " "), day(r.Created, ""), expires, r.From)
	}
	c.ShowRows(g, "no tokens")
}

func (c commands) revokeToken() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a token", Args: cobra.ExactArgs(1), Example: "  tooldex auth token revoke ci-bot",
		Long: "Revoke a token that \"tooldex auth token new\" made. It is refused at once by\nevery process that serves, and its sessions and streams end within a second or\ntwo.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := strings.TrimPrefix(args[0], "token:")
		cfg, file, err := c.file(cmd)
		if err != nil {
			return err
		}
		if _, ok := cfg.Auth.Tokens[name]; ok {
			return fmt.Errorf("token %q is of %s; take it out of auth.tokens there, which holds at once", name, cfg.Path)
		}
		if err := file.Revoke(name); err != nil {
			return cli.Hint(err, "\"tooldex auth token list\" shows those there are")
		}
		return c.Result(map[string]string{"revoked": "token:" + name}, func() { c.Say("token:%s revoked", name) })
	}
	return cmd
}

// errOff is why there is nothing to explain.
var errOff = errors.New("there is no section auth: whoever reaches the gateway is its operator, and sees and runs what the endpoint shows")
