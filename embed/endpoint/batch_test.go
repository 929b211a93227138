package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/embed/embedtest"
)

// picky answers like f, but with err for batches that hold a text that bad
// names.
func picky(f *fake, bad func(text string) bool, err error) func(context.Context, []string) ([][]float32, error) {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		if slices.ContainsFunc(texts, bad) {
			return nil, err
		}
		return f.vectors(texts), nil
	}
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text %d", i)
	}
	return out
}

func TestBatchesByNumberAndBytes(t *testing.T) {
	bubble(t, Options{Batch: 10, BatchBytes: 1000, Parallel: 3}, func(t *testing.T, e *Endpoint, f *fake) {
		texts := append(numbered(25), strings.Repeat("x", 5000), strings.Repeat("y", 600), strings.Repeat("z", 600))
		f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
			time.Sleep(time.Second)
			return f.vectors(texts), nil
		})
		vs, err := e.EmbedDocuments(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vs {
			if !slices.Equal(v, embedtest.Vector(texts[i], 0, 0)) {
				t.Errorf("text %d has another text's vector", i)
			}
		}
		if f.most != 3 {
			t.Errorf("%d requests at a time, want 3", f.most)
		}
		var sizes []int
		for _, c := range f.calls[1:] {
			sizes = append(sizes, len(c))
		}
		slices.Sort(sizes)
		if want := []int{1, 1, 1, 5, 10, 10}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
	})
}

func TestOverlongTextCostsItsNeighboursNothing(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	for _, e := range []*StatusError{
		{Code: 400, Message: "This model's maximum context length is 512 tokens, however you requested 1000 tokens"},
		{Code: 500, Message: "input is too large to process. increase the physical batch size"},
		{Code: 413, Message: ""},
		{Code: 400, Message: "no reason given"},
		{Code: 422, Message: "no reason given"},
	} {
		t.Run(e.Error(), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, ep *Endpoint, f *fake) {
				f.behave(picky(f, func(s string) bool { return len(s) > 2000 }, e))
				texts := numbered(64)
				texts[17] = long
				start := time.Now()
				vs, err := ep.EmbedDocuments(t.Context(), texts)
				if err != nil {
					t.Fatal(err)
				}
				texts[17] = cut(long, 1845) // 32 KiB · ¾ⁿ, the first of them below 2,000
				for i, v := range vs {
					if !slices.Equal(v, embedtest.Vector(texts[i], 0, 0)) {
						t.Errorf("text %d has another vector", i)
					}
				}
				if n := f.count(); n > 20 || time.Since(start) > time.Second {
					t.Errorf("%d requests in %v", n, time.Since(start))
				}
			})
		})
	}
}

func TestPoisonedText(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(picky(f, func(s string) bool { return strings.HasPrefix(s, "poison") }, &StatusError{Code: 500, Message: "boom"}))
		texts := numbered(10)
		texts[3], texts[7] = "poison", "poison too"
		vs, err := e.EmbedDocuments(t.Context(), texts)
		if err == nil || !strings.Contains(err.Error(), "2 of 10 texts have no vector: text 3: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
		for i, v := range vs {
			if poisoned := i == 3 || i == 7; (v == nil) != poisoned {
				t.Errorf("text %d: vector %v", i, v)
			}
		}
		if e.State() != "ok" {
			t.Errorf("state %q: the server is well", e.State())
		}
	})
}

func TestRefusalsAreNotRetried(t *testing.T) {
	for _, code := range []int{301, 400, 401, 403, 404, 405, 422} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			bubble(t, Options{Hints: map[int]string{code: "change embedding.this"}}, func(t *testing.T, e *Endpoint, f *fake) {
				f.behave(func(context.Context, []string) ([][]float32, error) {
					return nil, &StatusError{Code: code, Message: "no"}
				})
				vs, err := e.EmbedDocuments(t.Context(), numbered(1000))
				if err == nil || !strings.Contains(err.Error(), "change embedding.this") || !strings.Contains(err.Error(), fmt.Sprint(code)) {
					t.Errorf("error %v", err)
				}
				if len(vs) != 1000 || len(f.calls) > 3 {
					t.Errorf("%d vectors after %d requests", len(vs), len(f.calls))
				}
			})
		})
	}
}

// TestRefusedMidway: the key expires during a fill; what there is stays.
func TestRefusedMidway(t *testing.T) {
	bubble(t, Options{Batch: 10, Parallel: 1}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(picky(f, func(s string) bool { return s == "text 55" }, &StatusError{Code: 401}))
		vs, err := e.EmbedDocuments(t.Context(), numbered(1000))
		if err == nil {
			t.Fatal("no error")
		}
		if n := f.count(); n != 6 || vs[49] == nil || vs[50] != nil || vs[60] != nil {
			t.Errorf("%d requests; vectors 49, 50, 60: %v, %v, %v", n, vs[49] != nil, vs[50] != nil, vs[60] != nil)
		}
	})
}

func TestRateLimit(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(20 * time.Second)
		f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
			if left := time.Until(until); left > 0 {
				return nil, &StatusError{Code: 429, RetryAfter: left}
			}
			return f.vectors(texts), nil
		})
		took, err := query(t, e, 2*time.Second)
		if err == nil || took > 0 {
			t.Errorf("a query that cannot wait 20 s waited %v, error %v", took, err)
		}
		start := time.Now()
		if _, err := e.EmbedDocuments(t.Context(), numbered(3)); err != nil {
			t.Errorf("documents: %v", err)
		}
		if d := time.Since(start); d < 20*time.Second || d > 22*time.Second {
			t.Errorf("documents waited %v, asked for 20 s", d)
		}
	})
}

func TestLongRetryAfterIsNotWaitedFor(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(func(context.Context, []string) ([][]float32, error) {
			return nil, &StatusError{Code: 503, RetryAfter: time.Hour}
		})
		start := time.Now()
		for range threshold {
			if _, err := e.EmbedDocuments(t.Context(), numbered(3)); err == nil || time.Since(start) > 0 {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		}
		f.calls = nil
		time.Sleep(maxPause)
		if _, err := e.EmbedDocuments(t.Context(), numbered(3)); !errors.Is(err, ErrUnavailable) || len(f.calls) > 0 {
			t.Errorf("asked again before the hour: %d requests, error %v", len(f.calls), err)
		}
	})
}

func TestQuotaIsNotWaitedFor(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(func(context.Context, []string) ([][]float32, error) {
			return nil, &StatusError{Code: 429, Message: "You exceeded your current quota (insufficient_quota)"}
		})
		if _, err := e.EmbedDocuments(t.Context(), numbered(3)); err == nil || len(f.calls) != 1 {
			t.Errorf("%d requests, error %v", len(f.calls), err)
		}
	})
}

func TestFailingServerIsRetriedWithJitter(t *testing.T) {
	bubble(t, Options{Attempts: 4}, func(t *testing.T, e *Endpoint, f *fake) {
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.calls, f.at = nil, nil
		failing := 3
		f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
			if failing--; failing >= 0 {
				return nil, &StatusError{Code: 503, Message: "loading model"}
			}
			return f.vectors(texts), nil
		})
		if _, err := e.EmbedDocuments(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if len(f.at) < 4 {
			t.Fatalf("tries at %v", f.at)
		}
		for i, most := range []time.Duration{375, 563, 845} {
			if gap := f.at[i+1] - f.at[i]; gap <= 0 || gap > most*time.Millisecond {
				t.Errorf("tries at %v: gap %d is %v", f.at, i, gap)
			}
		}
	})
}

func TestWrongVectors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, bad := range map[string][]float32{
		"NaN":      {nan, 1},
		"infinite": {inf, 1},
		"zeros":    make([]float32, 32),
		"empty":    {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, e *Endpoint, f *fake) {
				f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
					vs := f.vectors(texts)
					if i := slices.Index(texts, "text 2"); i >= 0 {
						vs[i] = slices.Clone(bad)
					}
					return vs, nil
				})
				vs, err := e.EmbedDocuments(t.Context(), numbered(4))
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v, want one about %s", err, name)
				}
				if vs[1] == nil || vs[2] != nil || vs[3] == nil {
					t.Errorf("vectors %v", vs)
				}
			})
		})
	}
}

func TestWrongCount(t *testing.T) {
	bubble(t, Options{Attempts: 1}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
			return f.vectors(texts)[:1], nil // as a server that reads a list as one text
		})
		vs, err := e.EmbedDocuments(t.Context(), numbered(5))
		if err != nil || slices.ContainsFunc(vs, func(v []float32) bool { return v == nil }) {
			t.Errorf("one by one it works, yet: %v", err)
		}
	})
}

func TestDimensions(t *testing.T) {
	bubble(t, Options{Dimensions: 20}, func(t *testing.T, e *Endpoint, f *fake) {
		vs, err := e.EmbedDocuments(t.Context(), numbered(2))
		if err != nil || len(vs[0]) != 20 || !strings.Contains(e.Model(), "d=20") {
			t.Errorf("server that ignores the setting: %d, %q, %v", len(vs[0]), e.Model(), err)
		}
	})
	bubble(t, Options{Dimensions: 64}, func(t *testing.T, e *Endpoint, f *fake) {
		_, err := e.EmbedDocuments(t.Context(), numbered(2))
		if err == nil || !strings.Contains(err.Error(), "embedding.dimensions") {
			t.Errorf("a model with fewer: %v", err)
		}
	})
}

func TestQueriesPassDocuments(t *testing.T) {
	bubble(t, Options{Parallel: 1, Batch: 1}, func(t *testing.T, e *Endpoint, f *fake) {
		if err := e.Identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.behave(func(_ context.Context, texts []string) ([][]float32, error) {
			if strings.HasPrefix(texts[0], "text") {
				time.Sleep(10 * time.Second)
			}
			return f.vectors(texts), nil
		})
		done := make(chan error)
		go func() {
			_, err := e.EmbedDocuments(t.Context(), numbered(10))
			done <- err
		}()
		time.Sleep(time.Second)
		if took, err := query(t, e, 2*time.Second); err != nil || took > 0 {
			t.Errorf("a query beside documents took %v, error %v", took, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestDeadlineInTheMiddle(t *testing.T) {
	bubble(t, Options{Parallel: 1, Batch: 1}, func(t *testing.T, e *Endpoint, f *fake) {
		f.behave(func(ctx context.Context, texts []string) ([][]float32, error) {
			select {
			case <-time.After(time.Second):
				return f.vectors(texts), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		vs, err := e.EmbedDocuments(ctx, numbered(10))
		if !errors.Is(err, context.DeadlineExceeded) || vs[1] == nil || vs[2] != nil {
			t.Errorf("vectors %v, error %v", vs, err)
		}
	})
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		code    int
		message string
		want    fault
	}{
		{400, "the input length exceeds the context length", tooLong},
		{500, "input (1303 tokens) is too large to process. increase the physical batch size (current batch size: 512)", tooLong},
		{400, "request (5000 tokens) exceeds the available context size (2048 tokens), try increasing it", tooLong},
		{413, "Input validation error: `inputs` must have less than 512 tokens. Given: 1302", tooLong},
		{400, "This model's maximum context length is 8192 tokens, however you requested 9001 tokens", tooLong},
		{400, "Invalid 'input[0]': maximum input length is 8192 tokens.", tooLong},
		{400, "dimensions is not supported by this model", disputed},
		{500, "cuda error", busy},
		{503, "Loading model", busy},
		{529, "overloaded", busy},
		{429, "slow down", busy},
		{429, "insufficient_quota", refused},
		{401, "bad key", refused},
		{404, "model not found", refused},
		{302, "", refused},
		{200, "model not found", refused},
	} {
		err := fmt.Errorf("wrapped: %w", &StatusError{Code: tt.code, Message: tt.message})
		if got := classify(err); got != tt.want {
			t.Errorf("classify(%v) = %d, want %d", err, got, tt.want)
		}
	}
	if got := classify(errRefused); got != down {
		t.Errorf("classify(%v) = %d, want down", errRefused, got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"-3":                            0,
		"soon":                          0,
		"NaN":                           0,
		"1e300":                         0,
		"Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second,
		"Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After: %s gives %v, want %v", value, got, want)
		}
	}
	if got := RetryAfter(http.Header{"Retry-After-Ms": {"250"}}, now); got != 250*time.Millisecond {
		t.Errorf("Retry-After-Ms: 250 gives %v", got)
	}
}

func TestMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"wrong key","code":"invalid_api_key"}}`: "wrong key (invalid_api_key)",
		`{"error":{"message":"too long","code":400}}`:                "too long",
		`{"error":"model not found"}`:                                "model not found",
		`{"message":"no"}`:                                           "no",
		`{"detail":"no route"}`:                                      "no route",
		"<html>\n\n<b>Bad   gateway</b>":                             "<html> <b>Bad gateway</b>",
		"a\x1b[31mred":                                               "a [31mred",
		"":                                                           "",
		strings.Repeat("ä", 400):                                     strings.Repeat("ä", 150) + "…",
	} {
		if got := Message([]byte(body)); got != want {
			t.Errorf("Message(%q) = %q, want %q", body, got, want)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"x","code":[1]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if s := Message(body); len(s) > 303 || strings.ContainsAny(s, "\n\r\x1b") {
			t.Errorf("Message(%q) = %q", body, s)
		}
	})
}
