package servercmd

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/embed/embedtest"
	"github.com/tooldex/tooldex/internal/config"
)

// TestPullModel: the model is pulled when it is missing, and only then.
func TestPullModel(t *testing.T) {
	var pulls atomic.Int32
	var s *embedtest.Server
	s = embedtest.NewServer(t, embedtest.Behaviour{Model: "other", Fault: func(w http.ResponseWriter, r *http.Request, _ embedtest.Request) bool {
		if r.URL.Path != "/api/pull" {
			return false
		}
		pulls.Add(1)
		embedtest.Reply(w, map[string]any{"status": "pulling", "completed": 1 << 20, "total": 1 << 21})
		s.Behave(embedtest.Behaviour{Model: "tiny"})
		return true
	}})
	cfg := &config.Config{Embedding: config.Embedding{Provider: "ollama", Model: "tiny", URL: s.URL}, Meta: config.Meta{EnableSemanticSearch: true}}
	c := commands{&cli.CLI{Terminal: &term.Terminal{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}}
	if before := checkEmbedder(t.Context(), cfg); before.OK || before.Remedy != "tooldex doctor --pull" {
		t.Errorf("without the model: %+v", before)
	}
	if f := c.pullModel(t.Context(), cfg); f == nil || !f.OK || pulls.Load() != 1 {
		t.Errorf("%+v after %d pulls", f, pulls.Load())
	}
	if after := checkEmbedder(t.Context(), cfg); !after.OK {
		t.Errorf("with the model: %+v", after)
	}
	if f := c.pullModel(t.Context(), cfg); f != nil || pulls.Load() != 1 {
		t.Errorf("a model that is there: %+v after %d pulls", f, pulls.Load())
	}
}

func TestPullModelElsewhere(t *testing.T) {
	s := embedtest.NewServer(t, embedtest.Behaviour{Model: "other"})
	c := commands{&cli.CLI{Terminal: &term.Terminal{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}}
	for want, e := range map[string]config.Embedding{
		"cannot be told":  {Provider: "openai", Model: "tiny", URL: s.URL},
		"nothing to pull": {Provider: "builtin"},
	} {
		if f := c.pullModel(t.Context(), &config.Config{Embedding: e, Meta: config.Meta{EnableSemanticSearch: true}}); f == nil || !strings.Contains(f.Detail, want) {
			t.Errorf("%s: %+v", e.Provider, f)
		}
	}
	gone := config.Embedding{Provider: "ollama", Model: "tiny", URL: "http://127.0.0.1:1"}
	if f := c.pullModel(t.Context(), &config.Config{Embedding: gone, Meta: config.Meta{EnableSemanticSearch: true}}); f != nil {
		t.Errorf("a server that is not there is the embedder's own finding, not %+v", f)
	}
}
