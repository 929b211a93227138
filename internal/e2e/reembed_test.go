//go:build unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
)

// manyTools are n tools of six servers.
func manyTools(n int) map[string][]index.Tool {
	verbs := []string{"list", "create", "delete", "search", "update", "export", "import", "archive"}
	things := []string{"invoice", "calendar event", "pull request", "database row", "e-mail", "photo", "translation", "weather report", "shipment", "contact"}
	out := map[string][]index.Tool{}
	for i := range n {
		server := fmt.Sprintf("server%d", i%6)
		verb, thing := verbs[i%len(verbs)], things[i/len(verbs)%len(things)]
		name := fmt.Sprintf("%s_%s_%d", verb, strings.ReplaceAll(thing, " ", "_"), i)
		out[server] = append(out[server], index.Tool{
			Server: server, Name: name,
			Description: fmt.Sprintf("Lets you %s one %s or several of them in workspace %d.", verb, thing, i),
		})
	}
	return out
}

// openIndex is an index over an endpoint, with the built-in model to stand in.
func openIndex(t *testing.T, e embed.Embedder, tools int) *index.Index {
	t.Helper()
	ix, err := index.Open(t.TempDir(), index.Options{Embedder: e, Fallback: openEmbedder(t, embed.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := ix.ReplaceAll(t.Context(), manyTools(tools)); err != nil {
		t.Fatal(err)
	}
	return ix
}

// waitFilled waits for the vectors. While the endpoint is down Wait fails,
// and is asked again.
func waitFilled(t *testing.T, ix *index.Index) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := ix.Wait(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("wait for vectors: %v; status %+v", err, ix.Status().Models)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// traffic are searches that go on until they are stopped. Each asks for
// something that was never asked before, so that no cache answers.
type traffic struct {
	wg    sync.WaitGroup
	stop  context.CancelFunc
	asked atomic.Int64

	mu      sync.Mutex // guards the fields below
	seen    map[string]int
	worst   time.Duration
	errs    []error
	reasons map[string]int
}

func startTraffic(t *testing.T, ix *index.Index) *traffic {
	ctx, stop := context.WithCancel(t.Context())
	tr := &traffic{stop: stop, seen: map[string]int{}, reasons: map[string]int{}}
	for range 3 {
		tr.wg.Go(func() {
			for ctx.Err() == nil {
				tr.ask(ctx, ix)
			}
		})
	}
	return tr
}

func (tr *traffic) ask(ctx context.Context, ix *index.Index) {
	start := time.Now()
	res, err := ix.Search(ctx, index.Query{Text: fmt.Sprintf("archive the photo of request %d", tr.asked.Add(1))})
	took := time.Since(start)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		tr.errs = append(tr.errs, err)
	case len(res.Hits) == 0:
		tr.errs = append(tr.errs, errors.New("a search found nothing"))
	default:
		tr.seen[res.Model]++
		tr.worst = max(tr.worst, took)
		if res.Reason != "" {
			tr.reasons[res.Reason]++
		}
	}
	time.Sleep(20 * time.Millisecond) // leave processor time to the server
}

// waitFor returns once the model has answered one of the searches.
func (tr *traffic) waitFor(t *testing.T, model string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		tr.mu.Lock()
		n := tr.seen[model]
		tr.mu.Unlock()
		if n > 0 {
			return
		}
	}
	t.Errorf("no search was answered by %s", model)
}

// end stops the searches and returns how many each model answered.
func (tr *traffic) end(t *testing.T) map[string]int {
	t.Helper()
	tr.stop()
	tr.wg.Wait()
	for _, err := range tr.errs[:min(len(tr.errs), 3)] {
		t.Errorf("one of %d failed searches: %v", len(tr.errs), err)
	}
	t.Logf("%d searches, the slowest %v, by model %v, %d reasons", tr.asked.Load(), tr.worst.Round(time.Millisecond), tr.seen, len(tr.reasons))
	return tr.seen
}

// answeredBy searches until the model answers.
func answeredBy(t *testing.T, ix *index.Index, model func() string) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	var res *index.Results
	for n := 0; time.Now().Before(deadline); n++ {
		var err error
		res, err = ix.Search(t.Context(), index.Query{Text: fmt.Sprintf("create a calendar event %d", n)})
		if err != nil {
			t.Fatal(err)
		}
		if res.Model == model() && !res.Degraded {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s does not answer; the last answer is from %q, degraded %v, %q; %+v", model(), res.Model, res.Degraded, res.Reason, ix.Status().Models)
}

// TestRealEmbedderSwitch changes from one server to the other under traffic:
// the old one answers until the new one's vectors are there.
func TestRealEmbedderSwitch(t *testing.T) {
	blue, green := openEmbedder(t, startOllama(t).config), openEmbedder(t, startLlama(t).config)
	ix := openIndex(t, blue, 300)
	waitFilled(t, ix)
	answeredBy(t, ix, blue.Model)
	tr := startTraffic(t, ix)
	ix.SetEmbedder(green)
	waitFilled(t, ix)
	tr.waitFor(t, green.Model())
	seen := tr.end(t)
	if seen[blue.Model()] == 0 || seen[green.Model()] == 0 || seen[""] > 0 {
		t.Errorf("searches by model: %v; want both models and none without vectors", seen)
	}
}

// TestRealEmbedderKilledWhileFilling: searches go on, and when the server is
// back the filling ends without a restart.
func TestRealEmbedderKilledWhileFilling(t *testing.T) {
	eachEndpoint(t, func(t *testing.T, e *endpoint) {
		emb := openEmbedder(t, e.config)
		ix := openIndex(t, emb, 1200)
		answeredBy(t, ix, openEmbedder(t, embed.Config{}).Model)
		tr := startTraffic(t, ix)
		vectors := someVectors(t, ix, 100)
		e.kill()
		t.Logf("killed at %d of 1200 vectors", vectors)
		time.Sleep(3 * time.Second)
		e.start()
		waitFilled(t, ix)
		answeredBy(t, ix, emb.Model)
		if seen := tr.end(t); seen[""] > 0 {
			t.Errorf("searches by model: %v; the built-in model should stand in", seen)
		}
		for _, m := range ix.Status().Models {
			if m.Vectors != m.Wanted || m.Error != "" {
				t.Errorf("after recovery %+v", m)
			}
		}
	})
}

// someVectors waits until the endpoint has given a number of vectors, and
// returns how many there are.
func someVectors(t *testing.T, ix *index.Index, enough int) int {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		for _, m := range ix.Status().Models {
			if !strings.HasPrefix(m.Model, "builtin/") && m.Vectors >= enough {
				return m.Vectors
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %d vectors within a minute: %+v", enough, ix.Status().Models)
	return 0
}

// TestRealEmbedderKilledWhileSearching: no search fails or waits long while
// the server is down, and it is used again when it is back.
func TestRealEmbedderKilledWhileSearching(t *testing.T) {
	eachEndpoint(t, func(t *testing.T, e *endpoint) {
		emb := openEmbedder(t, e.config)
		ix := openIndex(t, emb, 200)
		waitFilled(t, ix)
		answeredBy(t, ix, emb.Model)
		tr := startTraffic(t, ix)
		time.Sleep(500 * time.Millisecond)
		e.kill()
		time.Sleep(3 * time.Second)
		e.start()
		answeredBy(t, ix, emb.Model)
		seen := tr.end(t)
		if tr.worst > 3*time.Second || len(tr.reasons) == 0 {
			t.Errorf("slowest search %v; reasons given: %v", tr.worst, tr.reasons)
		}
		if seen[""] > 0 {
			t.Errorf("searches by model: %v; the built-in model should stand in", seen)
		}
	})
}
