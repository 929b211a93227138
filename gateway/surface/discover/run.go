package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
)

// maxNames bounds the tools whose schemas one reply has.
const maxNames = 20

type schemaAnswer struct {
	Name         string          `json:"name"`
	Domain       string          `json:"domain"`
	Group        string          `json:"group"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Inexecutable string          `json:"not_executable,omitempty"` // the reason
	Omitted      string          `json:"omitted,omitempty"`        // what was too large, and how to get it
}

func (s *Surface) toolSchema(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "tool_names")
	names := a.List("tool_names")
	if a.Failure() == nil && len(names) > maxNames {
		a.Fail(fmt.Sprintf("tool_names: %d names are too many", len(names)), fmt.Sprintf("give at most %d", maxNames))
	}
	if len(names) > 0 && a.Text("tool_name") != "" {
		a.Fail("tool_name and tool_names are both given", "give one of them")
	}
	var name string
	if len(names) == 0 {
		name = a.ToolName(nameHint)
	}
	if err := a.Failure(); err != nil {
		return nil, err
	}
	if name == "" {
		return s.schemas(ctx, c, names)
	}
	out, err := s.schema(ctx, c.View, name)
	if err != nil {
		return nil, err
	}
	return surface.NewAnswer(out)
}

// schemas answers for several names; one that is wrong has its error in its
// place.
func (s *Surface) schemas(ctx context.Context, c surface.Call, names []string) (*surface.Answer, error) {
	type failure struct {
		Name  string `json:"name"`
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
	}
	rows, wrong := make([]any, len(names)), 0
	for i, name := range names {
		row, err := s.schema(ctx, c.View, name)
		rows[i] = row
		if err != nil {
			problem, hint := s.told(c, err)
			rows[i], wrong = failure{words.Excerpt(name), problem, hint}, wrong+1
		}
	}
	answer, err := surface.NewAnswer(map[string]any{"tools": rows})
	if err == nil {
		answer.IsError = wrong == len(names)
	}
	return answer, err
}

func (s *Surface) schema(ctx context.Context, v view.View, name string) (*schemaAnswer, error) {
	d, err := s.g.Describe(ctx, v, gateway.DescribeRequest{Name: name})
	if err != nil {
		return nil, err
	}
	group, err := s.groups(ctx, v, nil)(d.Hit)
	if err != nil {
		return nil, err
	}
	out := &schemaAnswer{
		Name: s.g.ShortName(v, d.Hit), Domain: d.Tool.Server, Group: group, Description: d.Tool.Description,
		Parameters: d.Input, OutputSchema: d.Output, Inexecutable: words.Cut(d.Tool.Inexecutable, words.MaxReason),
	}
	out.fit(s.opts.Whole(d.ID))
	return out, nil
}

// fit keeps a reply within words.MaxDescribed and says what is left out, and where
// the whole is to be seen.
func (a *schemaAnswer) fit(whole string) {
	var left []string
	size := func() int { return len(a.Description) + len(a.Parameters) + len(a.OutputSchema) }
	if size() > words.MaxDescribed && len(a.OutputSchema) > 0 {
		left, a.OutputSchema = append(left, "output_schema"), nil
	}
	if size() > words.MaxDescribed {
		left, a.Description = append(left, "description"), words.Shorten(a.Description, words.MaxDescription)
	}
	if size() > words.MaxDescribed {
		left, a.Parameters = append(left, "parameters"), json.RawMessage(`{"type":"object"}`)
	}
	if len(left) > 0 {
		a.Omitted = words.Join(left) + ": too large for a reply" + whole
	}
}

func (s *Surface) executeTool(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "arguments")
	r := gateway.ExecuteRequest{
		Name: a.ToolName(nameHint), Arguments: a.ToolArguments(false), Client: c.Client,
		Unchecked: !s.opts.ValidateArguments,
	}
	if err := a.Failure(); err != nil {
		return nil, args.Misplaced(err)
	}
	x, err := s.g.Execute(ctx, c.View, r)
	if err != nil {
		return nil, s.unreachable(c.View, err)
	}
	answer := executed(s.g.ShortName(c.View, x.Tool), x.Result, c.Protocol)
	answer.Release = x.Release
	return answer, nil
}

// executed is {"tool", "result"} as text, followed by the blocks that are no
// text; a tool that failed has "error" in place of the result.
func executed(name string, r gateway.Result, protocol string) *surface.Answer {
	if r.NeedsInput {
		return surface.Untouched(r, protocol)
	}
	var o rawjson.Writer
	o.Add("tool", rawjson.Quote(name))
	if r.IsError {
		o.Add("error", complaint(r))
	} else {
		o.Add("result", surface.Value(r))
	}
	a := surface.Object(o.Bytes())
	a.Content = append(a.Content, surface.Attached(r)...)
	a.Meta, a.IsError = r.Meta, r.IsError
	return a
}

// complaint is what a failed tool says: its texts, else its structured
// content.
func complaint(r gateway.Result) json.RawMessage {
	var texts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			texts = append(texts, b.Text())
		}
	}
	if len(texts) == 0 {
		return surface.Value(r)
	}
	return rawjson.Quote(strings.Join(texts, "\n"))
}
