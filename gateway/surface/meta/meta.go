// Package meta is the surface of six meta-tools: search_tools, list_tools,
// describe_tool, execute_tool, get_tool_categories and get_similar_tools.
//
// Every error is a result with isError and one JSON object {"error", "hint"}
// that names the meta-tool, the thing and the next step.
package meta

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
)

// Meta-tools that an operator can replace or turn off.
const (
	executeTool    = "execute_tool"
	CategoriesTool = "get_tool_categories"
	SimilarTool    = "get_similar_tools"
)

// nameHint says how to name a tool.
const nameHint = `give a tool as search_tools names it, "server/tool" or its id`

// vocabulary is how this surface calls what there is to do.
var vocabulary = gateway.Vocabulary{
	Search: "search_tools", List: "list_tools", Describe: "describe_tool",
	Categories: CategoriesTool, Similar: SimilarTool,
	Labels: "get_tool_categories with include_servers", Start: `"tooldex serve"`, Status: `"tooldex status"`,
	Hybrid: `search_type "hybrid"`, Keyword: `search_type "keyword"`, MinScore: "min_score", Timeout: "options.timeout_ms",
}

// A Surface answers the six meta-tools.
type Surface struct {
	g        *gateway.Gateway
	opts     surface.Options
	tools    []surface.Tool
	handlers map[string]handler
}

// A handler answers the calls of one meta-tool. Its error is a callError, a
// [gateway.Error], or a failure that is none of the caller's.
type handler func(ctx context.Context, c surface.Call) (*surface.Answer, error)

// New returns the surface over g.
func New(g *gateway.Gateway, o surface.Options) surface.Surface {
	o = o.WithDefaults()
	s := &Surface{g: g, opts: o}
	timeout, most := g.Timeouts()
	s.tools = withNumbers(o, timeout, most)
	s.handlers = map[string]handler{
		"search_tools":  s.searchTools,
		"list_tools":    s.listTools,
		"describe_tool": s.describeTool,
		CategoriesTool:  s.toolCategories,
		SimilarTool:     s.similarTools,
	}
	for _, t := range s.tools {
		if t.RunsTools {
			s.handlers[t.Name] = s.runTool(t.Effect)
		}
	}
	return s
}

// Tools implements [surface.Surface].
func (s *Surface) Tools() []surface.Tool { return s.tools }

// Instructions implements [surface.Surface].
func (s *Surface) Instructions() string {
	if s.opts.SplitExecute {
		return splitInstructions
	}
	return instructions
}

// Answer implements [surface.Surface].
func (s *Surface) Answer(ctx context.Context, c surface.Call) *surface.Answer {
	answer, err := s.answer(ctx, c)
	if err != nil {
		e := s.told(c.Tool, err)
		return surface.Failure(err, e.Problem, e.Hint)
	}
	return answer
}

func (s *Surface) answer(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	run, ok := s.handlers[c.Tool]
	if !ok {
		var names []string
		for _, t := range s.tools {
			names = append(names, t.Name)
		}
		return nil, &args.Error{
			Problem: fmt.Sprintf("unknown meta-tool %q%s", words.Excerpt(c.Tool), words.DidYouMean(c.Tool, names)),
			Hint:    "the meta-tools are " + words.Join(names),
		}
	}
	if setting, off := s.opts.Off[c.Tool]; off {
		return nil, &args.Error{Problem: c.Tool + ": " + TurnedOff(setting), Hint: "use search_tools or list_tools"}
	}
	return run(ctx, c)
}

// TurnedOff says why a meta-tool does not answer.
func TurnedOff(setting string) string { return "the operator turned it off (" + setting + ")" }

// told is err as callers are told it. Failures that are none of the caller's
// are logged too.
func (s *Surface) told(tool string, err error) *args.Error {
	var said *args.Error
	if errors.As(err, &said) {
		return said
	}
	var failure *gateway.Error
	if errors.As(err, &failure) {
		at := tool + ": "
		if failure.Tool != "" {
			at = tool + " "
		}
		return &args.Error{Problem: at + failure.Error(), Hint: failure.Next.In(vocabulary)}
	}
	s.opts.Logger.Error("meta-tool failed", "meta_tool", tool, "error", err)
	return &args.Error{
		Problem: tool + ": " + strings.TrimPrefix(err.Error(), tool+": "),
		Hint:    s.opts.Failure(),
	}
}
