package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

const (
	maxBoxes       = 200       // toolboxes in a reply
	maxTools       = 200       // of one toolbox in a reply
	maxSchemaBytes = 512 << 10 // of all schemas in a reply
)

// A box is a toolbox of one view: the tools that any of its filters lets
// through.
type box struct {
	name, description string
	filters           []index.Filter
}

type boxesAnswer struct {
	Toolboxes []boxRow `json:"toolboxes"`
	More      int      `json:"more_toolboxes,omitempty"` // that are not listed
}

type boxRow struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Count       int    `json:"tool_count"`
}

type boxAnswer struct {
	Toolbox     string    `json:"toolbox"`
	Description string    `json:"description,omitempty"`
	Tools       []toolRow `json:"tools"`
	More        int       `json:"more_tools,omitempty"` // that are not listed, but can be used
}

type toolRow struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Inexecutable string          `json:"not_executable,omitempty"`  // the reason
	Omitted      string          `json:"schemas_omitted,omitempty"` // why they are
}

func (s *Surface) openToolbox(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "name")
	name := a.Short("name")
	if err := a.Failure(); err != nil {
		return nil, saying("Invalid toolbox parameters: " + err.Error())
	}
	if name == "" {
		return s.boxes(ctx, c.View)
	}
	b, err := s.box(ctx, c.View, name)
	if err != nil {
		return nil, err
	}
	if b == nil {
		names, err := s.boxNames(ctx, c.View)
		if err != nil {
			return nil, err
		}
		return nil, sayf("Error opening toolbox: Toolbox '%s' not found. Available toolboxes: %s", name, listing(names, maxBoxes))
	}
	if c.Session != nil && !c.Session().Remember(b.name) {
		return nil, sayf("Error opening toolbox: this session has too many toolboxes open; open '%s' in a new one", name)
	}
	return s.shown(ctx, c.View, b)
}

// shown are a toolbox's tools with their schemas.
func (s *Surface) shown(ctx context.Context, v view.View, b *box) (*surface.Answer, error) {
	out := boxAnswer{Toolbox: b.name, Description: words.Shorten(b.description, words.MaxDescription), Tools: []toolRow{}}
	room := maxSchemaBytes
	seen := map[string]bool{}
	for _, f := range b.filters {
		res, err := s.g.List(ctx, v, gateway.ListRequest{Filter: f, Size: maxTools, Schemas: true})
		if err != nil {
			return nil, fmt.Errorf("list tools of toolbox %s: %w", b.name, err)
		}
		out.More += res.Total - len(res.Tools)
		for _, t := range res.Tools {
			if seen[t.ID] {
				continue
			}
			seen[t.ID] = true
			row := toolRow{
				Server: t.Tool.Server, Name: t.Tool.Name, Description: words.Shorten(t.Tool.Description, words.MaxDescribed/maxTools),
				InputSchema: t.Input, OutputSchema: t.Output, Inexecutable: words.Cut(t.Tool.Inexecutable, words.MaxReason),
			}
			if room -= len(t.Input) + len(t.Output); room < 0 {
				row.InputSchema, row.OutputSchema, row.Omitted = nil, nil, "too much for this reply"
			}
			out.Tools = append(out.Tools, row)
		}
	}
	return surface.NewAnswer(out)
}

// box is the toolbox called name; nil when the view shows none of its tools.
func (s *Surface) box(ctx context.Context, v view.View, name string) (*box, error) {
	for _, t := range s.opts.Toolboxes {
		if t.Name == name {
			return s.filled(ctx, v, &box{name, t.Description, []index.Filter{{Servers: t.Servers}}})
		}
	}
	if len(s.opts.Toolboxes) > 0 {
		return nil, nil
	}
	b := &box{name: name}
	res, err := s.g.Categories(ctx, v, gateway.CategoriesRequest{})
	if err != nil {
		return nil, fmt.Errorf("find toolbox: %w", err)
	}
	for _, server := range res.Servers {
		if server.Name == name {
			b.description = server.Description
			b.filters = append(b.filters, index.Filter{Servers: []string{name}})
		}
	}
	if slices.ContainsFunc(res.Tags, func(t index.CategoryCount) bool { return t.Name == name }) {
		b.filters = append(b.filters, index.Filter{Tags: []string{name}})
	}
	if len(b.filters) == 0 {
		return nil, nil
	}
	return b, nil
}

// filled is b, nil when the view shows none of its tools.
func (s *Surface) filled(ctx context.Context, v view.View, b *box) (*box, error) {
	for _, f := range b.filters {
		res, err := s.g.List(ctx, v, gateway.ListRequest{Filter: f, Size: 1})
		if err != nil {
			return nil, fmt.Errorf("find toolbox: %w", err)
		}
		if res.Total > 0 {
			return b, nil
		}
	}
	return nil, nil
}

// rows are the toolboxes of which the view shows a tool, in order of name.
func (s *Surface) rows(ctx context.Context, v view.View) ([]boxRow, error) {
	var rows []boxRow
	for _, t := range s.opts.Toolboxes {
		res, err := s.g.List(ctx, v, gateway.ListRequest{Filter: index.Filter{Servers: t.Servers}, Size: 1})
		if err != nil {
			return nil, fmt.Errorf("count tools: %w", err)
		}
		if res.Total > 0 {
			rows = append(rows, boxRow{t.Name, words.Shorten(t.Description, words.MaxDescription), res.Total})
		}
	}
	if len(s.opts.Toolboxes) == 0 {
		res, err := s.g.Categories(ctx, v, gateway.CategoriesRequest{})
		if err != nil {
			return nil, fmt.Errorf("count tools: %w", err)
		}
		for _, c := range append(slices.Clone(res.Servers), res.Tags...) {
			if !slices.ContainsFunc(rows, func(r boxRow) bool { return r.Name == c.Name }) {
				rows = append(rows, boxRow{c.Name, words.Shorten(c.Description, words.MaxDescription), c.Count})
			}
		}
	}
	slices.SortFunc(rows, func(a, b boxRow) int { return strings.Compare(a.Name, b.Name) })
	return rows, nil
}

func (s *Surface) boxes(ctx context.Context, v view.View) (*surface.Answer, error) {
	rows, err := s.rows(ctx, v)
	if err != nil {
		return nil, err
	}
	out := boxesAnswer{Toolboxes: rows[:min(len(rows), maxBoxes):len(rows)], More: max(len(rows)-maxBoxes, 0)}
	if out.Toolboxes == nil {
		out.Toolboxes = []boxRow{}
	}
	return surface.NewAnswer(out)
}

func (s *Surface) boxNames(ctx context.Context, v view.View) ([]string, error) {
	rows, err := s.rows(ctx, v)
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}
