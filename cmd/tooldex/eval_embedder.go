package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/index"
)

// evalEmbedder opens the embedder that --embedder names.
func evalEmbedder(_ *cobra.Command, name string) (e index.Embedder, done func(), err error) {
	done = func() {}
	switch name {
	case "none":
		return nil, done, nil
	case "builtin":
		m, err := static.Open()
		if err != nil {
			return nil, nil, fmt.Errorf("open the built-in model: %w", err)
		}
		return m, done, nil
	}
	return nil, nil, fmt.Errorf("--embedder %q: want builtin or none", name)
}
