package endpointcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/gateway/admin"
)

// scopeKeys are the keys of a scope that are flags, too, with what these say:
// include_tags is --include-tags.
var scopeKeys = map[string]string{
	"include_tags": "show tools with this `tag`", "exclude_tags": "no tools with this `tag`",
	"include_servers": "show tools of this `server`", "exclude_servers": "no tools of this `server`",
	"include_categories": "show tools of this `category`", "include_visibility": "show tools of this `visibility`",
	"include_teams": "show tools of this `team`", "name_patterns": "show tools whose name matches (`RE2`)",
	"exclude_name_patterns": "no tools whose name matches (`RE2`)",
}

// definitionFlags say what a virtual server is to be.
type definitionFlags struct {
	file     string
	surface  string
	template string
	readOnly bool
	enabled  bool
	scope    map[string]*[]string
}

// addScope adds the flags of a scope.
func (d *definitionFlags) addScope(cmd *cobra.Command) {
	d.scope = map[string]*[]string{}
	fs := cmd.Flags()
	fs.StringVar(&d.file, "file", "", "read the definition from this `file`; - is standard input")
	fs.StringVar(&d.template, "template", "", "scope by this `template` of the configuration, and by other flags")
	fs.BoolVar(&d.readOnly, "readonly", false, "show and run tools without effects alone")
	for key, usage := range scopeKeys {
		d.scope[key] = new([]string)
		fs.StringSliceVar(d.scope[key], strings.ReplaceAll(key, "_", "-"), nil, usage+"; can be repeated")
	}
}

// add adds all flags.
func (d *definitionFlags) add(cmd *cobra.Command) {
	d.addScope(cmd)
	cmd.Flags().StringVar(&d.surface, "surface", "", "its `set` of meta-tools (default meta)")
	cmd.Flags().BoolVar(&d.enabled, "enabled", true, "serve it")
}

// flagged is what of a definition the flags say; nothing if none is given.
func (d *definitionFlags) flagged(cmd *cobra.Command) map[string]any {
	out := map[string]any{}
	given := cmd.Flags().Changed
	if given("surface") {
		out["surface"] = d.surface
	}
	if given("readonly") {
		out["readonly"] = d.readOnly
	}
	if given("enabled") {
		out["enabled"] = d.enabled
	}
	rule := map[string]any{}
	for key, values := range d.scope {
		if given(strings.ReplaceAll(key, "_", "-")) {
			rule[key] = *values
		}
	}
	switch {
	case d.template != "" && len(rule) > 0:
		out["scope"] = []any{d.template, rule}
	case d.template != "":
		out["scope"] = d.template
	case len(rule) > 0:
		out["scope"] = rule
	}
	return out
}

// read is the definition that the file has, nil without one.
func (d *definitionFlags) read(in io.Reader) (map[string]any, error) {
	if d.file == "" {
		return nil, nil
	}
	text, err := io.ReadAll(in)
	if d.file != "-" {
		text, err = os.ReadFile(d.file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil || out == nil {
		if err == nil {
			err = errors.New("it is empty")
		}
		return nil, cli.Hint(fmt.Errorf("definition %s: %s", d.file, strings.TrimPrefix(err.Error(), "yaml: ")), "write an object, such as {\"scope\": {\"include_tags\": [\"finance\"]}}")
	}
	return out, nil
}

// definition is that of the file with what flags say over it.
func (d *definitionFlags) definition(cmd *cobra.Command, in io.Reader) (map[string]any, error) {
	out, err := d.read(in)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, d.flagged(cmd))
	return out, err
}

const createHelp = `Make a virtual server. Its definition is that of an entry of virtual_servers in
the configuration, or the object that POST /servers takes; flags stand over what
the file says. It is served at once by whoever serves from this state folder.`

func (c commands) create() *cobra.Command {
	var d definitionFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a virtual server", Long: createHelp, Args: cobra.MaximumNArgs(1),
		Example: "  tooldex servers create reports --include-servers quickbooks --exclude-tags experimental\n" +
			"  tooldex servers create finance-ai-tools --surface discover --template production\n  tooldex servers create --file finance.json",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	d.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := d.definition(cmd, c.In)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			body["name"] = args[0]
		}
		if body["name"] == nil {
			return cli.Usagef(cmd, "NAME is missing, and the file has none")
		}
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			var s admin.Server
			if _, err := a.do(ctx, request{method: "POST", path: "/servers", body: body}, &s); err != nil {
				return err
			}
			return c.Result(s, func() { c.sayMade(s, "made") })
		})
	}
	return cmd
}

func (c commands) sayMade(s admin.Server, done string) {
	c.Say("%s %s: %s, %d tools, %s", done, s.Name, s.Surface, s.Tools, s.URL)
	c.warn(s)
}

const editHelp = `Change a virtual server that was made with "tooldex servers create" or over the
API. With --file its whole definition is replaced; flags alone change what they
name, a scope as a whole. A change by somebody else meanwhile is an error, and
nothing is lost.`

func (c commands) edit() *cobra.Command {
	var d definitionFlags
	cmd := &cobra.Command{
		Use: "edit NAME", Short: "Change a virtual server", Long: editHelp, Args: cobra.ExactArgs(1),
		Example:           "  tooldex servers edit reports --surface discover\n  tooldex servers edit reports --include-servers quickbooks,billing\n  tooldex servers edit reports --file reports.yaml",
		ValidArgsFunction: c.CompleteEndpoints,
	}
	d.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := d.definition(cmd, c.In)
		if err != nil {
			return err
		}
		if len(body) == 0 && d.file == "" {
			return cli.Usagef(cmd, "nothing is to be changed: give --file, or flags such as --surface")
		}
		method := "PATCH"
		if d.file != "" {
			method = "PUT"
		}
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			version, err := a.do(ctx, request{method: "GET", path: serverPath(args[0])}, nil)
			if err != nil {
				return err
			}
			var s admin.Server
			if _, err := a.do(ctx, request{method, serverPath(args[0]), body, version}, &s); err != nil {
				return err
			}
			return c.Result(s, func() { c.sayMade(s, "changed") })
		})
	}
	return cmd
}

const deleteHelp = `Delete a virtual server that was made with "tooldex servers create" or over the
API. Its clients' sessions end.`

func (c commands) delete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a virtual server", Long: deleteHelp, Args: cobra.ExactArgs(1),
		Example: "  tooldex servers delete reports", ValidArgsFunction: c.CompleteEndpoints,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			if _, err := a.do(ctx, request{method: "DELETE", path: serverPath(args[0]), version: "*"}, nil); err != nil {
				return err
			}
			return c.Result(map[string]string{"deleted": args[0]}, func() { c.Say("deleted %s", args[0]) })
		})
	}
	return cmd
}

const previewHelp = `Show which tools a scope would let through, and which it would not with the rule
that takes each of them away. Nothing is kept.`

func (c commands) preview() *cobra.Command {
	var d definitionFlags
	cmd := &cobra.Command{
		Use: "preview", Short: "Show what a scope would let through", Long: previewHelp, Args: cobra.NoArgs,
		Example: "  tooldex servers preview --include-tags finance --exclude-tags experimental\n  tooldex servers preview --template production\n  tooldex servers preview --file finance.json",
	}
	d.addScope(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := d.definition(cmd, c.In)
		if err != nil {
			return err
		}
		return c.connected(cmd, func(ctx context.Context, a *client) error {
			return c.showTools(ctx, a, request{method: "POST", path: "/scopes/preview", body: body}, true)
		})
	}
	return cmd
}
