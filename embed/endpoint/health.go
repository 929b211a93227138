package endpoint

import (
	"context"
	"errors"
	"time"
)

// Health says whether an endpoint works, for people and machines.
type Health struct {
	Provider  string        `json:"provider"`
	Model     string        `json:"model"`
	URL       string        `json:"url,omitempty"`
	Version   string        `json:"version,omitempty"` // the server's
	Reachable bool          `json:"reachable"`
	HasModel  bool          `json:"hasModel"`
	Identity  string        `json:"identity"`
	Dims      int           `json:"dims"`
	Latency   time.Duration `json:"latency"` // of one short text
	Rate      float64       `json:"rate"`    // short texts per second in a batch
	Problem   string        `json:"problem,omitempty"`
}

// A Versioner is a Driver that can say its server's version.
type Versioner interface {
	Version(ctx context.Context) (string, error)
}

// Check asks the server, whatever the breaker says; success closes it. It
// makes three or four requests.
func (e *Endpoint) Check(ctx context.Context) Health {
	h := Health{Provider: e.opts.Provider, Model: e.opts.Model, URL: e.opts.URL}
	if v, ok := e.driver.(Versioner); ok {
		var err error
		if h.Version, err = v.Version(ctx); err == nil {
			h.Reachable = true
		}
	}
	e.distrust()
	err := e.Identify(ctx)
	var status *StatusError
	h.Reachable = h.Reachable || err == nil || errors.As(err, &status)
	h.Identity = e.Model()
	if err == nil {
		h.HasModel, h.Dims = true, e.dims()
		h.Latency, h.Rate, err = e.speed(ctx)
	}
	if err != nil {
		h.Problem = err.Error()
	}
	return h
}

// State is "ok" or why calls are refused, without asking the server.
func (e *Endpoint) State() string { return e.breaker.state() }

// speed times one text, when the model is loaded, and a batch.
func (e *Endpoint) speed(ctx context.Context) (one time.Duration, rate float64, err error) {
	const n = 16
	texts := make([]string, n)
	for i := range texts {
		texts[i] = probeText
	}
	start := time.Now()
	j := job{texts: texts[:1], attempts: 1, lane: e.queries}
	if _, _, err = e.send(ctx, j, anyLength); err != nil {
		return 0, 0, e.wrap(err)
	}
	one = time.Since(start)
	start = time.Now()
	j.texts = texts
	if _, _, err = e.send(ctx, j, anyLength); err != nil {
		return one, 0, e.wrap(err)
	}
	return one, n / time.Since(start).Seconds(), nil
}
