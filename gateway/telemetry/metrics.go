package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// Metrics are what /metrics shows, in a registry of their own.
type Metrics struct {
	registry  *prometheus.Registry
	metaCalls *prometheus.HistogramVec
	toolCalls *prometheus.HistogramVec

	// Catalog and Upstreams say what there is; Upstreams may be nil.
	Catalog   Catalog
	Upstreams func() []upstream.Status
}

// A Catalog says how many tools there are.
type Catalog interface{ Status() index.Status }

// NewMetrics returns the metrics of a process that has a catalog and
// upstreams; either may be nil.
func NewMetrics(catalog Catalog, upstreams func() []upstream.Status) *Metrics {
	if catalog == nil {
		catalog = noCatalog{}
	}
	m := &Metrics{
		Catalog: catalog, Upstreams: upstreams,
		registry: prometheus.NewRegistry(),
		metaCalls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tooldex_meta_tool_seconds", Help: "Duration of meta-tool calls.",
			Buckets: prometheus.ExponentialBuckets(.0001, 4, 10),
		}, []string{"meta_tool", "outcome"}),
		toolCalls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tooldex_tool_seconds", Help: "Duration of calls to servers.",
			Buckets: prometheus.ExponentialBuckets(.001, 4, 10),
		}, []string{"server", "outcome"}),
	}
	m.registry.MustRegister(m.metaCalls, m.toolCalls, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

type noCatalog struct{}

func (noCatalog) Status() index.Status { return index.Status{} }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func outcome(ok bool) string {
	if ok {
		return "ok"
	}
	return "error"
}

// MetaCall counts one call of a tool that clients see.
func (m *Metrics) MetaCall(tool string, failed bool, took time.Duration) {
	m.metaCalls.WithLabelValues(tool, outcome(!failed)).Observe(took.Seconds())
}

// Executed counts one execution, as [gateway.Options] asks.
func (m *Metrics) Executed(server string, ok bool, took time.Duration) {
	m.toolCalls.WithLabelValues(server, outcome(ok)).Observe(took.Seconds())
}

var (
	toolsDesc      = prometheus.NewDesc("tooldex_tools", "Searchable tools.", []string{"server"}, nil)
	generationDesc = prometheus.NewDesc("tooldex_catalog_generation", "Generation of the catalog.", nil, nil)
	upDesc         = prometheus.NewDesc("tooldex_server_up", "1 when the server's session is ready.", []string{"server"}, nil)
	restartsDesc   = prometheus.NewDesc("tooldex_server_restarts_total", "Restarts of the server's session.", []string{"server"}, nil)
	inFlightDesc   = prometheus.NewDesc("tooldex_server_calls_in_flight", "Calls under way.", []string{"server"}, nil)
)

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{toolsDesc, generationDesc, upDesc, restartsDesc, inFlightDesc} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	st := m.Catalog.Status()
	gauge(generationDesc, float64(st.Generation))
	for _, s := range st.Servers {
		gauge(toolsDesc, float64(s.Tools), s.Name)
	}
	if m.Upstreams == nil {
		return
	}
	for _, s := range m.Upstreams() {
		up := 0.0
		if s.State == upstream.Ready {
			up = 1
		}
		gauge(upDesc, up, s.Name)
		gauge(inFlightDesc, float64(s.InFlight), s.Name)
		out <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(s.Restarts), s.Name)
	}
}
