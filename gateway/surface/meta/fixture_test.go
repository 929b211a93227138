package meta

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A fixture is the surface over a gateway with the test catalog, of which the
// view hides the server vault.
type fixture struct {
	*gateway.Gateway
	ix      *index.Index
	surface surface.Surface
	view    view.View
}

func newGateway(t testing.TB, calls gateway.Caller, o gateway.Options) *fixture {
	t.Helper()
	return newSurface(t, calls, o, surface.Options{})
}

func newSurface(t testing.TB, calls gateway.Caller, o gateway.Options, so surface.Options) *fixture {
	t.Helper()
	f := over(gatewaytest.Open(t), calls, o, so)
	f.view = gatewaytest.View
	gatewaytest.Fill(t, f.Gateway)
	return f
}

// over is the surface over ix as it is, all of it in view.
func over(ix *index.Index, calls gateway.Caller, o gateway.Options, so surface.Options) *fixture {
	g := gateway.New(ix, calls, o)
	return &fixture{Gateway: g, ix: ix, surface: New(g, so)}
}

// Call calls a meta-tool.
func (f *fixture) Call(ctx context.Context, tool string, args json.RawMessage) *surface.Answer {
	return f.surface.Answer(ctx, surface.Call{Tool: tool, Arguments: args, View: f.view, Protocol: gateway.StatelessEra})
}

var ask, fail = gatewaytest.Ask, gatewaytest.Fail

// names are the qualified names of an answer's tools.
func names(answer map[string]any) []string {
	var out []string
	for _, r := range answer["tools"].([]any) {
		out = append(out, r.(map[string]any)["qualified_name"].(string))
	}
	return out
}

func wantNames(t *testing.T, got []string, want string) {
	t.Helper()
	if !slices.Equal(got, strings.Fields(want)) {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}
