package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
)

// runTool runs the tools of an effect; "" is any.
func (s *Surface) runTool(effect string) handler {
	return func(ctx context.Context, c surface.Call) (*surface.Answer, error) {
		answer, err := s.execute(ctx, c, effect)
		var failure *gateway.Error
		if errors.Is(err, gateway.ErrOtherEffect) && errors.As(err, &failure) {
			failure.Next = func(gateway.Vocabulary) string {
				return fmt.Sprintf("call %s with %s", runner(failure.Effect), again(c.Arguments))
			}
		}
		return answer, err
	}
}

// maxAgain bounds the arguments that an error repeats.
const maxAgain = 2 << 10

// again are arguments to be given once more.
func again(arguments json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, arguments) != nil || b.Len() > maxAgain {
		return "the same arguments"
	}
	return b.String()
}

func (s *Surface) execute(ctx context.Context, c surface.Call, effect string) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "tool_name", "arguments", "options")
	r := gateway.ExecuteRequest{Name: a.ToolName(nameHint), Arguments: a.ToolArguments(true), Effect: effect, Client: c.Client}
	options := a.Nested("options", "timeout_ms", "include_metadata")
	_, most := s.g.Timeouts()
	r.Timeout = time.Duration(options.Integer("timeout_ms", 1, int(most.Milliseconds()), 0)) * time.Millisecond
	untouched := !options.Flag("include_metadata", true)
	if err := a.Failure(); err != nil {
		return nil, args.Misplaced(err)
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
		return surface.Untouched(r, protocol), nil
	}
	var a *surface.Answer
	var err error
	if untouched {
		a = surface.Untouched(r, protocol)
	} else if a, err = wrapped(x); err != nil {
		return nil, err
	}
	a.Meta, a.IsError = r.Meta, r.IsError
	return a, nil
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
	var o rawjson.Writer
	key := "result"
	if x.Result.IsError {
		key = "error"
	}
	value := surface.Value(x.Result)
	o.Grow(len(value) + 512)
	o.Add(key, value)
	if x.Result.IsError {
		o.Add("hint", rawjson.Quote(words.ToolName(t.Server, t.Name)+" itself reported this error; describe_tool shows what it expects"))
	}
	o.Add("execution_metadata", metadata)
	a := &surface.Answer{JSON: o.Bytes()}
	a.Structured = a.JSON
	a.Content = append([]json.RawMessage{surface.TextBlock(a.JSON)}, surface.Attached(x.Result)...)
	return a, nil
}

// Value is what a result says: see [surface.Value].
func Value(r gateway.Result) json.RawMessage { return surface.Value(r) }
