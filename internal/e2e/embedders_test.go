//go:build unix

package e2e

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/embed/embedtest"
	embedding "github.com/tooldex/tooldex/embed/endpoint"
)

func openEmbedder(t *testing.T, c embed.Config) embed.Embedder {
	t.Helper()
	e, err := embed.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := e.(io.Closer); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return e
}

func eachEndpoint(t *testing.T, test func(t *testing.T, e *endpoint)) {
	for name, start := range endpoints {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

func TestRealEmbedderSuite(t *testing.T) {
	eachEndpoint(t, func(t *testing.T, e *endpoint) {
		embedtest.Test(t, func(t *testing.T) embedtest.Embedder { return openEmbedder(t, e.config) }, embedtest.Options{Cosine: .999})
		h := embed.Check(t.Context(), openEmbedder(t, e.config))
		if !h.Reachable || !h.HasModel || h.Dims != 64 || h.Rate <= 0 || h.Problem != "" {
			t.Errorf("health %+v", h)
		}
		t.Logf("%s: %v a text, %.0f texts per second, %s", h.Provider, h.Latency, h.Rate, h.Identity)
		e.kill()
		embedtest.TestGone(t, openEmbedder(t, e.config), embedding.ErrUnavailable)
	})
}

// TestRealModelExchanged: other weights under the same name are another
// identity, the same ones after a restart are not.
func TestRealModelExchanged(t *testing.T) {
	eachEndpoint(t, func(t *testing.T, e *endpoint) {
		emb := openEmbedder(t, e.config)
		first := identityOf(t, emb)
		e.kill()
		if _, err := emb.EmbedQuery(t.Context(), "asked while it is down"); err == nil {
			t.Error("no error from a server that was killed")
		}
		e.start()
		if again := identityOf(t, emb); again != first {
			t.Errorf("after a restart %s is %s", first, again)
		}
		e.reload(2)
		if other := identityOf(t, openEmbedder(t, e.config)); other == first {
			t.Errorf("other weights are %s, too", other)
		}
	})
}

// identityOf embeds a text, trying again while the server starts, and returns
// the identity.
func identityOf(t *testing.T, e embed.Embedder) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		_, err := e.EmbedDocuments(ctx, []string{"list files"})
		if err == nil {
			return e.Model()
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no vector: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
