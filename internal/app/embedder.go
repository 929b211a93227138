package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/config"
)

// OpenEmbedder opens the embedder that cfg names; nil stands for searching by
// words only. The caller calls done, which is never nil without an error.
// It makes no request: the embedder's server may come later.
func OpenEmbedder(cfg *config.Config) (e embed.Embedder, done func() error, err error) {
	if e, err = embed.New(embedding(cfg)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrEmbedding, err)
	}
	if c, ok := e.(io.Closer); ok {
		return e, c.Close, nil
	}
	return e, func() error { return nil }, nil
}

// openFallback opens what stands in for an embedder over a server: the model
// inside the binary, and nothing for that model itself.
func openFallback(cfg *config.Config) (index.Embedder, error) {
	if p := embedding(cfg).Provider; p == embed.None || p == embed.Builtin {
		return nil, nil
	}
	return embed.New(embed.Config{})
}

func embedding(cfg *config.Config) embed.Config {
	if !cfg.Semantic() {
		return embed.Config{Provider: embed.None}
	}
	c := cfg.Embedding
	return embed.Config{
		Provider: c.Provider, Model: c.Model, URL: c.URL, Key: c.Key, KeyEnv: c.KeyEnv, KeyFile: c.KeyFile,
		Dimensions: c.Dimensions, QueryPrefix: c.QueryPrefix, DocumentPrefix: c.DocumentPrefix,
		KeepAlive: c.KeepAlive, APIVersion: c.APIVersion, Headers: c.Headers,
		Timeout: time.Duration(c.Timeout), Parallel: c.Parallel, BatchBytes: c.BatchBytes,
	}
}

// ReadParams reads a file of ranking parameters; nil for no path. What the
// file leaves out keeps its default; a field, fusion or threshold that it
// names is taken whole.
func ReadParams(path string) (*index.Params, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	p := index.DefaultParams()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("read parameters %s: %w", path, err)
	}
	return &p, nil
}
