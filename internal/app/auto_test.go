package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/config"
)

// modelled counts the tools that a model has written phrases for.
func modelled(e *Engine) (n int) {
	for _, t := range e.Index.Phrases().List() {
		for _, p := range t.Phrases {
			if p.Source == phrase.Model {
				n++
				break
			}
		}
	}
	return n
}

// later is the same hour's book as it is when the time has passed.
func later(t *testing.T, a *auto, passed time.Duration) {
	t.Helper()
	b := readAuto(a.engine.Config.State)
	b.Since = b.Since.Add(-passed)
	if !b.Until.IsZero() {
		b.Until = b.Until.Add(-passed)
	}
	a.write(&b)
}

// unhurried is an engine whose model may be asked at any rate.
func unhurried(t *testing.T, cfg *config.Config) *Engine {
	e := opened(t, cfg, Options{Online: true, Serving: true})
	e.auto.perMinute = 0
	return e
}

// What servers list gets phrases in the background, no more tools an hour than
// the configuration says, whichever process asks. A tool for which the model
// writes nonsense is not asked for again, and while the model is down it is
// asked less and less.
func TestAuto(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	url := writer(t, func(n int, w http.ResponseWriter) bool {
		if asked.Add(1); down.Load() {
			http.Error(w, `{"error":"model 'tiny' not found"}`, http.StatusNotFound)
			return true
		}
		if n == 2 {
			fmt.Fprint(w, `{"message":{"content":"I would rather not."}}`)
		}
		return n == 2
	})
	cfg := listed(t)
	cfg.Phrases = config.Phrases{Pack: "off", Learn: "off", Auto: true, AutoTools: 3, AutoTokens: 10_000,
		Model: config.Chat{Provider: "ollama", Model: "tiny", URL: url}}
	e := unhurried(t, cfg)
	if next := e.auto.turn(t.Context()); time.Until(next) > 2*time.Second || modelled(e) != 2 {
		t.Errorf("%d tools have phrases, the next turn is at %v", modelled(e), next)
	}
	if next := e.auto.turn(t.Context()); time.Until(next) < 50*time.Minute || asked.Load() != 3 {
		t.Errorf("asked %d times within the hour, the next turn is at %v", asked.Load(), next)
	}
	if s := e.Status("").Auto; s == nil || s.Tools != 3 || s.Left != 1 || s.Barren != 1 || s.Tokens == 0 || s.Until.IsZero() {
		t.Errorf("%+v", s)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = unhurried(t, cfg)
	if next := e.auto.turn(t.Context()); time.Until(next) < 50*time.Minute || asked.Load() != 3 {
		t.Errorf("another process begins the hour anew: asked %d times, the next turn is at %v", asked.Load(), next)
	}
	later(t, e.auto, time.Hour)
	down.Store(true)
	for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		next := e.auto.turn(t.Context())
		if left := time.Until(next); left > wait || left < wait-30*time.Second {
			t.Errorf("the model is down: the next turn is in %v, want %v", left, wait)
		}
		if again := e.auto.turn(t.Context()); again != next {
			t.Errorf("asked before that: %v, %v", again, next)
		}
		later(t, e.auto, wait)
	}
	if s := autoStatus(cfg); !strings.Contains(s.Error, "'tiny' not found") {
		t.Errorf("%+v", s)
	}
	down.Store(false)
	e.auto.turn(t.Context())
	if next := e.auto.turn(t.Context()); !next.IsZero() || modelled(e) != 3 || autoStatus(cfg).Left != 0 {
		t.Errorf("%d tools have phrases, the next turn is at %v: %+v", modelled(e), next, autoStatus(cfg))
	}
}

// A model that fails for the first tools of all is asked for the others next,
// by one tool until it works again.
func TestAutoPoisoned(t *testing.T) {
	var asked atomic.Int64
	url := writer(t, func(n int, w http.ResponseWriter) bool {
		if asked.Store(int64(n)); n > 4 { // two tools, with a schema and without
			return false
		}
		http.Error(w, `{"error":"the prompt is longer than the context"}`, http.StatusBadRequest)
		return true
	})
	cfg := listed(t)
	cfg.Phrases = config.Phrases{Pack: "off", Learn: "off", Auto: true, AutoTools: 2, AutoTokens: 10_000,
		Model: config.Chat{Provider: "openai", Model: "tiny", URL: url}}
	e := unhurried(t, cfg)
	tools, _, err := ToEnrich(e, Missing, nil)
	if err != nil || len(tools) != 4 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	e.auto.turn(t.Context())
	if s := autoStatus(cfg); asked.Load() != 4 || s.Failures != 1 || !strings.Contains(s.Error, "longer than the context") || s.Until.IsZero() {
		t.Errorf("asked %d times, %+v", asked.Load(), s)
	}
	later(t, e.auto, time.Minute)
	e.auto.turn(t.Context())
	if of, _ := e.Index.Phrases().Of(tools[2].ID); asked.Load() != 5 || len(of.Phrases) == 0 || autoStatus(cfg).Failures != 0 {
		t.Errorf("asked %d times, %s has %d phrases, %+v", asked.Load(), tools[2].Name, len(of.Phrases), autoStatus(cfg))
	}
	for modelled(e) < 4 && asked.Load() < 9 {
		later(t, e.auto, time.Hour)
		e.auto.turn(t.Context())
	}
	if b := readAuto(cfg.State); asked.Load() != 8 || modelled(e) != 4 {
		t.Errorf("asked %d times, %d tools have phrases: %+v", asked.Load(), modelled(e), b)
	}
}

// A listing that brings something new has the model asked.
func TestAutoAfterListing(t *testing.T) {
	cfg := written(t, fmt.Sprintf("phrases: {pack: off, auto: true, model: {provider: ollama, model: tiny, url: %q}}\nmcpServers: {numbers: {url: %q}}",
		writer(t, func(int, http.ResponseWriter) bool { return false }), numbers(t)))
	for _, want := range []int{1, 0} {
		e := opened(t, cfg, Options{Online: true, Serving: true})
		if _, err := e.Relist(t.Context(), cfg.Names(), time.Minute, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(e.auto.look); got != want {
			t.Errorf("woken %d times, want %d", got, want)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
