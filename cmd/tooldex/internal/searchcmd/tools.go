package searchcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
)

const toolsHelp = `List the tools of the state folder, show one of them, or count them by category.
No server is started.`

const listHelp = `List all tools by page, sorted and filtered, as list_tools does.`

const listExample = `  tooldex tools list
  tooldex tools list --server files --page-size 50
  tooldex tools list --sort execution_count --desc --json`

const showHelp = `Show everything known of one tool: its description, parameters, examples,
metrics, and the tools most like it. Where the configuration overrides what the
server says, the original is shown beside it. --raw prints the tool object as
the server sent it.`

const showExample = `  tooldex tools show files/read_text_file
  tooldex tools show convert_units --json
  tooldex tools show files/move_file --raw`

func (c commands) tools() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "tools", Short: "List tools, or show one", Long: toolsHelp,
		Example: "  tooldex tools list\n  tooldex tools show files/read_text_file\n  tooldex tools categories",
	}, c.toolsList(), c.toolsShow(), c.toolsCategories())
}

func (c commands) toolsList() *cobra.Command {
	var f filterFlags
	var r gateway.ListRequest
	var sort string
	cmd := &cobra.Command{Use: "list", Short: "List all tools", Long: listHelp, Example: listExample, Args: cobra.NoArgs}
	f.add(cmd)
	fs := cmd.Flags()
	fs.IntVar(&r.Page, "page", 1, "`number` of the page")
	fs.IntVar(&r.Size, "page-size", 20, "tools a page, at most 100")
	fs.IntVar(&r.Size, "limit", 20, "the same as --page-size")
	fs.StringVar(&sort, "sort", "name", "sort by name, created_at, execution_count, success_rate or category")
	fs.BoolVar(&r.Descending, "desc", false, "last first")
	fs.BoolVar(&r.Schemas, "schemas", false, "with --json: include the tools' schemas")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case cmd.Flags().Changed("limit") && cmd.Flags().Changed("page-size"):
			return cli.Usagef(cmd, "--limit and --page-size: want one of them")
		case r.Page < 1:
			return cli.Usagef(cmd, "--page %d: want 1 or more", r.Page)
		case r.Size < 1 || r.Size > maxPage:
			flag := "page-size"
			if cmd.Flags().Changed("limit") {
				flag = "limit"
			}
			return cli.Usagef(cmd, "--%s %d: want 1 to %d", flag, r.Size, maxPage)
		case !slices.Contains(cli.Sorts, sort):
			return cli.OneOf(cmd, "sort", sort)
		}
		r.Sort, r.Filter = index.SortKey(sort), f.filter()
		r.Metrics = r.Sort == index.ByExecutionCount || r.Sort == index.BySuccessRate
		return c.Offline(cmd, func(ctx context.Context, e *app.Engine) error {
			res, err := e.Gateway.List(ctx, view.View{}, r)
			if err != nil {
				return cli.Told(err)
			}
			return c.Answer(meta.Listed(res, r), func() { c.showList(&res) })
		})
	}
	return cmd
}

// maxPage is how many tools a page may have.
const maxPage = 100

func (c commands) showList(res *gateway.ListResult) {
	g := &term.Grid{Head: []string{"tool", "category", "description"}}
	for _, t := range res.Tools {
		g.Add(row(t.Hit)...)
	}
	c.ShowRows(g, "No tool found.")
	if res.Pages > 1 {
		c.Note("page %d of %d, %s; --page turns it", res.Page, res.Pages, term.Plural(res.Total, "tool"))
	}
	c.Advise(res.Next)
}

func (c commands) toolsCategories() *cobra.Command {
	return &cobra.Command{
		Use: "categories", Short: "Count tools by category, tag and server", Args: cobra.NoArgs,
		Example: "  tooldex tools categories\n  tooldex tools categories --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.Offline(cmd, func(ctx context.Context, e *app.Engine) error {
				if err := turnedOff(e, meta.CategoriesTool); err != nil {
					return err
				}
				res, err := e.Gateway.Categories(ctx, view.View{}, gateway.CategoriesRequest{})
				if err != nil {
					return cli.Told(err)
				}
				return c.Answer(meta.Counted(res, true, true), func() { c.showCategories(&res) })
			})
		},
	}
}

func (c commands) showCategories(res *gateway.CategoriesResult) {
	for i, part := range []struct {
		head string
		rows []index.CategoryCount
	}{{"category", res.Categories}, {"tag", res.Tags}, {"server", res.Servers}} {
		if len(part.rows) == 0 {
			continue
		}
		if i > 0 {
			c.Say("")
		}
		g := &term.Grid{Head: []string{"tools", part.head, ""}, Numbers: []int{0}}
		for _, c := range part.rows {
			g.Add(fmt.Sprint(c.Count), c.Name, c.Description)
		}
		c.Show(g)
	}
}

func (c commands) toolsShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use: "show TOOL", Short: "Show everything known of one tool", Long: showHelp, Example: showExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.CompleteTools,
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the tool object as the server sent it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Offline(cmd, func(ctx context.Context, e *app.Engine) error {
			r := gateway.DescribeRequest{Name: args[0], Similar: gateway.DefaultSimilar}
			setting, off := app.TurnedOff(e.Config)[meta.SimilarTool]
			if off {
				r.Similar = 0
			}
			d, err := e.Gateway.Describe(ctx, view.View{}, r)
			if err != nil {
				return cli.Told(err)
			}
			if off {
				d.Omitted = meta.TurnedOff(setting)
			}
			sent, err := e.Index.Raw(d.ID)
			if err != nil || raw {
				return c.SayRaw(sent, err)
			}
			original, err := index.Decode(d.Tool.Server, sent)
			if err != nil {
				return err
			}
			phrases, _ := e.Index.Phrases().Of(d.ID)
			if c.JSON {
				return c.SayRaw(withPhrases(meta.Described(d, true, true, `; --raw prints it`), phrases.Phrases))
			}
			c.showTool(&d, &original)
			c.showPhrases(phrases)
			return nil
		})
	}
	return cmd
}

func (c commands) showTool(d *gateway.Description, original *index.Tool) {
	c.showHead(d, original)
	c.showParameters("Parameters", d.Input)
	c.showParameters("Result", d.Output)
	for i, x := range d.Tool.Examples {
		if i == 0 {
			c.Say("\nExamples")
		}
		if x.Description != "" {
			c.Hang("  ", x.Description+":")
		}
		c.Hang("  ", string(x.Arguments))
	}
	if len(d.Similar) > 0 || d.Omitted != "" {
		c.Say("\nSimilar tools")
		if d.Omitted != "" {
			c.Hang("  ", d.Omitted)
		}
		for _, n := range d.Similar {
			c.Say("  %s", term.Flat(words.ToolName(n.Tool.Server, n.Tool.Name)))
		}
	}
}

func (c commands) showHead(d *gateway.Description, original *index.Tool) {
	t := &d.Tool
	title := t.QualifiedName()
	if t.Title != "" {
		title += " – " + t.Title
	}
	c.Say("%s", term.Flat(title))
	c.Paragraph("  ", cmp.Or(t.Description, "(no description)"))
	if t.Description != original.Description {
		c.Say("  overridden; the server says:")
		c.Paragraph("    ", cmp.Or(original.Description, "(nothing)"))
	}
	c.Say("")
	line := func(name, value string) {
		if value != "" {
			c.Hang(fmt.Sprintf("  %-12s ", name), value)
		}
	}
	line("id", d.ID)
	line("server", t.Server)
	line("", d.About)
	line("category", overridden(d.Category, original.Category))
	line("tags", overridden(strings.Join(t.Tags, ", "), strings.Join(original.Tags, ", ")))
	line("claims", claims(d.Annotations))
	if !t.FirstSeen.IsZero() {
		line("first seen", t.FirstSeen.UTC().Format(time.RFC3339))
	}
	line("calls", calls(d.Metrics))
	line("cannot run", t.Inexecutable)
	for _, w := range t.Warnings {
		line("warning", w)
	}
}

// overridden is a value with the server's own beside it, where they differ.
func overridden(value, original string) string {
	if original == "" || strings.EqualFold(value, original) {
		return value
	}
	return value + " (the server says: " + original + ")"
}

// claims are the hints in a tool's annotations that are true.
func claims(annotations json.RawMessage) string {
	var hints map[string]any
	if json.Unmarshal(annotations, &hints) != nil {
		return ""
	}
	var out []string
	for _, k := range []struct{ key, yes string }{
		{"readOnlyHint", "read-only"}, {"destructiveHint", "destructive"}, {"idempotentHint", "idempotent"}, {"openWorldHint", "reaches the outside world"},
	} {
		if hints[k.key] == true {
			out = append(out, k.yes)
		}
	}
	return strings.Join(out, ", ")
}

func calls(m index.Metrics) string {
	if m.Total == 0 {
		return ""
	}
	succeeded := 100 * float64(m.Total-m.Failed) / float64(m.Total)
	return fmt.Sprintf("%d, %.0f %% succeeded, %d ms on average", m.Total, succeeded, (m.Time / time.Duration(m.Total)).Milliseconds())
}

// parameter is what of a property is shown.
type parameter struct {
	object
	Type        any        `json:"type"`
	Description string     `json:"description"`
	Enum        []any      `json:"enum"`
	Default     any        `json:"default"`
	Items       *parameter `json:"items"`
}

// object is what of a schema says which properties there are.
type object struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// What of a schema is shown: --raw has all of it.
const (
	maxNesting = 5   // objects within objects
	maxShown   = 300 // properties
)

// showParameters lists the properties of a schema.
func (c commands) showParameters(title string, schema json.RawMessage) {
	var o object
	if json.Unmarshal(schema, &o) != nil || len(o.Properties) == 0 {
		return
	}
	c.Say("\n%s", title)
	g := &term.Grid{Head: []string{"name", "type", "", "description"}, Indent: "  "}
	o.rows(g, 0)
	c.Show(g)
}

// rows adds the properties of an object, required ones first, each with those
// of the objects in it below and further in.
func (o *object) rows(g *term.Grid, nesting int) {
	for _, required := range []bool{true, false} {
		for _, name := range term.SortedKeys(o.Properties) {
			if slices.Contains(o.Required, name) != required || len(g.Rows) == maxShown {
				continue
			}
			var p parameter
			if json.Unmarshal(o.Properties[name], &p) != nil {
				p = parameter{} // true, or something odd: any value
			}
			need := ""
			if required {
				need = "required"
			}
			g.Add(name, p.kind(), need, p.about())
			last := g.Rows[len(g.Rows)-1]
			last[0] = strings.Repeat("  ", nesting) + last[0] // add trims
			if nesting < maxNesting {
				p.inner().rows(g, nesting+1)
			}
		}
	}
}

// inner is the object that a value is or that a list has.
func (p *parameter) inner() *object {
	for p.Items != nil && len(p.Properties) == 0 {
		p = p.Items
	}
	return &p.object
}

// kind is the type in words.
func (p *parameter) kind() string {
	switch t := p.Type.(type) {
	case string:
		if t == "array" && p.Items != nil {
			return "list of " + p.Items.kind()
		}
		return t
	case []any:
		var names []string
		for _, v := range t {
			names = append(names, fmt.Sprint(v))
		}
		return strings.Join(names, "|")
	}
	return "any"
}

// about is the description with what else limits the value.
func (p *parameter) about() string {
	out := []string{p.Description}
	if len(p.Enum) > 0 {
		out = append(out, "one of "+compact(p.Enum))
	}
	if p.Default != nil {
		out = append(out, "default "+compact(p.Default))
	}
	return strings.TrimPrefix(strings.Join(out, "; "), "; ")
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
