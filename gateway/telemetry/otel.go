// Package telemetry measures a gateway: the [Metrics] that /metrics shows, and,
// where a collector is named, these and traces over OTLP by a [Tracer].
//
// Spans and durations follow OpenTelemetry's semantic conventions for MCP, as
// of version 1.41 (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/): a
// server span for each request of a client, whose parent is what the request
// names in _meta, else in its headers; a client span for each run of a tool,
// which the server is told of in _meta, a REST API in the header traceparent. A
// run at an API is no MCP request and has the convention of GenAI alone.
//
// Neither arguments, results, texts of errors, tokens nor the ids of sessions
// are sent, which to whoever has them may be credentials; who called is.
// Requests that stay open (subscriptions/listen) and notifications have no span.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/tooldex/tooldex/gateway/upstream/mask"
	"github.com/tooldex/tooldex/gateway/upstream/secret"
)

// scope names who measures.
const scope = "github.com/tooldex/tooldex"

// Options say where telemetry goes. Beside them the variables of OpenTelemetry
// hold that do not name an endpoint, such as OTEL_SERVICE_NAME,
// OTEL_TRACES_SAMPLER and OTEL_METRIC_EXPORT_INTERVAL.
type Options struct {
	Endpoint string            // http(s)://host:port of a collector's OTLP over HTTP
	Headers  map[string]string // of each request, with references to secrets
	Version  string            // of this program
	Metrics  *Metrics          // that are sent, too
	Logger   *slog.Logger
}

// A Tracer sends what it is told. Its methods are safe for concurrent use; on a
// nil Tracer they do nothing.
type Tracer struct {
	tracer trace.Tracer
	served mcpconv.ServerOperationDuration
	called mcpconv.ClientOperationDuration

	sending *sending
	ends    []func(context.Context) error // of what sends, which then has sent all
}

// Open returns a Tracer, which is closed. Whether there is a collector shows
// when something is sent.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	t := &Tracer{sending: &sending{log: o.Logger, to: o.Endpoint, headers: o.Headers}}
	// One that redirects is not followed: the headers are the collector's.
	client := &http.Client{Transport: t.sending, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	at := func(path string) string { return strings.TrimSuffix(o.Endpoint, "/") + path }
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("tooldex"), semconv.ServiceVersion(o.Version)), resource.WithFromEnv())
	if err != nil && about == nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(at("/v1/traces")), otlptracehttp.WithHTTPClient(client))
	if err != nil {
		return nil, fmt.Errorf("otel: traces: %w", err)
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spanSender{spans, t.sending}))
	t.ends = append(t.ends, traces.Shutdown)
	t.tracer = traces.Tracer(scope, trace.WithInstrumentationVersion(o.Version), trace.WithSchemaURL(semconv.SchemaURL))
	points, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(at("/v1/metrics")), otlpmetrichttp.WithHTTPClient(client))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("otel: metrics: %w", err), t.Close())
	}
	var also []sdkmetric.PeriodicReaderOption
	if o.Metrics != nil {
		also = append(also, sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(prometheus.Gatherers{o.Metrics.registry}))))
	}
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(pointSender{points, t.sending}, also...)))
	t.ends = append(t.ends, metrics.Shutdown)
	return t, t.measure(metrics.Meter(scope, metric.WithInstrumentationVersion(o.Version), metric.WithSchemaURL(semconv.SchemaURL)))
}

// measure makes the instruments, with the bounds that the conventions advise.
func (t *Tracer) measure(m metric.Meter) (err error) {
	bounds := metric.WithExplicitBucketBoundaries(.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300)
	if t.served, err = mcpconv.NewServerOperationDuration(m, bounds); err != nil {
		return fmt.Errorf("otel: %w", err)
	}
	if t.called, err = mcpconv.NewClientOperationDuration(m, bounds); err != nil {
		return fmt.Errorf("otel: %w", err)
	}
	return nil
}

// lastWords is how long Close waits for a collector.
const lastWords = 3 * time.Second

// Close sends what was not sent yet, if the collector takes it in time.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	var errs []error
	for _, end := range t.ends {
		errs = append(errs, end(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		t.sending.said(err)
	}
	return nil // a gateway ends well without its collector
}

// Problem is why what was sent last did not arrive; nil when it did.
func (t *Tracer) Problem() error {
	if t == nil {
		return nil
	}
	t.sending.mu.Lock()
	defer t.sending.mu.Unlock()
	return t.sending.problem
}

// sending is how everything goes to the collector.
type sending struct {
	log     *slog.Logger
	to      string // endpoint
	headers map[string]string
	secrets secret.Resolver

	mu      sync.Mutex        // guards the fields below
	sent    map[string]string // headers as they were sent last
	problem error
}

// RoundTrip implements [http.RoundTripper]: secrets are read as late as here.
func (s *sending) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	sent := map[string]string{}
	for name, text := range s.headers {
		value, _, err := s.secrets.Resolve(r.Context(), text)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		sent[name] = value
		r.Header.Set(name, value)
	}
	s.mu.Lock()
	s.sent = sent
	s.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// said notes how sending went, and logs when that changes.
func (s *sending) said(err error) {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the address is known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		err = mask.New(s.sent, nil, s.to).Error(err)
	}
	switch {
	case err != nil && s.problem == nil:
		s.log.Warn("telemetry does not arrive at the collector of otel.endpoint; calls go on", "error", err)
	case err == nil && s.problem != nil:
		s.log.Info("telemetry arrives at the collector again")
	}
	s.problem = err
}

// A spanSender sends spans, and keeps what goes wrong from the SDK, which would
// print it.
type spanSender struct {
	sdktrace.SpanExporter
	*sending
}

// ExportSpans implements [sdktrace.SpanExporter].
func (s spanSender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	s.said(s.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// A pointSender does the same with points of metrics.
type pointSender struct {
	sdkmetric.Exporter
	*sending
}

// Export implements [sdkmetric.Exporter].
func (s pointSender) Export(ctx context.Context, points *metricdata.ResourceMetrics) error {
	s.said(s.Exporter.Export(ctx, points))
	return nil
}
