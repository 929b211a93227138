package serve

import (
	"testing"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/gatewaytest"
	"github.com/tooldex/tooldex/gateway/telemetry"
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
	o.Metrics, o.View = telemetry.NewMetrics(ix, upstreams), gatewaytest.View
	g.Executed = o.Metrics.Executed
	gw := gateway.New(ix, calls, g)
	gatewaytest.Fill(t, gw)
	s, err := New(gw, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hosted serves s on /mcp.
func hosted(s *Server, o HostOptions) *Host {
	o.Metrics, o.Logger = s.opts.Metrics, s.opts.Logger
	h := NewHost(o)
	h.Put(Default, s)
	return h
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

var ask, fail = gatewaytest.Ask, gatewaytest.Fail
