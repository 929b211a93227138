package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
)

func (s *Surface) executeTool(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "arguments", "options")
	r := gateway.ExecuteRequest{Name: a.ToolName(nameHint), Arguments: a.ToolArguments(true), Client: c.Client}
	options := a.Nested("options", "timeout_ms", "include_metadata")
	_, most := s.g.Timeouts()
	r.Timeout = time.Duration(options.Integer("timeout_ms", 1, int(most.Milliseconds()), 0)) * time.Millisecond
	untouched := !options.Flag("include_metadata", true)
	if err := a.Failure(); err != nil {
		return nil, misplaced(err)
	}
	x, err := s.g.Execute(ctx, c.View, r)
	if err != nil {
		return nil, err
	}
	answer, err := Executed(x, c.Protocol, untouched)
	if err != nil {
		x.Release()
		return nil, err
	}
	answer.Release = x.Release
	return answer, nil
}

// misplaced adds to an error about an unknown key that a tool's own arguments
// belong one level down.
func misplaced(err error) error {
	e, ok := err.(*args.Error)
	if !ok || !strings.Contains(e.Problem, "unknown argument") {
		return err
	}
	return &args.Error{Problem: e.Problem, Hint: e.Hint + `; the tool's own arguments go inside "arguments"`}
}

type executionMetadata struct {
	ToolID string `json:"tool_id"`
	Millis int64  `json:"execution_time_ms"`
	Server string `json:"server"`
}

// Executed is what execute_tool answers with, losing nothing. A tool's result
// comes untouched or in this surface's own object.
func Executed(x gateway.Execution, protocol string, untouched bool) (*surface.Answer, error) {
	r := x.Result
	if r.NeedsInput {
		return &surface.Answer{NeedsInput: true, InputRequests: r.InputRequests, RequestState: r.RequestState}, nil
	}
	var a *surface.Answer
	var err error
	if untouched {
		a = asItCame(r, protocol)
	} else if a, err = wrapped(x); err != nil {
		return nil, err
	}
	a.Meta, a.IsError = r.Meta, r.IsError
	return a, nil
}

// asItCame is a tool's result without an object of ours.
func asItCame(r gateway.Result, protocol string) *surface.Answer {
	a := &surface.Answer{Structured: r.Structured}
	for _, b := range r.Content {
		a.Content = append(a.Content, b.Raw)
	}
	if r.Structured != nil && rawjson.Kind(r.Structured) != "object" && protocol < gateway.StatelessEra {
		a.Structured = nil
		a.Content = append(a.Content, surface.TextBlock(string(r.Structured)))
	}
	return a
}

// wrapped is {"result": R, "execution_metadata": …} as text and structured
// content, followed by the blocks that are no text. R is the structured
// content; else the one text, parsed when it is JSON; else all texts. A
// failed tool's R is under "error".
func wrapped(x gateway.Execution) (*surface.Answer, error) {
	t := x.Tool.Tool
	metadata, err := rawjson.Marshal(executionMetadata{ToolID: x.Tool.ID, Millis: x.Took.Milliseconds(), Server: t.Server})
	if err != nil {
		return nil, err
	}
	var others []json.RawMessage
	for _, b := range x.Result.Content {
		if b.Type != "text" {
			others = append(others, b.Raw)
		}
	}
	var o rawjson.Writer
	key := "result"
	if x.Result.IsError {
		key = "error"
	}
	o.Add(key, Value(x.Result))
	if x.Result.IsError {
		o.Add("hint", rawjson.Quote(words.ToolName(t.Server, t.Name)+" itself reported this error; describe_tool shows what it expects"))
	}
	o.Add("execution_metadata", metadata)
	a := &surface.Answer{JSON: o.Bytes()}
	a.Structured = a.JSON
	a.Content = append([]json.RawMessage{surface.TextBlock(string(a.JSON))}, others...)
	return a, nil
}

// Value is what a result says: its structured content; else the one text,
// parsed when it is JSON; else all texts.
func Value(r gateway.Result) json.RawMessage {
	if r.Structured != nil {
		return r.Structured
	}
	var texts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	if len(texts) == 1 {
		if one := bytes.TrimSpace([]byte(texts[0])); json.Valid(one) {
			return one
		}
		return rawjson.Quote(texts[0])
	}
	all := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		all[i] = rawjson.Quote(t)
	}
	return rawjson.Array(all)
}
