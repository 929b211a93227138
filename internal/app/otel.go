package app

import (
	"context"

	"github.com/tooldex/tooldex/gateway/telemetry"
)

// openTracer opens what tells a collector, if one is named.
func openTracer(e *Engine, m *telemetry.Metrics) (err error) {
	o := e.Config.Otel
	if o.Endpoint == "" {
		return nil
	}
	e.tracer, err = telemetry.Open(context.Background(), telemetry.Options{
		Endpoint: o.Endpoint, Headers: o.Headers, Version: e.version, Metrics: m, Logger: e.log,
	})
	if e.Servers != nil {
		e.Servers.tracer = e.tracer
	}
	return err
}

// Traced says how it stands with telemetry.
type Traced struct {
	Endpoint string `json:"endpoint"`
	Problem  string `json:"problem,omitempty"` // why it does not arrive
}

func tracedStatus(e *Engine) *Traced {
	if e.Config.Otel.Endpoint == "" {
		return nil
	}
	t := &Traced{Endpoint: e.Config.Otel.Endpoint}
	if err := e.tracer.Problem(); err != nil {
		t.Problem = err.Error()
	}
	return t
}
