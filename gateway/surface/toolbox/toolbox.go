// Package toolbox is the surface of two meta-tools: open_toolbox shows the
// tools of a named set with their schemas, use_tool runs one of an open set.
//
// A toolbox is a set that the operator named; where there is none, each server
// and each tag is one. Opening is remembered for a session; where the protocol
// has no sessions, every toolbox is open. Errors are plain text, and a tool's
// result is handed on untouched.
package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// vocabulary is how this surface calls what there is to do.
var vocabulary = gateway.OnePlace("open_toolbox")

// A Surface answers the two meta-tools.
type Surface struct {
	g     *gateway.Gateway
	opts  surface.Options
	views *lru.Cache[[2]*index.Scope, view.View] // of toolboxes, by the caller's and their own
}

// keptViews is how many are kept: the catalog asks a new one about every tool.
const keptViews = 128

// New returns the surface over g.
func New(g *gateway.Gateway, o surface.Options) surface.Surface {
	views, err := lru.New[[2]*index.Scope, view.View](keptViews)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Surface{g: g, opts: o.WithDefaults(), views: views}
}

// Tools implements [surface.Surface].
func (s *Surface) Tools() []surface.Tool { return definitions }

// Instructions implements [surface.Surface].
func (s *Surface) Instructions() string { return instructions }

// Answer implements [surface.Surface].
func (s *Surface) Answer(ctx context.Context, c surface.Call) *surface.Answer {
	run := map[string]func(context.Context, surface.Call) (*surface.Answer, error){
		"open_toolbox": s.openToolbox, "use_tool": s.useTool,
	}[c.Tool]
	if run == nil {
		return surface.Failed(fmt.Sprintf("Unknown meta-tool '%s': there are open_toolbox and use_tool", words.Excerpt(c.Tool)))
	}
	answer, err := run(ctx, c)
	if err != nil {
		return surface.Failed(s.told(c, err))
	}
	return answer
}

// A saying is an error in the words of the contract.
type saying string

func (s saying) Error() string { return string(s) }

func sayf(format string, values ...any) error {
	for i, v := range values {
		if s, ok := v.(string); ok {
			values[i] = words.Excerpt(s)
		}
	}
	return saying(fmt.Sprintf(format, values...))
}

// told is err as callers are told it. Failures that are none of the caller's
// are logged too.
func (s *Surface) told(c surface.Call, err error) string {
	var said saying
	if errors.As(err, &said) {
		return string(said)
	}
	s.opts.Logger.Error("meta-tool failed", "meta_tool", c.Tool, "error", err)
	return c.Tool + ": " + err.Error() + "; " + s.opts.Failure()
}

// complaint is what the gateway says of a tool, in one text.
func complaint(err error) string {
	var failure *gateway.Error
	if !errors.As(err, &failure) {
		return err.Error()
	}
	if next := failure.Next.In(vocabulary); next != "" {
		return failure.Problem + "; " + next
	}
	return failure.Problem
}

func listing(names []string, most int) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
