package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

func (a *cli) tools() *cobra.Command {
	return group(&cobra.Command{
		Use: "tools", Short: "List tools, or show one", Long: toolsHelp,
		Example: "  tooldex tools list\n  tooldex tools show files/read_text_file\n  tooldex tools categories",
	}, a.toolsList(), a.toolsShow(), a.toolsCategories())
}

func (a *cli) toolsList() *cobra.Command {
	var f filterFlags
	var page, size int
	var sort string
	var descending, schemas bool
	cmd := &cobra.Command{Use: "list", Short: "List all tools", Long: listHelp, Example: listExample, Args: cobra.NoArgs}
	f.add(cmd)
	fs := cmd.Flags()
	fs.IntVar(&page, "page", 1, "`number` of the page")
	fs.IntVar(&size, "page-size", 20, "tools a page, at most 100")
	fs.IntVar(&size, "limit", 20, "the same as --page-size")
	fs.StringVar(&sort, "sort", "name", "sort by name, created_at, execution_count, success_rate or category")
	fs.BoolVar(&descending, "desc", false, "last first")
	fs.BoolVar(&schemas, "schemas", false, "with --json: include the tools' schemas")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		args := map[string]any{"page": page, "page_size": size, "sort_by": sort, "sort_order": "asc", "include_schemas": schemas}
		if descending {
			args["sort_order"] = "desc"
		}
		if filters := f.filters(); filters != nil {
			args["filters"] = filters
		}
		return a.offline(cmd, func(ctx context.Context, e *app.Engine) error {
			raw, err := metaCall(ctx, e, "list_tools", args)
			if err != nil || a.json {
				return a.sayRaw(raw, err)
			}
			return a.showList(raw)
		})
	}
	return cmd
}

// sayRaw prints a meta-tool's object as it is.
func (a *cli) sayRaw(raw json.RawMessage, err error) error {
	if err == nil {
		a.say("%s", raw)
	}
	return err
}

func (a *cli) showList(raw json.RawMessage) error {
	var res struct {
		found
		Pagination struct {
			Page  int `json:"page"`
			Items int `json:"total_items"`
			Pages int `json:"total_pages"`
		} `json:"pagination"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	g := &grid{head: []string{"tool", "category", "description"}}
	for _, t := range res.Tools {
		g.add(t.QualifiedName, t.Category, t.Description)
	}
	a.showRows(g, "No tool found.")
	if p := res.Pagination; p.Pages > 1 {
		a.note("page %d of %d, %s; --page turns it", p.Page, p.Pages, plural(p.Items, "tool"))
	}
	a.advise(res.Hint)
	return nil
}

func (a *cli) toolsCategories() *cobra.Command {
	return &cobra.Command{
		Use: "categories", Short: "Count tools by category, tag and server", Args: cobra.NoArgs,
		Example: "  tooldex tools categories\n  tooldex tools categories --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.offline(cmd, func(ctx context.Context, e *app.Engine) error {
				raw, err := metaCall(ctx, e, "get_tool_categories", map[string]any{"include_servers": true})
				if err != nil || a.json {
					return a.sayRaw(raw, err)
				}
				return a.showCategories(raw)
			})
		},
	}
}

func (a *cli) showCategories(raw json.RawMessage) error {
	type count struct {
		Name        string `json:"name"`
		Count       int    `json:"count"`
		Description string `json:"description"`
	}
	var res struct{ Categories, Tags, Servers []count }
	if err := json.Unmarshal(raw, &res); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	for i, part := range []struct {
		head string
		rows []count
	}{{"category", res.Categories}, {"tag", res.Tags}, {"server", res.Servers}} {
		if len(part.rows) == 0 {
			continue
		}
		if i > 0 {
			a.say("")
		}
		g := &grid{head: []string{"tools", part.head, ""}, numbers: []int{0}}
		for _, c := range part.rows {
			g.add(fmt.Sprint(c.Count), c.Name, c.Description)
		}
		a.show(g)
	}
	return nil
}

func (a *cli) toolsShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use: "show TOOL", Short: "Show everything known of one tool", Long: showHelp, Example: showExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeTools,
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the tool object as the server sent it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.offline(cmd, func(ctx context.Context, e *app.Engine) error {
			object, err := metaCall(ctx, e, "describe_tool", map[string]any{
				"tool_name": args[0], "include_examples": true, "include_metrics": true, "include_similar": true,
			})
			if err != nil || a.json && !raw {
				return a.sayRaw(object, err)
			}
			return a.showTool(e, object, raw)
		})
	}
	return cmd
}

// described is what describe_tool answers.
type described struct {
	ID           string          `json:"id"`
	Qualified    string          `json:"qualified_name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	Input        json.RawMessage `json:"input_schema"`
	Output       json.RawMessage `json:"output_schema"`
	Annotations  json.RawMessage `json:"annotations"`
	Tags         []string        `json:"tags"`
	Category     string          `json:"category"`
	CreatedAt    string          `json:"created_at"`
	Inexecutable string          `json:"not_executable"`
	Warnings     []string        `json:"warnings"`
	Examples     []index.Example `json:"examples"`
	Similar      []string        `json:"similar_tools"`
	Server       struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"server"`
	Metrics struct {
		Total       int64    `json:"total_executions"`
		SuccessRate *float64 `json:"success_rate"`
		Average     *int64   `json:"avg_response_time_ms"`
	} `json:"metrics"`
}

func (a *cli) showTool(e *app.Engine, object json.RawMessage, rawOnly bool) error {
	var d described
	if err := json.Unmarshal(object, &d); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	raw, err := e.Index.Raw(d.ID)
	if err != nil {
		return err
	}
	if rawOnly {
		a.say("%s", raw)
		return nil
	}
	original, err := index.Decode(d.Server.Name, raw)
	if err != nil {
		return err
	}
	a.showHead(&d, &original)
	a.showParameters("Parameters", d.Input)
	a.showParameters("Result", d.Output)
	for i, x := range d.Examples {
		if i == 0 {
			a.say("\nExamples")
		}
		if x.Description != "" {
			a.hang("  ", x.Description+":")
		}
		a.hang("  ", string(x.Arguments))
	}
	if len(d.Similar) > 0 {
		a.say("\nSimilar tools")
		for _, name := range d.Similar {
			a.say("  %s", flat(name))
		}
	}
	return nil
}

func (a *cli) showHead(d *described, original *index.Tool) {
	title := d.Qualified
	if d.Title != "" {
		title += " – " + d.Title
	}
	a.say("%s", flat(title))
	a.paragraph("  ", orDefault(d.Description, "(no description)"))
	if d.Description != original.Description {
		a.say("  overridden; the server says:")
		a.paragraph("    ", orDefault(original.Description, "(nothing)"))
	}
	a.say("")
	line := func(name, value string) {
		if value != "" {
			a.hang(fmt.Sprintf("  %-12s ", name), value)
		}
	}
	line("id", d.ID)
	line("server", d.Server.Name)
	line("", d.Server.Description)
	line("category", overridden(d.Category, original.Category))
	line("tags", overridden(strings.Join(d.Tags, ", "), strings.Join(original.Tags, ", ")))
	line("claims", claims(d.Annotations))
	line("first seen", d.CreatedAt)
	line("calls", calls(d))
	line("cannot run", d.Inexecutable)
	for _, w := range d.Warnings {
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

func calls(d *described) string {
	if d.Metrics.Total == 0 || d.Metrics.SuccessRate == nil || d.Metrics.Average == nil {
		return ""
	}
	return fmt.Sprintf("%d, %.0f %% succeeded, %d ms on average", d.Metrics.Total, *d.Metrics.SuccessRate*100, *d.Metrics.Average)
}

// parameter is what of a property is shown.
type parameter struct {
	Type        any            `json:"type"`
	Description string         `json:"description"`
	Enum        []any          `json:"enum"`
	Default     any            `json:"default"`
	Items       *parameter     `json:"items"`
	Properties  map[string]any `json:"properties"`
}

// showParameters lists the properties of a schema, required ones first.
func (a *cli) showParameters(title string, schema json.RawMessage) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return
	}
	a.say("\n%s", title)
	g := &grid{head: []string{"name", "type", "", "description"}, indent: "  "}
	for _, required := range []bool{true, false} {
		for _, name := range sortedKeys(s.Properties) {
			if slices.Contains(s.Required, name) != required {
				continue
			}
			var p parameter
			if json.Unmarshal(s.Properties[name], &p) != nil {
				p = parameter{} // true, or something odd: any value
			}
			need := ""
			if required {
				need = "required"
			}
			g.add(name, p.kind(), need, p.about())
		}
	}
	a.show(g)
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
