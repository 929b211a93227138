// Package embedtest has the suite that every embedder passes ([Test]), the
// one for an embedder whose server is gone ([TestGone]), and a server that
// speaks both protocols and misbehaves to order ([Server]).
package embedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An Embedder is what is tested.
type Embedder interface {
	Model() string
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// Options adapt the suite to what an embedder cannot promise. The zero value
// asks for everything.
type Options struct {
	// ZeroWithoutWords allows the zero vector for a text in which the
	// embedder knows no word.
	ZeroWithoutWords bool
	// Cosine is how near two vectors of one text have to be; 0 means 1 − 1e-6.
	// Servers round differently in batches of different size.
	Cosine float64
}

type suite struct {
	Options
	e Embedder
}

// Test checks that what open gives keeps the contract of an embedder.
func Test(t *testing.T, open func(t *testing.T) Embedder, o Options) {
	if o.Cosine == 0 {
		o.Cosine = 1 - 1e-6
	}
	for name, check := range map[string]func(*testing.T, *suite){
		"identity":     testIdentity,
		"order":        testOrder,
		"batches":      testBatches,
		"odd texts":    testOddTexts,
		"long text":    testLongText,
		"cancellation": testCancellation,
		"concurrency":  testConcurrency,
		"ownership":    testOwnership,
	} {
		t.Run(name, func(t *testing.T) { check(t, &suite{o, open(t)}) })
	}
}

// texts are n different texts of various lengths.
func texts(n int) []string {
	verbs := []string{"list", "create", "delete", "search", "update", "convert", "send"}
	things := []string{"files in a folder", "pull requests of a repository", "calendar events", "currency amounts", "e-mail messages", "database rows"}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s %s, number %d", verbs[i%len(verbs)], things[i%len(things)], i)
		if i%17 == 0 {
			out[i] += strings.Repeat(" with more words about it", i%5*4)
		}
	}
	return out
}

func (s *suite) documents(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	vs, err := s.e.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatalf("EmbedDocuments of %d texts: %v", len(texts), err)
	}
	if len(vs) != len(texts) {
		t.Fatalf("EmbedDocuments gave %d vectors for %d texts", len(vs), len(texts))
	}
	return vs
}

func (s *suite) query(t *testing.T, text string) []float32 {
	t.Helper()
	v, err := s.e.EmbedQuery(t.Context(), text)
	if err != nil {
		t.Fatalf("EmbedQuery(%.40q): %v", text, err)
	}
	return v
}

// check reports a vector that is not of dims finite numbers, or zero.
func (s *suite) check(t *testing.T, text string, v []float32, dims int) {
	t.Helper()
	norm := math.Sqrt(dot(v, v))
	switch {
	case len(v) != dims:
		t.Errorf("%.40q: %d dimensions, want %d", text, len(v), dims)
	case math.IsNaN(norm), math.IsInf(norm, 0):
		t.Errorf("%.40q: length %v", text, norm)
	case norm == 0 && !s.ZeroWithoutWords:
		t.Errorf("%.40q: the zero vector", text)
	}
}

func (s *suite) same(t *testing.T, what string, a, b []float32) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d and %d dimensions", what, len(a), len(b))
		return
	}
	if c := dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)); !(c >= s.Cosine) && dot(a, a) != 0 {
		t.Errorf("%s: cosine %v, want at least %v", what, c, s.Cosine)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func testIdentity(t *testing.T, s *suite) {
	v := s.query(t, "list files")
	id := s.e.Model()
	if id == "" || strings.Contains(id, "pending") {
		t.Errorf("identity after use is %q", id)
	}
	if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' }) {
		t.Errorf("identity %q has white space", id)
	}
	d := s.documents(t, texts(3)...)
	if got := s.e.Model(); got != id {
		t.Errorf("identity changes from %q to %q", id, got)
	}
	s.check(t, "document", d[0], len(v))
}

// testOrder compares a batch with its texts one by one: order, and the same
// vector every time.
func testOrder(t *testing.T, s *suite) {
	ts := texts(20)
	batch := s.documents(t, ts...)
	again := s.documents(t, ts...)
	for i, text := range ts {
		s.same(t, "the same batch again", batch[i], again[i])
		s.same(t, fmt.Sprintf("text %d alone and in a batch", i), s.documents(t, text)[0], batch[i])
	}
	slices.Reverse(ts)
	for i, v := range s.documents(t, ts...) {
		s.same(t, "the batch backwards", v, batch[len(batch)-1-i])
	}
}

func testBatches(t *testing.T, s *suite) {
	dims := len(s.query(t, "list files"))
	for _, n := range []int{0, 1, 1000} {
		ts := texts(n)
		for i, v := range s.documents(t, ts...) {
			s.check(t, ts[i], v, dims)
		}
	}
}

// testOddTexts: nothing that a tool's description may hold is an error, and
// none disturbs its neighbours in a batch.
func testOddTexts(t *testing.T, s *suite) {
	odd := []string{"", " ", "\n\t", "\x00", "\xff\xfe broken", "日本語の説明", "👩‍👩‍👧‍👦", "<script>", `"quoted" \ {{braces}}`, "\u202egnirts", "ﷺ"}
	plain := "list the files in a folder"
	want := s.documents(t, plain)[0]
	for _, text := range odd {
		vs := s.documents(t, plain, text, plain)
		s.check(t, text, vs[1], len(want))
		s.same(t, fmt.Sprintf("text before %q", text), vs[0], want)
		s.same(t, fmt.Sprintf("text after %q", text), vs[2], want)
		s.check(t, text, s.query(t, text), len(want))
	}
}

func testLongText(t *testing.T, s *suite) {
	long := strings.Repeat("a tool that does many things, each of them well. ", 1<<20/49)
	short := "list the files in a folder"
	want := s.documents(t, short)[0]
	vs := s.documents(t, short, long, short)
	s.check(t, long, vs[1], len(want))
	s.same(t, "text before 1 MB", vs[0], want)
	s.same(t, "text after 1 MB", vs[2], want)
	s.same(t, "1 MB again", s.documents(t, long)[0], vs[1])
	s.check(t, long, s.query(t, long), len(want))
}

func testCancellation(t *testing.T, s *suite) {
	s.query(t, "list files") // so that only the cancelled call can fail
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if _, err := s.e.EmbedDocuments(ctx, texts(1000)); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedDocuments with a cancelled context: error %v", err)
	}
	if _, err := s.e.EmbedQuery(ctx, "never asked before"); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedQuery with a cancelled context: error %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("cancelled calls took %v", d)
	}
	running, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.e.EmbedDocuments(running, texts(3000))
		done <- err
	}()
	stop()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedDocuments cancelled while it runs: error %v", err)
	}
	s.query(t, "list files after a cancelled call")
}

func testConcurrency(t *testing.T, s *suite) {
	ts := texts(40)
	want := s.documents(t, ts...)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < len(ts); i += 8 {
				vs, err := s.e.EmbedDocuments(t.Context(), ts[i:i+1])
				if err != nil {
					t.Errorf("EmbedDocuments: %v", err)
					return
				}
				s.same(t, "text embedded beside others", vs[0], want[i])
				if _, err := s.e.EmbedQuery(t.Context(), ts[i]); err != nil {
					t.Errorf("EmbedQuery: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// testOwnership: the caller may write to what it got, and what it gave is
// left alone.
func testOwnership(t *testing.T, s *suite) {
	ts := texts(5)
	given := slices.Clone(ts)
	vs := s.documents(t, ts...)
	if !slices.Equal(ts, given) {
		t.Error("EmbedDocuments changed its texts")
	}
	q := s.query(t, ts[0])
	want := slices.Clone(q)
	clear(q)
	s.same(t, "query after the first answer was overwritten", s.query(t, ts[0]), want)
	kept := slices.Clone(vs[1])
	clear(vs[0])
	if !slices.Equal(vs[1], kept) {
		t.Error("writing to one vector changed its neighbour")
	}
}

// TestGone checks an embedder whose server does not answer: every call is an
// error, slices have their length, and after some failures each call is refused
// at once, which the error refused says.
func TestGone(t *testing.T, e Embedder, refused error) {
	fail := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.EmbedQuery(ctx, "list files")
		if err == nil {
			t.Fatal("a query succeeds without a server")
		}
		return err
	}
	for range 10 { // a failure in which a busy machine had no time to ask does not count
		if errors.Is(fail(), refused) {
			break
		}
	}
	for range 50 {
		if err := fail(); !errors.Is(err, refused) {
			t.Fatalf("a query of a dead server: %v, want %v", err, refused)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	vs, err := e.EmbedDocuments(ctx, texts(3))
	if err == nil || len(vs) != 3 {
		t.Errorf("EmbedDocuments without a server: %d vectors, error %v", len(vs), err)
	}
}
