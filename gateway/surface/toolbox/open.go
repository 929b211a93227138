package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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

// A box is a toolbox as one caller sees it: the tools of its view that any of
// its filters lets through.
type box struct {
	name, description string
	count             int
	view              view.View
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
	return s.shown(ctx, b)
}

// shown are a toolbox's tools with their schemas.
func (s *Surface) shown(ctx context.Context, b *box) (*surface.Answer, error) {
	out := boxAnswer{Toolbox: b.name, Description: words.Shorten(b.description, words.MaxDescription), Tools: []toolRow{}}
	room := maxSchemaBytes
	seen := map[string]bool{}
	for _, f := range b.filters {
		res, err := s.g.List(ctx, b.view, gateway.ListRequest{Filter: f, Size: maxTools, Schemas: true})
		if err != nil {
			return nil, fmt.Errorf("list tools of toolbox %s: %w", b.name, err)
		}
		for _, t := range res.Tools {
			if seen[t.ID] || len(out.Tools) == maxTools {
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
	out.More = b.count - len(out.Tools)
	return surface.NewAnswer(out)
}

// box is the toolbox called name; nil when the view shows none of its tools.
func (s *Surface) box(ctx context.Context, v view.View, name string) (*box, error) {
	named := func(b box) bool { return b.name == name }
	all, err := s.all(ctx, v, func(t surface.Toolbox) bool { return t.Name == name })
	if i := slices.IndexFunc(all, named); err == nil && i >= 0 {
		return &all[i], nil
	}
	return nil, err
}

// all are the toolboxes of which the view shows a tool, in order of name. Of
// those that the operator named only the wanted ones are looked at; nil wants
// all.
func (s *Surface) all(ctx context.Context, v view.View, wanted func(surface.Toolbox) bool) ([]box, error) {
	configured := s.opts.Toolboxes()
	if len(configured) == 0 {
		return s.derived(ctx, v)
	}
	var out []box
	for _, t := range configured {
		if wanted != nil && !wanted(t) {
			continue
		}
		b := box{name: t.Name, description: t.Description, view: s.within(v, t.View), filters: []index.Filter{{Servers: t.Servers}}}
		res, err := s.g.List(ctx, b.view, gateway.ListRequest{Filter: b.filters[0], Size: 1})
		if err != nil {
			return nil, fmt.Errorf("count tools: %w", err)
		}
		if b.count = res.Total; b.count > 0 {
			out = append(out, b)
		}
	}
	return out, nil
}

// derived are the toolboxes where nobody named any: each server and each tag.
func (s *Surface) derived(ctx context.Context, v view.View) ([]box, error) {
	res, err := s.g.Categories(ctx, v, gateway.CategoriesRequest{})
	if err != nil {
		return nil, fmt.Errorf("count tools: %w", err)
	}
	byName := map[string]*box{}
	for _, c := range res.Servers {
		byName[c.Name] = &box{name: c.Name, description: c.Description, count: c.Count, view: v, filters: []index.Filter{{Servers: []string{c.Name}}}}
	}
	for _, c := range res.Tags {
		tagged := index.Filter{Tags: []string{c.Name}}
		b := byName[c.Name]
		if b == nil {
			byName[c.Name] = &box{name: c.Name, count: c.Count, view: v, filters: []index.Filter{tagged}}
			continue
		}
		both, err := s.g.List(ctx, v, gateway.ListRequest{Filter: index.Filter{Servers: []string{c.Name}, Tags: []string{c.Name}}, Size: 1})
		if err != nil {
			return nil, fmt.Errorf("count tools: %w", err)
		}
		b.count, b.filters = b.count+c.Count-both.Total, append(b.filters, tagged)
	}
	var out []box
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out, nil
}

// within is what v shows of a toolbox with this view. Tools are run through v
// itself.
func (s *Surface) within(v, own view.View) view.View {
	v, own = view.View{Scope: v.Scope}, view.View{Scope: own.Scope}
	if v.Scope == nil || own.Scope == nil {
		return v.And(own)
	}
	key := [2]*index.Scope{v.Scope, own.Scope}
	if both, ok := s.views.Get(key); ok {
		return both
	}
	both := v.And(own)
	s.views.Add(key, both)
	return both
}

func (s *Surface) boxes(ctx context.Context, v view.View) (*surface.Answer, error) {
	all, err := s.all(ctx, v, nil)
	if err != nil {
		return nil, err
	}
	out := boxesAnswer{Toolboxes: []boxRow{}, More: max(len(all)-maxBoxes, 0)}
	for _, b := range all[:len(all)-out.More] {
		out.Toolboxes = append(out.Toolboxes, boxRow{b.name, words.Shorten(b.description, words.MaxDescription), b.count})
	}
	return surface.NewAnswer(out)
}

func (s *Surface) boxNames(ctx context.Context, v view.View) ([]string, error) {
	all, err := s.all(ctx, v, nil)
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.name
	}
	return names, err
}
