// Package direct is the surface without meta-tools: clients see the tools
// themselves, which makes the gateway a plain aggregator.
package direct

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/words"
)

// instructions are what clients may add to their system prompt.
const instructions = `Tools of many servers behind one gateway: SERVER__TOOL is the tool TOOL of the server SERVER.`

type direct struct{}

// New returns the surface, which is the same over every gateway.
func New(*gateway.Gateway, surface.Options) surface.Surface { return direct{} }

func (direct) Tools() []surface.Tool { return nil }

func (direct) Instructions() string { return instructions }

func (direct) Answer(_ context.Context, c surface.Call) *surface.Answer {
	return surface.ErrorAnswer(fmt.Sprintf("there is no tool %q", words.Excerpt(c.Tool)), "list the tools")
}
