// Package embed turns texts into vectors: [New] makes the embedder that a
// configuration asks for, the model inside the binary (embed/static), an
// Ollama server (embed/ollama), any OpenAI-compatible server (embed/openai),
// or none.
//
// Every embedder names the space of its vectors by an identity
// ([Embedder.Model]): provider, model, digest of the weights or a fingerprint
// of what the server answers, dimensions, prefixes. Vectors of two identities
// are never compared. Stored vectors belong to the caller; this package keeps
// only the vectors of recent queries.
//
// Package embedtest has the suite that every embedder passes.
package embed

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tooldex/tooldex/embed/endpoint"
	"github.com/tooldex/tooldex/embed/ollama"
	"github.com/tooldex/tooldex/embed/openai"
	"github.com/tooldex/tooldex/embed/static"
)

// An Embedder turns texts into vectors of one space. It is safe for
// concurrent use.
//
// An embedder over a server is also an [io.Closer], and has State() string,
// which says without asking the server whether calls are refused at present.
type Embedder interface {
	// Model is the canonical identity of the vector space. A server's is
	// "…@pending" until it was reached, and changes when the server comes back
	// with other weights.
	Model() string
	// EmbedQuery returns the vector of a search text.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	// EmbedDocuments returns one vector a text, in order. On error the slice
	// holds the vectors there are, nil for the others.
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// Providers that Config can name.
const (
	Builtin = "builtin"
	Ollama  = "ollama"
	OpenAI  = "openai"
	None    = "none"
)

// NoPrefix is the value of a prefix setting that turns a known model's prefix
// off.
const NoPrefix = "none"

// Config chooses an embedder. The zero value is the model inside the binary.
type Config struct {
	Provider       string // Builtin, Ollama, OpenAI or None; "" means Builtin
	Model          string // the server's name of the model
	URL            string // "" means the provider's usual address
	Key            string // secret; KeyEnv and KeyFile are safer places
	KeyEnv         string // variable that holds the key; "" means OPENAI_API_KEY for OpenAI's and Azure's own addresses only
	KeyFile        string // file that holds the key
	Dimensions     int    // 0 means the model's
	QueryPrefix    string // "" means what a known model needs, NoPrefix none
	DocumentPrefix string // the same
	KeepAlive      string // Ollama: how long the model stays loaded, as "10m", seconds, or negative for ever
	APIVersion     string // Azure
	Headers        map[string]string
	Timeout        time.Duration // of one request; 0 means 60 s
	Parallel       int           // requests at a time; 0 means 2
	BatchBytes     int           // bytes of text a request; 0 means 64 KiB
	QueryCache     int           // queries kept with their vectors; 0 means 1,000, negative none
}

// New returns the embedder of a configuration. It makes no request: a server
// may be down and come later. None gives a nil Embedder, which stands for
// searching by words only.
func New(c Config) (Embedder, error) {
	switch c.Provider {
	case "", Builtin:
		return builtin(c)
	case None:
		return nil, nil
	case Ollama:
		return newOllama(c)
	case OpenAI:
		return newOpenAI(c)
	}
	return nil, fmt.Errorf("embedding.provider: %q is none of %s, %s, %s, %s", c.Provider, Builtin, Ollama, OpenAI, None)
}

func builtin(c Config) (Embedder, error) {
	if c.Model != "" && c.Model != "static-v1" {
		return nil, fmt.Errorf("embedding.model: %q is not built in, static-v1 is; set embedding.provider to %s or %s", c.Model, Ollama, OpenAI)
	}
	m, err := static.Open()
	if err != nil {
		return nil, err
	}
	return m, nil
}

func newOllama(c Config) (Embedder, error) {
	keep, err := parseKeepAlive(c.KeepAlive)
	if err != nil {
		return nil, err
	}
	headers, _, err := c.headers("")
	if err != nil {
		return nil, err
	}
	address := c.URL
	if address == "" {
		address = ollamaHost(os.Getenv("OLLAMA_HOST"))
	}
	e, err := ollama.New(ollama.Options{URL: address, Model: c.Model, KeepAlive: keep, Headers: headers, Endpoint: c.endpoint()})
	if err != nil {
		return nil, err
	}
	return cached(e.Endpoint, e, c.QueryCache)
}

func newOpenAI(c Config) (Embedder, error) {
	fallback := ""
	if c.URL == "" || strings.HasPrefix(c.URL, openai.DefaultURL) {
		fallback = "OPENAI_API_KEY" // never sent to an address that is not OpenAI's
	}
	key, source, err := c.key(fallback)
	if err != nil {
		return nil, err
	}
	e, err := openai.New(openai.Options{
		URL: c.URL, Model: c.Model, Key: key, KeySource: source,
		APIVersion: c.APIVersion, Headers: c.Headers, Endpoint: c.endpoint(),
	})
	if err != nil {
		return nil, err
	}
	return cached(e, nil, c.QueryCache)
}

func (c Config) endpoint() endpoint.Options {
	query, document := c.prefixes()
	return endpoint.Options{
		Dimensions: c.Dimensions, QueryPrefix: query, DocumentPrefix: document,
		BatchBytes: c.BatchBytes, Parallel: c.Parallel, Timeout: c.Timeout,
	}
}

// prefixes are the configured ones, else those of a known model.
func (c Config) prefixes() (query, document string) {
	known := Prefixes(c.Model)
	pick := func(set, known string) string {
		switch set {
		case "":
			return known
		case NoPrefix:
			return ""
		}
		return set
	}
	return pick(c.QueryPrefix, known.Query), pick(c.DocumentPrefix, known.Document)
}

// headers are the configured ones with the key as a bearer token.
func (c Config) headers(variable string) (headers map[string]string, source string, err error) {
	key, source, err := c.key(variable)
	if err != nil || key == "" {
		return c.Headers, source, err
	}
	headers = map[string]string{"Authorization": "Bearer " + key}
	for k, v := range c.Headers {
		headers[k] = v
	}
	return headers, source, nil
}

// key reads the key from where the configuration says, else from the fallback
// variable, and tells where it was.
func (c Config) key(fallback string) (key, source string, err error) {
	switch {
	case c.Key != "":
		return c.Key, "embedding.key", nil
	case c.KeyFile != "":
		key, err := readKey(c.KeyFile)
		return key, c.KeyFile, err
	case c.KeyEnv != "":
		key := strings.TrimSpace(os.Getenv(c.KeyEnv))
		if key == "" {
			return "", "", fmt.Errorf("embedding.key_env: variable %s is not set or empty", c.KeyEnv)
		}
		return key, "$" + c.KeyEnv, nil
	case fallback != "":
		return strings.TrimSpace(os.Getenv(fallback)), "$" + fallback, nil
	}
	return "", "", nil
}

// readKey takes the key from a file, without the line feed that editors add.
func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("embedding.key_file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", fmt.Errorf("embedding.key_file: %w", err)
	}
	key := strings.TrimSpace(string(b))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", fmt.Errorf("embedding.key_file: %s holds no key on a line of its own", path)
	}
	return key, nil
}

// parseKeepAlive reads Ollama's own forms; nil leaves it to the server.
func parseKeepAlive(s string) (*time.Duration, error) {
	if s == "" {
		return nil, nil
	}
	if n, err := strconv.Atoi(s); err == nil {
		d := time.Duration(n) * time.Second
		return &d, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, fmt.Errorf("embedding.keep_alive: %q is no duration like 10m, and no number of seconds", s)
	}
	return &d, nil
}

// ollamaHost reads OLLAMA_HOST as Ollama's own client does: scheme and port
// may be missing, and an address to listen on everywhere is asked on loopback.
func ollamaHost(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	if host == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, port := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		name, port = rest[:i], rest[i+1:]
	}
	switch name {
	case "", "0.0.0.0", "[::]":
		name = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[scheme]
		if ok && scheme == "http" {
			port = "80"
		}
	}
	return strings.TrimRight(scheme+"://"+name+":"+port+"/"+path, "/")
}
