package evalcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/app"
)

// evalEmbedder opens the embedder that --embedder names, with the settings
// that the configuration has for it.
func (c commands) evalEmbedder(cmd *cobra.Command, name string) (e index.Embedder, done func(), err error) {
	cfg, err := c.LoadConfig(cmd, true)
	if err != nil {
		return nil, nil, err
	}
	if name != cfg.Embedding.Provider {
		cfg.Embedding.Model = "" // it belongs to the other provider
	}
	cfg.Embedding.Provider = name
	emb, closeEmbedder, err := app.OpenEmbedder(cfg)
	if err != nil {
		return nil, nil, cli.Advised(err, cfg)
	}
	done = func() {
		if err := closeEmbedder(); err != nil {
			c.Note("close embedder: %v", err)
		}
	}
	if emb == nil {
		return nil, done, nil // and not an interface that holds nil
	}
	return emb, done, nil
}

// catalogTools reads every tool of the state folder, with its raw object and
// the phrases that count, whatever their source.
func (c commands) catalogTools(cmd *cobra.Command) (tools []index.Tool, err error) {
	err = c.Offline(cmd, func(_ context.Context, e *app.Engine) (err error) {
		tools, err = e.Tools()
		for i := range tools {
			if p, ok := e.Index.Phrases().Of(tools[i].ID()); ok {
				tools[i].Phrases = phrase.Texts(p.Phrases[:p.Counted])
			}
		}
		return err
	})
	return tools, err
}
