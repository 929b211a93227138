package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// An identifier says which tool to use.
type identifier struct{ toolbox, server, name string }

func (s *Surface) useTool(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	id, arguments, wrong := readUse(c.Arguments)
	if len(wrong) > 0 {
		return nil, saying("Invalid tool invocation parameters: " + strings.Join(wrong, ", "))
	}
	hit, err := s.find(ctx, c, id)
	if err != nil {
		return nil, err
	}
	x, err := s.g.Execute(ctx, c.View, gateway.ExecuteRequest{
		Name: hit.ID, Arguments: arguments, Client: c.Client, Unchecked: !s.opts.ValidateArguments,
	})
	if errors.Is(err, gateway.ErrUnknownTool) { // it has gone since it was found
		return nil, sayf("Error executing tool: Tool '%s' not found in server '%s'", id.name, id.server)
	}
	if err != nil {
		return nil, saying(id.failure() + complaint(err))
	}
	a := surface.Untouched(x.Result, c.Protocol)
	a.Release = x.Release
	if x.Result.IsError {
		a.Content = explained(id, x.Result.Content)
	}
	return a, nil
}

func (id identifier) failure() string {
	return fmt.Sprintf("Error executing tool '%s' in server '%s' (toolbox '%s'): ", id.name, id.server, id.toolbox)
}

// explained are the blocks of a tool's own error, the first text of which says
// where it comes from.
func explained(id identifier, blocks []gateway.Block) []json.RawMessage {
	out := make([]json.RawMessage, len(blocks))
	said := false
	for i, b := range blocks {
		out[i] = b.Raw
		if b.Type == "text" && !said {
			out[i], said = surface.TextBlock(id.failure()+b.Text()), true
		}
	}
	if !said {
		out = append([]json.RawMessage{surface.TextBlock(id.failure() + "it gave no text")}, out...)
	}
	return out
}

// find looks the tool up, step by step, so that the first step that fails is
// told.
func (s *Surface) find(ctx context.Context, c surface.Call, id identifier) (index.Hit, error) {
	b, err := s.box(ctx, c.View, id.toolbox)
	if err != nil {
		return index.Hit{}, err
	}
	if b == nil || c.Session != nil && !c.Session().Remembers(b.name) {
		return index.Hit{}, sayf("Error executing tool: Toolbox '%s' is not open", id.toolbox)
	}
	hits, err := s.tools(ctx, b, id.server)
	if err != nil {
		return index.Hit{}, err
	}
	if len(hits) == 0 {
		return index.Hit{}, sayf("Error executing tool: Server '%s' not found in toolbox '%s'", id.server, id.toolbox)
	}
	for _, h := range hits {
		if h.Tool.Name == id.name {
			return h, nil
		}
	}
	return index.Hit{}, sayf("Error executing tool: Tool '%s' not found in server '%s'", id.name, id.server)
}

// tools are those of a server that the toolbox has.
func (s *Surface) tools(ctx context.Context, b *box, server string) ([]index.Hit, error) {
	var out []index.Hit
	for _, f := range b.filters {
		if len(f.Servers) > 0 && !slices.Contains(f.Servers, server) {
			continue
		}
		f.Servers = []string{server}
		d, err := s.g.List(ctx, b.view, gateway.ListRequest{Filter: f, Size: allTools})
		if err != nil {
			return nil, fmt.Errorf("find tool: %w", err)
		}
		for _, t := range d.Tools {
			if t.Tool.Server == server {
				out = append(out, t.Hit)
			}
		}
	}
	return out, nil
}

// allTools is more tools than a server has.
const allTools = 1 << 30

// readUse reads the arguments of use_tool and says all that is wrong with
// them.
func readUse(raw json.RawMessage) (id identifier, arguments json.RawMessage, wrong []string) {
	members, wrong := readStrictly(raw, "", []string{"tool", "arguments"})
	id, more := readIdentifier(members["tool"])
	wrong = append(wrong, more...)
	arguments = json.RawMessage("{}")
	if given, ok := members["arguments"]; ok {
		if kind := rawjson.Kind(given); kind != "object" {
			wrong = append(wrong, "arguments: Expected object, received "+kind)
		}
		arguments = given
	}
	return id, arguments, wrong
}

func readIdentifier(tool json.RawMessage) (id identifier, wrong []string) {
	if tool == nil {
		return id, []string{"tool: Required"}
	}
	fields, wrong := readStrictly(tool, "tool: ", []string{"toolbox", "server", "name"})
	if rawjson.Kind(tool) != "object" {
		return id, wrong
	}
	for _, f := range []struct {
		key, what string
		into      *string
	}{{"toolbox", "Toolbox", &id.toolbox}, {"server", "Server", &id.server}, {"name", "Tool", &id.name}} {
		switch value, ok := fields[f.key]; {
		case !ok:
			wrong = append(wrong, f.key+": Required")
		case rawjson.Kind(value) != "string" || json.Unmarshal(value, f.into) != nil:
			wrong = append(wrong, f.key+": Expected string, received "+rawjson.Kind(value))
		case *f.into == "":
			wrong = append(wrong, fmt.Sprintf("%s: %s name cannot be empty", f.key, f.what))
		}
	}
	return id, wrong
}

// readStrictly reads an object that has no keys but the known ones.
func readStrictly(raw json.RawMessage, at string, known []string) (members map[string]json.RawMessage, wrong []string) {
	switch kind := rawjson.Kind(raw); {
	case kind == "" || kind == "null" && at == "":
		return nil, nil
	case kind != "object":
		return nil, []string{at + "Expected object, received " + kind}
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, []string{at + err.Error()}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(known, key) {
			continue
		}
		text := fmt.Sprintf("%sUnrecognized key(s) in object: '%s'", at, words.Excerpt(key))
		if key == "tool" { // as it was called before
			text += "; the tool's name is given as 'name'"
		} else if near := words.DidYouMean(key, known); near != "" {
			text += strings.ReplaceAll(near, `"`, "'")
		}
		wrong = append(wrong, text)
	}
	return members, wrong
}
