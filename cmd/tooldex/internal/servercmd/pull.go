package servercmd

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

// pullModel has the embedding server download its model, if it can and has
// not. A nil finding says that nothing went wrong; the check of the embedder
// that follows tells the rest.
func (c commands) pullModel(ctx context.Context, cfg *config.Config) *finding {
	const what = "embedding model"
	e, done, err := app.OpenEmbedder(cfg)
	if err != nil {
		return nil // checkEmbedder says so
	}
	defer done() // it was only asked
	remote, ok := e.(*embed.Remote)
	if !ok {
		return &finding{what, true, fmt.Sprintf("nothing to pull: provider %s has its model", cfg.Embedding.Provider), ""}
	}
	if h := remote.Check(ctx); h.HasModel || !h.Reachable {
		return nil
	}
	puller, ok := remote.Puller()
	if !ok {
		return &finding{what, false, fmt.Sprintf("a server of provider %s cannot be told to pull a model", cfg.Embedding.Provider), "load the model there, or set embedding.model to one that it has"}
	}
	bars := term.NewBars(c.Err, c.JSON)
	defer bars.Finish()
	err = puller.Pull(ctx, func(status string, done, total int64) {
		if total > 0 {
			bars.Tick(status, int(done>>10), int(total>>10)) // KiB, which fit an int everywhere
		}
	})
	if err != nil {
		return &finding{what, false, err.Error(), "correct embedding.model, or see whether the server reaches its registry"}
	}
	return &finding{what, true, "pulled " + cfg.Embedding.Model, ""}
}
