package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Without a Tracer nothing is added, and nothing is allocated.
func TestNone(t *testing.T) {
	var none *Tracer
	ctx := t.Context()
	if none.Arrived(ctx, http.Header{"Accept": {"x"}}) != ctx || none.Problem() != nil || none.Close() != nil {
		t.Error("a nil Tracer does something")
	}
	served, ended := none.Serving(ctx, Request{Method: "tools/call"})
	ended(0, false)
	if served != ctx {
		t.Error("a nil Tracer has a context of its own")
	}
	if n := testing.AllocsPerRun(100, func() { serveOnce(ctx, none) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is not there to take telemetry is a problem that is told, and nothing else.
func TestNobodyThere(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	tracer, err := Open(t.Context(), Options{Endpoint: gone.URL, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	serveOnce(t.Context(), tracer)
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
	if tracer.Problem() == nil {
		t.Error("nobody was there, and all is well")
	}
}

func ran(context.Context, upstream.Request) (upstream.Result, error) { return upstream.Result{}, nil }

var request = Request{Method: "tools/call", Tool: "execute_tool", Endpoint: "default", Protocol: "2026-07-28", ID: "1"}

// serveOnce traces one call as the gateway does.
func serveOnce(ctx context.Context, t *Tracer) {
	ctx, ended := t.Serving(ctx, request)
	_, _ = t.Run(ctx, upstream.Request{Server: "numbers", Tool: "add"}, false, ran)
	ended(0, false)
}

// BenchmarkCall is what a call costs more with a collector, and without.
func BenchmarkCall(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // it is a benchmark of what sends
	}))
	b.Cleanup(collector.Close)
	tracer, err := Open(b.Context(), Options{Endpoint: collector.URL, Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tracer.Close() }) // it never fails
	for name, t := range map[string]*Tracer{"none": nil, "traced": tracer} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				serveOnce(b.Context(), t)
			}
		})
	}
}
