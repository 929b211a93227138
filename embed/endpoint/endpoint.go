package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A Driver speaks one protocol to one server. Errors that are replies wrap a
// [*StatusError]; anything else counts as a broken connection.
type Driver interface {
	// Embed returns one vector a text, in order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Digest identifies the model's weights, "" if the server does not tell.
	Digest(ctx context.Context) (string, error)
}

// Options describe the endpoint. Provider and Model are required.
type Options struct {
	Provider, Model string
	URL             string         // for messages, without credentials
	Dimensions      int            // length that vectors are cut to; 0 takes the server's
	QueryPrefix     string         // put before every query
	DocumentPrefix  string         // put before every document
	Batch           int            // most texts a request; 0 means 64
	BatchBytes      int            // most bytes of text a request; 0 means 64 KiB
	MaxText         int            // longer texts are cut before sending; 0 means 32 KiB
	Parallel        int            // most requests at a time; 0 means 2
	Timeout         time.Duration  // of one request; 0 means 60 s, enough to load a model
	Attempts        int            // most tries of a request; 0 means 4
	Hints           map[int]string // what to do about a status, by its code
	Client          *http.Client   // the driver's, whose idle connections Close closes; may be nil
}

func (o Options) withDefaults() Options {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&o.Batch, 64)
	def(&o.BatchBytes, 64<<10)
	def(&o.MaxText, 32<<10)
	def(&o.Parallel, 2)
	def(&o.Attempts, 4)
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	return o
}

// A lane bounds the requests in flight of one kind.
type lane chan struct{}

// An Endpoint embeds texts through a Driver. It is safe for concurrent use.
type Endpoint struct {
	driver  Driver
	opts    Options
	breaker breaker

	// One token a request in flight. Queries have their own lane, so that
	// none waits behind a batch of documents.
	documents, queries lane

	identifying chan struct{} // holds one token: one learns the identity at a time
	life        context.Context
	end         context.CancelFunc
	probes      sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	identity Identity   // Dims 0 until learned
	probed   []float32  // the probe text's vector
	learned  time.Time  // zero: learn before the next text
	latency  time.Duration
	closed   bool
}

// New returns an endpoint that has not spoken to its server: the identity is
// learned by the first text or by [Endpoint.Identify]. Close it when done.
func New(d Driver, o Options) *Endpoint {
	o = o.withDefaults()
	e := &Endpoint{driver: d, opts: o, identifying: make(chan struct{}, 1)}
	e.documents, e.queries = make(lane, o.Parallel), make(lane, o.Parallel)
	e.life, e.end = context.WithCancel(context.Background())
	e.identity = Identity{Provider: o.Provider, Model: o.Model, QueryPrefix: o.QueryPrefix, DocumentPrefix: o.DocumentPrefix}
	return e
}

// Close ends background probes and waits for them. Later calls fail.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end()
	e.probes.Wait()
	if e.opts.Client != nil {
		e.opts.Client.CloseIdleConnections()
	}
	return nil
}

// EmbedQuery returns the vector of a search text. While the breaker is open
// it fails at once.
func (e *Endpoint) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := e.breaker.allow(); err != nil {
		e.probeSoon()
		return nil, e.wrap(err)
	}
	if err := e.Identify(ctx); err != nil {
		return nil, err
	}
	if e.aged() {
		e.probeSoon()
	}
	out := make([][]float32, 1)
	j := job{texts: []string{e.prepare(e.opts.QueryPrefix, text)}, out: out, attempts: 2, lane: e.queries}
	if err := e.embed(ctx, j); err != nil {
		return nil, e.wrap(err)
	}
	return out[0], nil
}

// EmbedDocuments returns one vector a text, in order. On error the slice has
// the vectors there are, nil for the others.
func (e *Endpoint) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embedMany(ctx, e.opts.DocumentPrefix, texts)
}

// EmbedQueries is EmbedDocuments for search texts that nobody waits for: they
// go in batches, and do not get in the way of EmbedQuery.
func (e *Endpoint) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embedMany(ctx, e.opts.QueryPrefix, texts)
}

func (e *Endpoint) embedMany(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	if len(texts) == 0 {
		return out, ctx.Err()
	}
	if err := e.breaker.allow(); err != nil {
		if !e.breaker.due(time.Now()) {
			return out, e.wrap(err)
		}
		e.distrust()
	}
	if e.aged() {
		e.distrust()
	}
	if err := e.Identify(ctx); err != nil {
		return out, err
	}
	prepared := make([]string, len(texts))
	for i, t := range texts {
		prepared[i] = e.prepare(prefix, t)
	}
	if err := e.embedAll(ctx, prepared, out); err != nil {
		return out, e.wrap(err)
	}
	return out, nil
}

// blank stands for a text of white space only: servers answer that with an
// error, a zero vector or no vector at all.
const blank = "-"

// prepare is the text as it is sent.
func (e *Endpoint) prepare(prefix, text string) string {
	text = cut(text, e.opts.MaxText)
	if isBlank(text) {
		text = blank
	}
	return prefix + text
}

// wrap says which endpoint an error is of, and what to do about it.
func (e *Endpoint) wrap(err error) error {
	var status *StatusError
	hint := ""
	if errors.As(err, &status) {
		if h := e.opts.Hints[status.Code]; h != "" {
			hint = "; " + h
		}
	}
	return fmt.Errorf("embed with %s %s at %s: %w%s", e.opts.Provider, e.opts.Model, e.opts.URL, err, hint)
}
