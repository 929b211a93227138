package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// faultCategory marks tools that misbehave on purpose.
const faultCategory = "Faults"

type slowIn struct {
	Seconds float64 `json:"seconds,omitempty" jsonschema:"how long to take"`
}

type messageIn struct {
	Message string `json:"message,omitempty" jsonschema:"the error's text"`
}

type hugeIn struct {
	Bytes int `json:"bytes,omitempty" jsonschema:"size of the text to return"`
}

type noteOut struct {
	Note string `json:"note"`
}

type none struct{}

func (s *Server) addFaults() {
	slow := tool{name: "fault_slow", title: "Slow", description: "Take a while to answer, reporting progress every tenth of the time. Stops when it is cancelled.",
		tags: []string{"fault"}, props: props{"seconds": {def: 5, min: num(0), max: num(600)}}}
	addRaw(s, slow, slowIn{}, s.slow)
	addRaw(s, tool{name: "fault_protocol_error", title: "Protocol error", description: "Answer with a JSON-RPC error instead of a result.", tags: []string{"fault"}}, none{},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: -32050, Message: "this tool always fails", Data: json.RawMessage(`{"fault":true}`)}
		})
	addRaw(s, tool{name: "fault_image", title: "Image", description: "Return a small PNG image, a text and a link.", tags: []string{"fault"}}, none{}, picture)
	addRaw(s, tool{name: "fault_huge", title: "Huge result", description: "Return a text of any size.", tags: []string{"fault"},
		props: props{"bytes": {def: 1 << 20, min: num(0), max: num(64 << 20)}}}, hugeIn{}, huge)
	add(s, faultCategory, tool{name: "fault_fail", title: "Fail", description: "Fail with an error message.", tags: []string{"fault"}},
		func(_ context.Context, in messageIn) (noteOut, error) {
			if in.Message == "" {
				in.Message = "this tool always fails"
			}
			return noteOut{}, errors.New(in.Message)
		})
	add(s, faultCategory, tool{name: "fault_change_tools", title: "Change the list", description: "Add the tool fault_extra to the list, or remove it, and announce the change.",
		effect: adds, tags: []string{"fault"}}, s.changeTools)
	add(s, faultCategory, tool{name: "fault_garbage", title: "Garbage on stdout", description: "Print a line on standard output that is no protocol message.", tags: []string{"fault"}}, s.garbage)
	add(s, faultCategory, tool{name: "fault_exit", title: "Exit", description: "End the server's process in the middle of the call.", effect: destroys, tags: []string{"fault"}},
		func(context.Context, none) (noteOut, error) {
			s.exit(3)
			return noteOut{"the process should have ended"}, nil
		})
	s.mcp.AddReceivingMiddleware(oddSchemas)
}

// addRaw registers a tool that makes its own result.
func addRaw[In any](s *Server, t tool, _ In, f func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	in := schemaFor[In]()
	for path, p := range t.props {
		p.apply(find(in, path))
	}
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: in,
		Meta:        mcp.Meta{"category": faultCategory, "tags": t.tags},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
	}, func(ctx context.Context, req *mcp.CallToolRequest, args In) (*mcp.CallToolResult, any, error) {
		res, err := f(ctx, req, args)
		return res, nil, err
	})
}

func (s *Server) slow(ctx context.Context, req *mcp.CallToolRequest, in slowIn) (*mcp.CallToolResult, error) {
	const steps = 10
	tick := time.NewTicker(max(time.Duration(in.Seconds*float64(time.Second))/steps, time.Microsecond))
	defer tick.Stop()
	for i := range steps {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if token := req.Params.GetProgressToken(); token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(i + 1), Total: steps, Message: fmt.Sprintf("step %d of %d", i+1, steps),
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return text(fmt.Sprintf("took %g s", in.Seconds)), nil
}

func text(t string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
}

func huge(_ context.Context, _ *mcp.CallToolRequest, in hugeIn) (*mcp.CallToolResult, error) {
	return text(strings.Repeat("x", in.Bytes)), nil
}

func picture(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, error) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 256 {
		img.Set(i%16, i/16, color.RGBA{R: uint8(i), G: uint8(255 - i), B: 128, A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "16 × 16 pixels"},
		&mcp.ImageContent{Data: b.Bytes(), MIMEType: "image/png"},
		&mcp.ResourceLink{URI: "https://example.com/palette", Name: "palette"},
	}}, nil
}

func (s *Server) changeTools(context.Context, none) (noteOut, error) {
	s.mu.Lock()
	s.extra = !s.extra
	listed := s.extra
	s.mu.Unlock()
	if !listed {
		s.mcp.RemoveTools("fault_extra")
		return noteOut{"fault_extra removed"}, nil
	}
	add(s, faultCategory, tool{name: "fault_extra", title: "Extra", description: "A tool that comes and goes.", tags: []string{"fault"}},
		func(context.Context, none) (noteOut, error) { return noteOut{"here"}, nil })
	return noteOut{"fault_extra added"}, nil
}

func (s *Server) garbage(context.Context, none) (noteOut, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stdout == nil {
		return noteOut{}, errors.New("print garbage: only a server on stdio can")
	}
	_, err := io.WriteString(s.stdout, "warning: this line is no protocol message\n")
	return noteOut{"printed"}, err
}

// odd are tools whose schemas the SDK refuses to register; they are added to
// the list behind its back.
var odd = []*mcp.Tool{
	{Name: "fault_null_schema", Description: "Its input schema is null."},
	{Name: "fault_true_schema", Description: "Its input schema is true.", InputSchema: true},
	{Name: "fault_invalid_schema", Description: "Its input schema is invalid.", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"nonsense","minimum":"low"}},"required":"x"}`)},
	{Name: "fault_remote_ref", Description: "Its input schema refers to another host.", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"https://example.com/schema.json"}}}`)},
}

func oddSchemas(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			for _, t := range odd {
				if t.Name == call.Params.Name {
					return text("called " + t.Name + " with " + string(call.Params.Arguments)), nil
				}
			}
		}
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list.NextCursor == "" {
			list.Tools = append(list.Tools, odd...)
		}
		return res, err
	}
}
