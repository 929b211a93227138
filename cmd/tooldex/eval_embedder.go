package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
)

// evalEmbedder opens the embedder that --embedder names, with the settings
// that the configuration has for it.
func (a *app) evalEmbedder(cmd *cobra.Command, name string) (e index.Embedder, done func(), err error) {
	cfg, err := a.loadConfig(cmd, true)
	if err != nil {
		return nil, nil, err
	}
	if name != cfg.Embedding.Provider {
		cfg.Embedding.Model = "" // it belongs to the other provider
	}
	cfg.Embedding.Provider = name
	en := &engine{cfg: cfg}
	if _, err := en.openEmbedders(); err != nil {
		return nil, nil, errors.Join(err, en.close())
	}
	return en.emb, func() {
		if err := en.close(); err != nil {
			a.note("close embedder: %v", err)
		}
	}, nil
}

// catalogTools reads every tool of the state folder, with its raw object.
func (a *app) catalogTools(cmd *cobra.Command) (tools []index.Tool, err error) {
	e, err := a.openEngine(cmd, engineOptions{optional: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	hits, _ := e.ix.List(index.Listing{})
	if len(hits) == 0 {
		return nil, hint(fmt.Errorf("read catalog %s: it holds no tools", e.cfg.State), "list them with \"tooldex reindex\"")
	}
	tools = make([]index.Tool, len(hits))
	for i, h := range hits {
		tools[i] = h.Tool
		if tools[i].Raw, err = e.ix.Raw(h.ID); err != nil {
			return nil, fmt.Errorf("read catalog %s: tool %s: %w", e.cfg.State, h.Tool.QualifiedName(), err)
		}
	}
	return tools, nil
}
