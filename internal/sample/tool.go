package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// effect says what calling a tool can do; its annotations follow.
type effect int

const (
	reads    effect = iota // changes nothing
	adds                   // adds something, each time
	destroys               // may lose data
)

// A tool is what is said about a tool beside its types.
type tool struct {
	name, title, description string
	effect                   effect
	tags                     []string
	props                    props            // of the input schema
	examples                 []map[string]any // whole arguments
}

// props adjust properties of the input schema, by dotted path.
type props map[string]prop

// prop is what Go types cannot say about a property.
type prop struct {
	enum     []string
	def      any // default; nil means none
	min, max *float64
}

// num makes a bound.
func num(v float64) *float64 { return &v }

// add registers a tool whose input and output schemas come from In and Out.
func add[In, Out any](s *Server, category string, t tool, f func(context.Context, In) (Out, error)) {
	in, out := schemaFor[In](), schemaFor[Out]()
	for path, p := range t.props {
		p.apply(find(in, path))
	}
	for _, e := range t.examples {
		in.Examples = append(in.Examples, e)
	}
	no := false
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		InputSchema: in, OutputSchema: out,
		Meta: mcp.Meta{"category": category, "tags": t.tags},
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    t.effect == reads,
			IdempotentHint:  t.effect == reads,
			DestructiveHint: new(t.effect == destroys),
			OpenWorldHint:   &no,
		},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, args In) (*mcp.CallToolResult, Out, error) {
		result, err := f(ctx, args)
		return nil, result, err
	})
}

// schemaFor infers a schema in which arrays are never null.
func schemaFor[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a type of ours
	}
	plain(s)
	return s
}

func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// find returns the property at path, which must exist.
func find(s *jsonschema.Schema, path string) *jsonschema.Schema {
	for name := range strings.SplitSeq(path, ".") {
		s = s.Properties[name]
	}
	return s
}

func (p prop) apply(s *jsonschema.Schema) {
	for _, v := range p.enum {
		s.Enum = append(s.Enum, v)
	}
	if p.def != nil {
		s.Default = mustJSON(p.def)
	}
	s.Minimum, s.Maximum = p.min, p.max
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("constant %v: %v", v, err)) // a value of ours
	}
	return b
}
