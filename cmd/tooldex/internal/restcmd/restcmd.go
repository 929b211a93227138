// Package restcmd has the commands about REST APIs: rest check.
package restcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway/upstream/rest"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

type commands struct{ *cli.CLI }

// Commands are the commands of this package.
func Commands(shared *cli.CLI) []*cobra.Command {
	c := commands{shared}
	parent := &cobra.Command{Use: "rest", Short: "Look at the description of a REST API", Long: restHelp, Example: "  tooldex rest check ./billing.yaml"}
	return []*cobra.Command{cli.Group(parent, c.check())}
}

const restHelp = `Tools of REST APIs come from their OpenAPI documents. "rest check" says what a
document would give.`

const checkHelp = `Read an OpenAPI document (3.0, 3.1 or Swagger 2.0; JSON or YAML; a file or an
address) and say what tooldex would make of it: every operation with its tool's
name and size, what is left out and why, names that clash, and what is wrong
with the document. Nothing is stored and no operation is called.`

const checkExample = `  tooldex rest check ./billing.yaml
  tooldex rest check https://api.example.com/openapi.json --tag invoices
  tooldex rest check ./billing.yaml --json`

func (c commands) check() *cobra.Command {
	var o rest.Origin
	cmd := &cobra.Command{
		Use: "check FILE|URL", Short: "Say what tools an OpenAPI document gives", Long: checkHelp, Example: checkExample,
		Args: cobra.ExactArgs(1),
	}
	Choose(cmd.Flags(), &o)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Document = args[0]
		d, err := Check(cmd.Context(), o)
		if err != nil {
			return err
		}
		return c.Result(d, func() {
			c.showOperations(d)
			d.Show(c.Terminal)
		})
	}
	return cmd
}

// Choose adds the flags that say what of a document is wanted.
func Choose(flags *pflag.FlagSet, o *rest.Origin) {
	flags.StringSliceVar(&o.Include.Tags, "tag", nil, "only operations with this `tag`; can be repeated")
	flags.StringSliceVar(&o.Include.Paths, "path", nil, "only paths like this `pattern`: * is anything within a step, ** anything; can be repeated")
	flags.StringSliceVar(&o.Include.Methods, "method", nil, "only this `method`; can be repeated")
	flags.StringSliceVar(&o.Include.Operations, "operation", nil, "only operations with an id like this `pattern`; can be repeated")
	flags.StringSliceVar(&o.Hosts, "host", nil, "another `host` that operations may go to; can be repeated")
	flags.StringVar(&o.BaseURL, "base-url", "", "the `address` that calls go to, in place of the document's")
	flags.BoolVar(&o.RemoteRefs, "allow-remote-refs", false, "read documents at other addresses that this one refers to")
}

// A row is one operation.
type row struct {
	Operation  string `json:"operation"`
	ID         string `json:"operation_id,omitempty"`
	Tool       string `json:"tool"`
	Bytes      int    `json:"bytes"` // of the tool object
	Deprecated bool   `json:"deprecated,omitempty"`
}

// Checked is what a document would give.
type Checked struct {
	Document   string            `json:"document"`
	Version    string            `json:"version"`
	Title      string            `json:"title"`
	Base       string            `json:"base"`
	Seconds    float64           `json:"seconds"`
	Operations []row             `json:"operations"`
	Excluded   int               `json:"excluded"`
	Skipped    []openapi.Skipped `json:"skipped"`
	Renamed    []string          `json:"renamed"`
	Warnings   []string          `json:"warnings"`
	Bytes      int               `json:"bytes"` // of all tool objects
	// Credentials are the ways to prove who calls that the document names.
	Credentials []string `json:"credentials"`
}

// Check reads a document.
func Check(ctx context.Context, o rest.Origin) (Checked, error) {
	began := time.Now()
	d, err := rest.Read(ctx, o)
	if err != nil {
		return Checked{}, cli.Hint(err, "give the path or the address of an OpenAPI 3.0, 3.1 or Swagger 2.0 document, in JSON or YAML")
	}
	out := Checked{
		Document: o.Document, Version: d.Version, Title: d.Title, Base: d.Base, Seconds: time.Since(began).Seconds(), Operations: []row{},
		Excluded: d.Excluded, Skipped: append([]openapi.Skipped{}, d.Skipped...),
		Renamed: append([]string{}, d.Renamed...), Warnings: append([]string{}, d.Warnings...), Credentials: append([]string{}, d.Credentials...),
	}
	for _, op := range d.Operations {
		out.Operations = append(out.Operations, row{op.Method + " " + op.Path, op.ID, op.Name, len(op.Tool), op.Deprecated})
		out.Bytes += len(op.Tool)
	}
	return out, nil
}

func (c commands) showOperations(d Checked) {
	g := &term.Grid{Head: []string{"TOOL", "BYTES", "OPERATION"}, Numbers: []int{1}}
	for _, op := range d.Operations {
		name := op.Operation
		if op.Deprecated {
			name += " (deprecated)"
		}
		g.Add(op.Tool, fmt.Sprint(op.Bytes), name)
	}
	c.ShowRows(g, "no operations")
	c.Say("")
}

// Show tells all but the operations.
func (d Checked) Show(t *term.Terminal) {
	t.Say("%s (%s), calls go to %s", term.Visible(orNothing(d.Title)), d.Version, term.Visible(orNothing(d.Base)))
	said := []string{term.Plural(len(d.Operations), "tool") + ", " + humanize.IBytes(uint64(d.Bytes))}
	if n := len(d.Skipped); n > 0 {
		said = append(said, term.Plural(n, "operation")+" skipped")
	}
	if d.Excluded > 0 {
		said = append(said, term.Plural(d.Excluded, "operation")+" not selected")
	}
	t.Say("%s; read in %.1f s", strings.Join(said, ", "), d.Seconds)
	for _, s := range d.Skipped {
		t.Say("skipped: %s: %s", term.Visible(s.Operation), term.Visible(s.Why))
	}
	list(t, "credentials", d.Credentials)
	list(t, "renamed", d.Renamed)
	list(t, "warning", d.Warnings)
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

// maxSaid bounds the lines of one kind.
const maxSaid = 30

func list(t *term.Terminal, what string, lines []string) {
	for i, line := range lines {
		if i == maxSaid {
			t.Say("%s: and %d more; --json has all", what, len(lines)-i)
			return
		}
		t.Say("%s: %s", what, term.Visible(line))
	}
}
