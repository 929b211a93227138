// Package discover is the surface of three meta-tools: discover_tools browses
// the catalog by domain and group and searches it, get_tool_schema shows what a
// tool takes, execute_tool runs it.
//
// A domain is a server; gateway.Domain says what its groups are. Errors are
// results with isError and {"error"}: what is wrong and what there is instead,
// in one text. Where that text says nothing of the next step, "hint" does.
package discover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// vocabulary is how this surface calls what there is to do.
var vocabulary = gateway.Vocabulary{
	Search: "discover_tools with a query", List: "discover_tools", Describe: "get_tool_schema",
	Categories: "discover_tools", Similar: "discover_tools with a query",
	Labels: "discover_tools", Start: `"tooldex serve"`, Status: `"tooldex status"`,
	Hybrid: `search_mode "hybrid"`, Keyword: `search_mode "keyword"`, MinScore: "min_score",
	Timeout: "the operator's execution.timeout_seconds",
}

// An error proposes maxNear names, maxMeant where one of them was given.
const (
	maxNear  = 2
	maxMeant = 20
)

// nameHint says how to name a tool.
const nameHint = "give a tool_name as discover_tools returns it"

// A Surface answers the three meta-tools.
type Surface struct {
	g        *gateway.Gateway
	opts     surface.Options
	handlers map[string]handler
}

// A handler answers the calls of one meta-tool.
type handler func(ctx context.Context, c surface.Call) (*surface.Answer, error)

// New returns the surface over g.
func New(g *gateway.Gateway, o surface.Options) surface.Surface {
	s := &Surface{g: g, opts: o.WithDefaults()}
	s.handlers = map[string]handler{
		"discover_tools": s.discoverTools, "get_tool_schema": s.toolSchema, "execute_tool": s.executeTool,
	}
	return s
}

// Tools implements [surface.Surface].
func (s *Surface) Tools() []surface.Tool { return definitions }

// Instructions implements [surface.Surface].
func (s *Surface) Instructions() string { return instructions }

// Answer implements [surface.Surface].
func (s *Surface) Answer(ctx context.Context, c surface.Call) *surface.Answer {
	run, ok := s.handlers[c.Tool]
	if !ok {
		return surface.ErrorAnswer(fmt.Sprintf("unknown meta-tool %q", words.Excerpt(c.Tool)), "the meta-tools are discover_tools, get_tool_schema, execute_tool")
	}
	answer, err := run(ctx, c)
	if err != nil {
		problem, hint := s.told(c, err)
		return failed(err, problem, hint)
	}
	return answer
}

// failed is an error as callers get it; a hint of "" is left out.
func failed(err error, problem, hint string) *surface.Answer {
	if hint != "" {
		return surface.Failure(err, problem, hint)
	}
	var o rawjson.Writer
	o.Add("error", rawjson.Quote(problem))
	a := surface.Object(o.Bytes())
	a.IsError = true
	return a
}

// A saying is an error in the words of the contract, which need no hint.
type saying string

func (s saying) Error() string { return string(s) }

// told is err as callers are told it. Failures that are none of the caller's
// are logged too.
func (s *Surface) told(c surface.Call, err error) (problem, hint string) {
	var said saying
	var wrong *args.Error
	var failure *gateway.Error
	switch {
	case errors.As(err, &said):
		return string(said), ""
	case errors.As(err, &wrong):
		return wrong.Problem, wrong.Hint
	case !errors.As(err, &failure):
		s.opts.Logger.Error("meta-tool failed", "meta_tool", c.Tool, "error", err)
		return c.Tool + ": " + err.Error(), s.opts.Failure()
	case errors.Is(err, gateway.ErrUnknownTool) && failure.Tool == "":
		return s.unknown(c, failure), ""
	case errors.Is(err, gateway.ErrAmbiguousName):
		return fmt.Sprintf("Several tools are named '%s'.%s", words.Excerpt(failure.Name), s.proposal(c.View, failure.Near, maxMeant)), ""
	}
	return failure.Error(), failure.Next.In(vocabulary)
}

// unknown says which tools a name may have meant.
func (s *Surface) unknown(c surface.Call, e *gateway.Error) string {
	text := fmt.Sprintf("Unknown tool '%s'.", words.Excerpt(e.Name)) + s.proposal(c.View, e.Near, maxNear)
	if len(e.Near) == 0 || c.Tool == "get_tool_schema" {
		text += " Use discover_tools to browse available tools."
	}
	return text
}

// proposal asks whether the first few of the tools were meant; "" without any.
func (s *Surface) proposal(v view.View, near []index.Hit, most int) string {
	var names []string
	for _, h := range near[:min(len(near), most)] {
		names = append(names, "'"+s.g.ShortName(v, h)+"'")
	}
	if len(names) == 0 {
		return ""
	}
	last := len(names) - 1
	list := strings.Join(names[:last], ", ")
	if last > 0 {
		list += " or "
	}
	return " Did you mean " + list + names[last] + "?"
}

// unreachable says that a tool's server is away, if that is what err is.
func (s *Surface) unreachable(v view.View, err error) error {
	var failure *gateway.Error
	if !errors.Is(err, gateway.ErrUnavailable) || !errors.As(err, &failure) {
		return err
	}
	about := failure.Near[0]
	return saying(fmt.Sprintf("Tool '%s' is temporarily unavailable: upstream server '%s' is unreachable. Other domains are still available.", s.g.ShortName(v, about), about.Tool.Server))
}
