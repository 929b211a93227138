package gateway

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// metrics are what /metrics shows, in a registry of their own.
type metrics struct {
	registry  *prometheus.Registry
	metaCalls *prometheus.HistogramVec
	toolCalls *prometheus.HistogramVec
}

func newMetrics(ix *index.Index, status func() []upstream.Status) *metrics {
	m := &metrics{
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
	m.registry.MustRegister(m.metaCalls, m.toolCalls, &stateCollector{ix: ix, status: status},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func outcome(ok bool) string {
	if ok {
		return "ok"
	}
	return "error"
}

// metaCall counts one call; unknown meta-tools share one label, as callers
// choose the names.
func (m *metrics) metaCall(tool string, failed bool, took time.Duration) {
	known := false
	for _, d := range surface {
		known = known || d.name == tool
	}
	if !known {
		tool = "unknown"
	}
	m.metaCalls.WithLabelValues(tool, outcome(!failed)).Observe(took.Seconds())
}

func (m *metrics) toolCall(server string, ok bool, took time.Duration) {
	m.toolCalls.WithLabelValues(server, outcome(ok)).Observe(took.Seconds())
}

// A stateCollector reads the index's and the upstreams' state when asked.
type stateCollector struct {
	ix     *index.Index
	status func() []upstream.Status
}

var (
	toolsDesc      = prometheus.NewDesc("tooldex_tools", "Searchable tools.", []string{"server"}, nil)
	generationDesc = prometheus.NewDesc("tooldex_catalog_generation", "Generation of the catalog.", nil, nil)
	upDesc         = prometheus.NewDesc("tooldex_server_up", "1 when the server's session is ready.", []string{"server"}, nil)
	restartsDesc   = prometheus.NewDesc("tooldex_server_restarts_total", "Restarts of the server's session.", []string{"server"}, nil)
	inFlightDesc   = prometheus.NewDesc("tooldex_server_calls_in_flight", "Calls under way.", []string{"server"}, nil)
)

// Describe implements [prometheus.Collector].
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{toolsDesc, generationDesc, upDesc, restartsDesc, inFlightDesc} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	st := c.ix.Status()
	gauge(generationDesc, float64(st.Generation))
	for _, s := range st.Servers {
		gauge(toolsDesc, float64(s.Tools), s.Name)
	}
	if c.status == nil {
		return
	}
	for _, s := range c.status() {
		up := 0.0
		if s.State == upstream.Ready {
			up = 1
		}
		gauge(upDesc, up, s.Name)
		gauge(inFlightDesc, float64(s.InFlight), s.Name)
		out <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(s.Restarts), s.Name)
	}
}
