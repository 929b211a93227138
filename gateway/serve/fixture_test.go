package serve

import (
	"encoding/json"
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// newGateway serves the test catalog, of which callers do not see the server
// vault.
func newGateway(t testing.TB, calls gateway.Caller, o Options) *Server {
	t.Helper()
	return open(t, calls, gateway.Options{}, o, nil)
}

func open(t testing.TB, calls gateway.Caller, g gateway.Options, o Options, upstreams func() []upstream.Status) *Server {
	t.Helper()
	ix := gatewaytest.Open(t)
	o.Metrics, o.View = NewMetrics(ix, upstreams), gatewaytest.View
	g.Executed = o.Metrics.Executed
	gw := gateway.New(ix, calls, g)
	gatewaytest.Fill(t, gw)
	s, err := New(gw, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// over serves ix as it is.
func over(t testing.TB, ix *index.Index, o Options) *Server {
	t.Helper()
	s, err := New(gateway.New(ix, nil, gateway.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask calls a meta-tool and decodes its object.
func ask(t testing.TB, g *Server, tool, args string) map[string]any {
	t.Helper()
	a := g.Call(t.Context(), tool, json.RawMessage(args))
	if a.IsError {
		t.Fatalf("%s %s: %s", tool, args, a.JSON)
	}
	var out map[string]any
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fail calls a meta-tool that must answer with an error, and returns its
// object.
func fail(t testing.TB, g *Server, tool, args string) (msg, hint string) {
	t.Helper()
	a := g.Call(t.Context(), tool, json.RawMessage(args))
	var out struct{ Error, Hint string }
	if err := json.Unmarshal(a.JSON, &out); err != nil {
		t.Fatalf("%s: %v", a.JSON, err)
	}
	if !a.IsError || out.Error == "" {
		t.Fatalf("%s %s gave %s, want an error", tool, args, a.JSON)
	}
	return out.Error, out.Hint
}
