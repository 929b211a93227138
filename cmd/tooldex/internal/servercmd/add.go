package servercmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/restcmd"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/settings"
)

const addHelp = `Add an MCP server to the configuration: a command after --, or an address; or,
with --openapi, a REST API. It is started, or connected to, and asked for its
tools first; a server that does not answer is not added unless --no-check says
so. The rest of the file stays as it is, and a copy of what was there is kept
beside it.

Write a secret as a variable, --env 'TOKEN=${MY_TOKEN}', and it stays out of the
file and of your shell's history.`

const addExample = `  tooldex add files -- npx -y @modelcontextprotocol/server-filesystem ~/documents
  tooldex add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y server-github
  tooldex add web https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  tooldex add billing --openapi ./billing.yaml`

// addFlags are the flags of add.
type addFlags struct {
	env, headers, tags []string
	cwd, kind          string
	openapi, baseURL   string
	noCheck            bool
	timeout            time.Duration
}

func (c entries) add() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{Use: "add NAME (URL | -- COMMAND [ARG…] | --openapi FILE|URL)", Short: "Add a server to the configuration", Long: addHelp, Example: addExample, Args: cobra.ArbitraryArgs}
	fs := cmd.Flags()
	fs.StringArrayVar(&f.env, "env", nil, "a `NAME=value` of its environment; can be repeated")
	fs.StringArrayVar(&f.headers, "header", nil, "a `Name: value` sent to an address; can be repeated")
	fs.StringSliceVar(&f.tags, "tag", nil, "a `tag` of its tools; can be repeated")
	fs.StringVar(&f.cwd, "cwd", "", "the `folder` that it runs in")
	fs.StringVar(&f.kind, "transport", "", "how an address is spoken to: http or sse (default: found out)")
	fs.StringVar(&f.openapi, "openapi", "", "the `document` of a REST API: a file or an address")
	fs.StringVar(&f.baseURL, "base-url", "", "with --openapi: the `address` that calls go to, in place of the document's")
	fs.BoolVar(&f.noCheck, "no-check", false, "add it without trying it")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "give up trying after this `time`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		describe := f.server
		if f.openapi != "" {
			describe = f.api
		}
		s, err := describe(cmd, args)
		if err != nil {
			return err
		}
		return c.runAdd(cmd, s, &f)
	}
	return cmd
}

// server is what the command line describes.
func (f *addFlags) server(cmd *cobra.Command, args []string) (s clients.Server, err error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return s, cli.Usagef(cmd, "name the server, then its address, or -- and its command")
	case dash > 1 || dash < 0 && len(args) > 2:
		return s, cli.Usagef(cmd, "put -- between the name and the command")
	case len(args) == 1:
		return s, cli.Usagef(cmd, "server %s: give its address, or -- and its command", args[0])
	}
	if err := config.CheckName(args[0]); err != nil {
		return s, cli.Usagef(cmd, "server %q: %w", args[0], err)
	}
	s = clients.Server{Name: args[0], Type: f.kind, Cwd: f.cwd, Tags: f.tags}
	if dash == 1 {
		s.Command, s.Args = args[1], args[2:]
	} else if s.URL = args[1]; !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") {
		return s, cli.Usagef(cmd, "%q is no http or https address; a command goes behind --", s.URL)
	}
	switch {
	case f.kind != "" && s.URL == "":
		return s, cli.Usagef(cmd, "--transport is for an address")
	case f.kind != "":
		if err := cli.OneOf(cmd, "transport", f.kind); err != nil {
			return s, err
		}
	case len(f.headers) > 0 && s.URL == "":
		return s, cli.Usagef(cmd, "--header is for an address; a command takes --env")
	case (len(f.env) > 0 || f.cwd != "") && s.URL != "":
		return s, cli.Usagef(cmd, "--env and --cwd are for a command; an address takes --header")
	}
	if s.Env, err = pairs(cmd, "env", f.env, "="); err == nil {
		s.Headers, err = pairs(cmd, "header", f.headers, ":")
	}
	return s, err
}

// api is the REST API that the command line describes.
func (f *addFlags) api(cmd *cobra.Command, args []string) (s clients.Server, err error) {
	if len(args) != 1 || len(f.env) > 0 || f.cwd != "" || f.kind != "" {
		return s, cli.Usagef(cmd, "--openapi goes with a name, --base-url, --header and --tag alone")
	}
	if err := config.CheckName(args[0]); err != nil {
		return s, cli.Usagef(cmd, "server %q: %w", args[0], err)
	}
	path, err := targetOf(cmd)
	if err != nil {
		return s, err
	}
	headers, err := pairs(cmd, "header", f.headers, ":")
	if err != nil {
		return s, err
	}
	origin := rest.Origin{Document: f.openapi, BaseURL: f.baseURL}
	if !f.noCheck {
		if _, err := restcmd.CheckUsable(cmd.Context(), origin); err != nil {
			return s, err
		}
	}
	s = clients.Server{Name: args[0], API: restcmd.Entry(origin, path)}
	if len(headers) > 0 {
		s.API["headers"] = headers
	}
	if len(f.tags) > 0 {
		s.API["tags"] = f.tags
	}
	return s, nil
}

// pairs reads NAME=value or Name: value. A wrong one is named up to its mark:
// the value may be a secret.
func pairs(cmd *cobra.Command, flag string, given []string, mark string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for i, pair := range given {
		name, value, ok := strings.Cut(pair, mark)
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, cli.Usagef(cmd, "--%s, the %d. of them: want a name, %q and a value", flag, i+1, mark)
		}
		if mark == ":" {
			name, value = http.CanonicalHeaderKey(name), strings.TrimSpace(value)
		}
		if _, twice := out[name]; twice {
			return nil, cli.Usagef(cmd, "--%s %s: given twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// An addition is what add says as JSON.
type addition struct {
	Config  string `json:"config"`
	Server  string `json:"server"`
	Checked bool   `json:"checked"`
	Tools   int    `json:"tools"`
	Backup  string `json:"backup,omitempty"`
	Login   bool   `json:"needs_login,omitempty"`
}

func (c entries) runAdd(cmd *cobra.Command, s clients.Server, f *addFlags) error {
	path, err := targetOf(cmd)
	if err != nil {
		return err
	}
	planned, err := config.Plan(path, insert(s))
	if err != nil {
		return mend(err)
	}
	if why := planned.After.DisabledReason(s.Name); why != "" {
		if !f.noCheck {
			return cli.Hint(fmt.Errorf("server %s: %s", s.Name, why), "nothing was added; --no-check adds it all the same")
		}
		c.Note("warning: it is added, and does not start yet: %s", why)
	}
	if s.IsTooldex(planned.After.Listen) {
		return fmt.Errorf("server %s: that is tooldex itself, which would call itself without end", s.Name)
	}
	out := addition{Config: path, Server: s.Name, Checked: !f.noCheck}
	if !f.noCheck {
		out.Tools, err = c.try(cmd, planned.After, s.Name, f.timeout)
		if errors.Is(err, upstream.ErrNeedsLogin) { // which it can be asked for once it is added
			out.Checked, out.Login, err = false, true, nil
		}
		if err != nil {
			return cli.Hint(err, "nothing was added; correct it, or add it all the same with --no-check")
		}
	}
	// The file is read again: trying takes a while.
	if _, out.Backup, err = config.Edit(path, insert(s)); err != nil {
		return mend(err)
	}
	return c.Result(out, func() {
		c.Hang("", fmt.Sprintf("added to %s: %s%s.", path, s.Name, has(out)))
		c.sayCopy(out.Backup)
		if out.Checked {
			c.Say("They are searchable now; a tooldex that is serving sees them by itself.")
			return
		}
		if out.Login {
			c.Say("It needs a login: \"tooldex auth login %s\", then", s.Name)
		}
		c.Say("\"tooldex reindex --server %s\" makes its tools searchable.", s.Name)
	})
}

// has says how many tools a server has, if that is known.
func has(a addition) string {
	if !a.Checked {
		return ""
	}
	return ", which has " + term.Plural(a.Tools, "tool")
}

// insert adds a server whose name is new.
func insert(s clients.Server) func(settings.Format, []byte) ([]byte, error) {
	return func(format settings.Format, text []byte) ([]byte, error) {
		have, err := clients.Have(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(have, func(o clients.Server) bool { return strings.EqualFold(o.Name, s.Name) }) {
			return nil, fmt.Errorf("server %s is there already: \"tooldex remove %s\" takes it out", s.Name, s.Name)
		}
		if i := slices.IndexFunc(have, s.Same); i >= 0 {
			return nil, fmt.Errorf("server %s is the same under another name", have[i].Name)
		}
		return clients.Append(format, text, []clients.Server{s})
	}
}

// try starts one server, stores what it lists, and counts it. Nobody sees what
// is stored before the configuration names the server; if it never does, it is
// forgotten as any other server that no configuration names.
func (c entries) try(cmd *cobra.Command, cfg *config.Config, name string, timeout time.Duration) (int, error) {
	e, err := c.Open(cmd, cfg, app.Options{Online: true, Servers: []string{name}}, true)
	if err != nil {
		return 0, err
	}
	own := commands(c)
	rows, err := own.relist(cmd.Context(), e, []string{name}, timeout)
	// Vectors of an endpoint take long and may fail: serving makes them.
	if err == nil && cfg.Embedding.Provider == embed.Builtin {
		err = own.awaitVectors(cmd.Context(), e, false)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return 0, err
	}
	if cmd.Context().Err() != nil {
		return 0, context.Canceled
	}
	row := rows[0]
	if row.Login {
		return 0, upstream.ErrNeedsLogin
	}
	if row.Error != "" {
		return 0, fmt.Errorf("server %s: %s", name, row.Error)
	}
	for _, w := range row.Warnings {
		c.Note("warning: %s", w)
	}
	return row.Tools, nil
}
