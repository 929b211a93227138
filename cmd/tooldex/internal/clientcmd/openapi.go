package clientcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/restcmd"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/internal/clients"
	"github.com/tooldex/tooldex/internal/config"
)

// An openAPI is the REST API that the flags of import describe.
type openAPI struct {
	name   string
	origin rest.Origin
}

// flagNames are flags by name.
type flagNames []string

func (names flagNames) used(cmd *cobra.Command) bool {
	return slices.ContainsFunc(names, cmd.Flags().Changed)
}

// apiFlags adds the flags for a REST API and returns their names.
func apiFlags(fs *pflag.FlagSet, api *openAPI) (names flagNames) {
	own := pflag.NewFlagSet("openapi", pflag.ContinueOnError)
	own.StringVar(&api.origin.Document, "openapi", "", "take over the REST API that this `document` describes: a file or an address")
	own.StringVar(&api.name, "name", "", "with --openapi: the `name` of the entry")
	restcmd.Choose(own, &api.origin)
	own.VisitAll(func(f *pflag.Flag) {
		if f.Name != "openapi" && f.Name != "name" {
			f.Usage = "with --openapi: " + f.Usage
		}
		names = append(names, f.Name)
	})
	fs.AddFlagSet(own)
	return names
}

// An importedAPI is what import --openapi says as JSON.
type importedAPI struct {
	Config   string          `json:"config"`
	Server   string          `json:"server"`
	Document restcmd.Checked `json:"document"`
	Backup   string          `json:"backup"`
}

// importAPI writes an entry for the REST API that a document describes.
func (c commands) importAPI(cmd *cobra.Command, api *openAPI) error {
	name, o := api.name, api.origin
	switch {
	case o.Document == "":
		return cli.Usagef(cmd, "a REST API is taken over with --openapi FILE|URL and --name NAME")
	case name == "":
		return cli.Usagef(cmd, "--openapi: give the entry a name with --name")
	case flagNames{"client", "from", "project", "update", "undo"}.used(cmd):
		return cli.Usagef(cmd, "--openapi takes over one REST API and goes with no flag for clients' files")
	}
	if err := config.CheckName(name); err != nil {
		return cli.Usagef(cmd, "--name %q: %w", name, err)
	}
	t, err := importTarget(cmd)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.have, func(s clients.Server) bool { return strings.EqualFold(s.Name, name) }) {
		return cli.Hint(fmt.Errorf("server %s is there already", name), "give another --name, or \"tooldex remove %s\" first", name)
	}
	d, err := restcmd.CheckUsable(cmd.Context(), o)
	if err != nil {
		return err
	}
	backup, err := clients.Write(t.file, []clients.Server{{Name: name, API: restcmd.Entry(o, t.path)}}, nil)
	if err != nil {
		return cli.Hint(fmt.Errorf("write %s: %w", t.path, err), "choose another file with --config")
	}
	return c.Result(importedAPI{t.path, name, d, backup}, func() {
		d.Show(c.Terminal)
		c.Hang("", fmt.Sprintf("Written to %s: %s. \"tooldex reindex --server %s\" makes its tools searchable.", t.path, name, name))
		if backup != "" {
			c.Say("What was there is kept in %s.", backup)
		}
		if len(d.Credentials) > 0 {
			c.Note("note: give the API's credentials in auth of rest.%s", name)
		}
	})
}
