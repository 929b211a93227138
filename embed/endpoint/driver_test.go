package endpoint

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/embed/embedtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a server without a network, so that time can be fake too.
type fake struct {
	mu       sync.Mutex // guards the fields below
	digest   string
	seed     uint64
	dims     int
	answer   func(ctx context.Context, texts []string) ([][]float32, error) // nil answers well
	calls    [][]string
	at       []time.Duration
	begun    time.Time
	inFlight int
	most     int
}

func (f *fake) behave(answer func(ctx context.Context, texts []string) ([][]float32, error)) {
	f.mu.Lock()
	f.answer = answer
	f.mu.Unlock()
}

func (f *fake) Digest(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.digest, nil
}

func (f *fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	answer := f.answer
	f.calls = append(f.calls, slices.Clone(texts))
	f.at = append(f.at, time.Since(f.begun))
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.inFlight--
		f.mu.Unlock()
	}()
	if answer != nil {
		return answer(ctx, texts)
	}
	return f.vectors(texts), nil
}

func (f *fake) vectors(texts []string) [][]float32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	vs := make([][]float32, len(texts))
	for i, t := range texts {
		vs[i] = embedtest.Vector(t, f.seed, f.dims)
	}
	return vs
}

// count is the number of calls since the last count, without probes.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c[0] != probeText {
			n++
		}
	}
	f.calls = nil
	return n
}

// bubble runs a test in fake time with an endpoint over a fake.
func bubble(t *testing.T, o Options, test func(t *testing.T, e *Endpoint, f *fake)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{digest: "d1", begun: time.Now()}
		o.Provider, o.Model, o.URL = "fake", "tiny", "nowhere"
		e := New(f, o)
		test(t, e, f)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func query(t *testing.T, e *Endpoint, timeout time.Duration) (took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	_, err = e.EmbedQuery(ctx, "list files")
	return time.Since(start), err
}

var errRefused = errors.New("dial tcp 127.0.0.1:11434: connection refused")

func dead(context.Context, []string) ([][]float32, error) { return nil, errRefused }

func hanging(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestSuite(t *testing.T) {
	embedtest.Test(t, func(t *testing.T) embedtest.Embedder {
		e := New(&fake{}, Options{Provider: "fake", Model: "tiny"})
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e
	}, embedtest.Options{})
}

func TestDeadServerAndRecovery(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		if _, err := query(t, e, 2*time.Second); err != nil {
			t.Fatal(err)
		}
		f.behave(dead)
		var waited time.Duration
		for range 100 {
			d, err := query(t, e, 2*time.Second)
			if err == nil {
				t.Fatal("a dead server answers")
			}
			waited += d
		}
		if waited > 3*time.Second {
			t.Errorf("100 queries to a dead server waited %v", waited)
		}
		if _, err := query(t, e, time.Second); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errRefused) {
			t.Errorf("error %v, want ErrUnavailable with its cause", err)
		}
		if !strings.Contains(e.State(), "refused") {
			t.Errorf("state %q", e.State())
		}
		f.behave(nil)
		recovered(t, e, maxPause)
	})
}

// recovered asks every 100 ms until the endpoint answers.
func recovered(t *testing.T, e *Endpoint, within time.Duration) {
	t.Helper()
	start := time.Now()
	for {
		took, err := query(t, e, 2*time.Second)
		if err == nil {
			break
		}
		if took > 0 {
			t.Errorf("a query waited %v for a probe", took)
		}
		if time.Since(start) > within {
			t.Fatalf("no recovery after %v: %v", time.Since(start), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if e.State() != "ok" {
		t.Errorf("state %q after recovery", e.State())
	}
}

func TestHangingServerAndRecovery(t *testing.T) {
	bubble(t, Options{Timeout: 10 * time.Second}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(hanging)
		var waited time.Duration
		for range 100 {
			d, err := query(t, e, 2*time.Second)
			if err == nil {
				t.Fatal("a hanging server answers")
			}
			waited += d
			time.Sleep(50 * time.Millisecond)
		}
		if waited > 2*time.Second { // one of them
			t.Errorf("100 queries to a hanging server waited %v", waited)
		}
		f.behave(nil)
		recovered(t, e, maxPause+10*time.Second)
	})
}

func TestDocumentsRecover(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(dead)
		if vs, err := e.EmbedDocuments(t.Context(), []string{"a", "b"}); err == nil || len(vs) != 2 {
			t.Fatalf("%v, error %v", vs, err)
		}
		_, _ = e.EmbedDocuments(t.Context(), []string{"a"})
		if _, err := e.EmbedDocuments(t.Context(), []string{"a"}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		f.behave(nil)
		time.Sleep(maxPause)
		if _, err := e.EmbedDocuments(t.Context(), []string{"a"}); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

func TestCallersWhoGoAwayOpenNothing(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.behave(hanging)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := e.EmbedQuery(ctx, "x"); !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v", err)
			}
		}
		if e.State() != "ok" {
			t.Errorf("state %q", e.State())
		}
	})
}

func TestRestartedWithAnotherModel(t *testing.T) {
	for _, digest := range []string{"", "d1"} {
		bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
			f.digest = digest
			if e.Model() != "fake/tiny@pending" {
				t.Errorf("identity before use %q", e.Model())
			}
			if _, err := query(t, e, time.Second); err != nil {
				t.Fatal(err)
			}
			first := e.Model()
			crash := func(then func()) {
				f.behave(dead)
				_, _ = query(t, e, 100*time.Millisecond)
				then()
				f.behave(nil)
				if _, err := query(t, e, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			crash(func() {})
			if got := e.Model(); got != first {
				t.Errorf("the same model came back: identity %q, then %q", first, got)
			}
			crash(func() {
				f.seed = 7
				if digest != "" {
					f.digest = "d2"
				}
			})
			if got := e.Model(); got == first {
				t.Errorf("another model came back: identity is still %q", got)
			}
		})
	}
}

// TestSwappedUnnoticed: the model changes between two requests, without a
// failure.
func TestSwappedUnnoticed(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		if _, err := query(t, e, time.Second); err != nil {
			t.Fatal(err)
		}
		first := e.Model()
		f.dims, f.digest = 48, "d2"
		if _, err := query(t, e, time.Second); err == nil || !strings.Contains(err.Error(), "48 dimensions") {
			t.Errorf("another length: error %v", err)
		}
		if _, err := query(t, e, time.Second); err != nil || e.Model() == first {
			t.Errorf("second try: identity %q, error %v", e.Model(), err)
		}
		second := e.Model()
		f.seed, f.digest = 9, "d3"
		time.Sleep(relearn + time.Second)
		if _, err := query(t, e, time.Second); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if e.Model() == second {
			t.Errorf("identity is still %q after %v", second, relearn)
		}
		third := e.Model()
		f.digest = "d4"
		time.Sleep(relearn + time.Second)
		if _, err := e.EmbedDocuments(t.Context(), []string{"a"}); err != nil || e.Model() == third {
			t.Errorf("documents after %v: identity %q, error %v", relearn, e.Model(), err)
		}
	})
}

func TestFingerprint(t *testing.T) {
	v := embedtest.Vector("some text", 1, 384)
	noisy := slices.Clone(v)
	for i := range noisy {
		noisy[i] *= 1 + 1e-4*float32(i%3-1)
	}
	if a, b := fingerprint(v), fingerprint(noisy); a != b {
		t.Errorf("noise changes %s to %s", a, b)
	}
	seen := map[string]bool{}
	for seed := range uint64(1000) {
		seen[fingerprint(embedtest.Vector("some text", seed, 384))] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 models have %d fingerprints", len(seen))
	}
	for n := range 6 {
		fingerprint(make([]float32, n))
	}
}

func TestIdentityString(t *testing.T) {
	id := Identity{Provider: "ollama", Model: "m", Digest: "abc", Dims: 8}
	plain := id.String()
	id.QueryPrefix = "query: "
	query := id.String()
	id.QueryPrefix, id.DocumentPrefix = "", "query: "
	if document := id.String(); plain != "ollama/m@abc;d=8" || query == plain || document == query || document == plain {
		t.Errorf("identities %q, %q, %q", plain, query, document)
	}
}

func TestCheckClosesTheBreaker(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(dead)
		for range 3 {
			_, _ = query(t, e, time.Second)
		}
		if h := e.Check(t.Context()); h.Reachable || h.HasModel || h.Problem == "" {
			t.Errorf("health of a dead server %+v", h)
		}
		f.behave(nil)
		if h := e.Check(t.Context()); !h.Reachable || !h.HasModel || h.Dims != 32 || h.Problem != "" {
			t.Errorf("health %+v", h)
		}
		if e.State() != "ok" {
			t.Errorf("state %q", e.State())
		}
	})
}

func TestCloseEndsTheProbe(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(dead)
		for range 3 {
			_, _ = query(t, e, time.Second)
		}
		f.behave(hanging)
		time.Sleep(maxPause)
		_, _ = query(t, e, time.Second) // begins a probe, which hangs
		start := time.Now()
		if err := e.Close(); err != nil || time.Since(start) > 0 {
			t.Errorf("Close took %v, error %v", time.Since(start), err)
		}
		_, _ = query(t, e, time.Second) // begins none, and Close again is harmless
	})
}
