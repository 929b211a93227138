// Package ollama embeds through an Ollama server. [New] gives an embedder
// that has not spoken to the server; the identity contains the model's digest
// as the server lists it, so a model pulled anew under the same tag is
// another vector space.
//
// Ollama cuts a text that is longer than the model's context by itself. Old
// versions (0.9 for one) ignore dimensions; vectors are then cut here. A model
// is pulled only by [Embedder.Pull].
package ollama

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/tooldex/tooldex/embed/endpoint"
)

// DefaultURL is where Ollama listens unless OLLAMA_HOST says otherwise.
const DefaultURL = "http://127.0.0.1:11434"

// Options describe the server and the model. Model is required; the
// endpoint's Provider, Model, URL, Hints and Client are filled here.
type Options struct {
	URL       string // "" means DefaultURL
	Model     string
	KeepAlive *time.Duration    // how long the model stays loaded; nil is the server's choice, negative for ever
	Headers   map[string]string // sent with every request, for a proxy in front
	Endpoint  endpoint.Options
}

// An Embedder embeds with one model of one server.
type Embedder struct {
	*endpoint.Endpoint
	driver *driver
}

// New checks the options; it makes no request.
func New(o Options) (*Embedder, error) {
	if o.Model == "" {
		return nil, fmt.Errorf("open ollama embedder: no model; set embedding.model, for example to nomic-embed-text")
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("open ollama embedder: embedding.url %q is no address like %s", o.URL, DefaultURL)
	}
	client := endpoint.HTTPClient(o.Headers)
	d := &driver{client: api.NewClient(base, client), model: o.Model, dimensions: o.Endpoint.Dimensions}
	if o.KeepAlive != nil {
		d.keepAlive = &api.Duration{Duration: *o.KeepAlive}
	}
	e := o.Endpoint
	e.Provider, e.Model, e.URL, e.Client = "ollama", o.Model, base.Redacted(), client
	e.Hints = map[int]string{
		http.StatusNotFound:     fmt.Sprintf("pull the model with \"ollama pull %s\" or correct embedding.model", o.Model),
		http.StatusUnauthorized: "set embedding.headers for the proxy in front of the server",
		http.StatusForbidden:    "set embedding.headers for the proxy in front of the server",
		http.StatusBadRequest:   "check that embedding.model is an embedding model, and embedding.dimensions",
	}
	return &Embedder{Endpoint: endpoint.New(d, e), driver: d}, nil
}

// Pull downloads the model to the server. It calls report as it goes on, with
// what is being done and bytes; total is 0 while it is not known.
func (e *Embedder) Pull(ctx context.Context, report func(status string, done, total int64)) error {
	err := e.driver.client.Pull(ctx, &api.PullRequest{Model: e.driver.model}, func(p api.ProgressResponse) error {
		report(p.Status, p.Completed, p.Total)
		return nil
	})
	if err != nil {
		return fmt.Errorf("pull %s: %w", e.driver.model, err)
	}
	return nil
}

type driver struct {
	client     *api.Client
	model      string
	dimensions int
	keepAlive  *api.Duration
}

func (d *driver) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	res, err := d.client.Embed(ctx, &api.EmbedRequest{
		Model:      d.model,
		Input:      texts,
		KeepAlive:  d.keepAlive,
		Dimensions: d.dimensions,
	})
	if err != nil {
		return nil, err
	}
	return res.Embeddings, nil
}

// Digest looks the model up in the server's list; show does not tell it.
func (d *driver) Digest(ctx context.Context) (string, error) {
	list, err := d.client.List(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list.Models {
		if sameModel(m.Name, d.model) || sameModel(m.Model, d.model) {
			if len(m.Digest) < 12 {
				return "", nil // a proxy that lists no digests: the probe tells
			}
			return strings.TrimPrefix(m.Digest, "sha256:")[:12], nil
		}
	}
	return "", &endpoint.StatusError{Code: http.StatusNotFound, Message: fmt.Sprintf("no model %q among the %d it has", d.model, len(list.Models))}
}

// Version is the server's version.
func (d *driver) Version(ctx context.Context) (string, error) { return d.client.Version(ctx) }

// sameModel compares names as Ollama does: no tag means latest.
func sameModel(a, b string) bool {
	full := func(s string) string {
		if !strings.Contains(s[strings.LastIndexByte(s, '/')+1:], ":") {
			s += ":latest"
		}
		return strings.ToLower(s)
	}
	return full(a) == full(b)
}
