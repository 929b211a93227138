package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/config"
	"github.com/tooldex/tooldex/internal/enrich"
)

// writer is the address of a chat model that writes phrases of the tool that it
// is asked about; bad answers in its stead for the n-th request, if it wants.
func writer(t *testing.T, bad func(n int, w http.ResponseWriter) bool) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Content string }
		}
		var tool enrich.Tool
		if json.NewDecoder(r.Body).Decode(&asked) != nil || len(asked.Messages) != 2 || json.Unmarshal([]byte(asked.Messages[1].Content), &tool) != nil {
			t.Errorf("asked %+v", asked)
		}
		if bad(int(n.Add(1)), w) {
			return
		}
		word := strings.Split(tool.Name, "_")[0]
		answer, _ := json.Marshal(map[string]string{"can": "do what " + word + " does for me", "ask": "could somebody " + word + " it today",
			"ask2": "zyzzyva " + word, "goal": "get " + word + " work done", "words": word + " sums", "local": "bitte " + word + " jetzt"})
		reply, _ := json.Marshal(map[string]any{"message": map[string]string{"content": string(answer)}, "prompt_eval_count": 90, "eval_count": 10})
		w.Write(reply)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// listed is a configuration whose folder has the tools of the sample's numbers.
func listed(t *testing.T) *config.Config {
	t.Helper()
	cfg := written(t, fmt.Sprintf("phrases: {pack: off}\nmcpServers: {numbers: {url: %q}}", numbers(t)))
	online := opened(t, cfg, Options{Online: true})
	if _, err := online.Relist(t.Context(), cfg.Names(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEnrich(t *testing.T) {
	cfg := listed(t)
	m, err := ChatModel(config.Chat{Provider: "ollama", Model: "tiny", URL: writer(t, func(n int, w http.ResponseWriter) bool {
		if n == 2 {
			fmt.Fprint(w, `{"message":{"content":"I would rather not."}}`)
		}
		return n == 2
	})})
	if err != nil {
		t.Fatal(err)
	}
	e := opened(t, cfg, Options{Writing: true})
	tools, names, err := ToEnrich(e, Missing, nil)
	if err != nil || len(tools) < 3 {
		t.Fatalf("%d tools lack phrases, %v", len(tools), err)
	}
	r, err := Enrich(t.Context(), e, m, tools, enrich.Options{Names: names})
	if err != nil || r.Written != len(tools)-1 || len(r.Failed) != 1 || r.Failed[0].Tool != tools[1].QualifiedName() {
		t.Fatalf("%+v, %v", r, err)
	}
	// What was written is there for the next process, which goes on with the rest.
	again := opened(t, cfg, Options{Writing: true})
	rest, _, err := ToEnrich(again, Missing, []string{"numbers"})
	if err != nil || len(rest) != 1 || rest[0].ID != tools[1].ID {
		t.Errorf("%+v, %v", rest, err)
	}
	of, ok := again.Index.Phrases().Of(tools[0].ID)
	if !ok || of.Counted != 6 || of.Phrases[0].Source != phrase.Model || of.Phrases[0].Model != "tiny (prompt 1)" || of.Phrases[0].Time.IsZero() {
		t.Errorf("%+v", of)
	}
	if all, _, err := ToEnrich(again, AnyTools, nil); err != nil || len(all) != len(tools) || all[0].ID != tools[1].ID {
		t.Errorf("%d of %d tools, %v: the one without phrases is not the first: %+v", len(all), len(tools), err, all)
	}
	if stale, _, err := ToEnrich(again, Stale, nil); err != nil || len(stale) != 0 {
		t.Errorf("%+v, %v", stale, err)
	}
	if _, _, err := ToEnrich(again, Missing, []string{"nobody"}); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("an unknown server: %v", err)
	}
}

// A key that is wrong ends the run with the first tool; what nobody answers
// ends it after some.
func TestEnrichRefused(t *testing.T) {
	e := opened(t, listed(t), Options{Writing: true})
	tools, names, err := ToEnrich(e, Missing, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ChatModel(config.Chat{Provider: "ollama", Model: "tiny", URL: writer(t, func(_ int, w http.ResponseWriter) bool {
		http.Error(w, `{"error":"model 'tiny' not found"}`, http.StatusNotFound)
		return true
	})})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Enrich(t.Context(), e, m, tools, enrich.Options{Names: names})
	if err != nil || r.Tools != 1 || r.Left != len(tools)-1 || !strings.Contains(r.Why, "model 'tiny' not found") {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Enrich(ctx, e, m, tools, enrich.Options{}); !errors.Is(err, context.Canceled) || r.Tools != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestChatModel(t *testing.T) {
	t.Setenv("TOOLDEX_TEST_KEY", "")
	if _, err := ChatModel(config.Chat{}); !errors.Is(err, ErrNoChat) {
		t.Errorf("none: %v", err)
	}
	_, err := ChatModel(config.Chat{Provider: "openai", Model: "m", KeyEnv: "TOOLDEX_TEST_KEY"})
	if err == nil || !strings.Contains(err.Error(), "TOOLDEX_TEST_KEY") {
		t.Errorf("no key: %v", err)
	}
}
