package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/index/check"
)

// A testEmbedder embeds like wordEmbedder, counts, and misbehaves as told.
type testEmbedder struct {
	wordEmbedder

	mu       sync.Mutex // guards the fields below
	name     string
	embedded []string
	queries  int
	fault    func(i int, text string) ([]float32, error) // of one text; nil, nil lets it pass
}

func newTestEmbedder(name string, dims int) *testEmbedder {
	return &testEmbedder{name: name, wordEmbedder: wordEmbedder{dims}}
}

func (e *testEmbedder) Model() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.name
}

func (e *testEmbedder) set(name string, fault func(int, string) ([]float32, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.name, e.fault = name, fault
}

func (e *testEmbedder) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.embedded)
}

func (e *testEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queries++
	if e.fault != nil {
		if v, err := e.fault(-1, text); v != nil || err != nil {
			return v, err
		}
	}
	return e.wordEmbedder.EmbedQuery(ctx, text)
}

func (e *testEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([][]float32, len(texts))
	var failed error
	for i, text := range texts {
		if e.fault != nil {
			if v, err := e.fault(i, text); v != nil || err != nil {
				out[i], failed = v, errors.Join(failed, err)
				continue
			}
		}
		v, err := e.wordEmbedder.EmbedQuery(ctx, text)
		if err != nil {
			return nil, err
		}
		out[i] = v
		e.embedded = append(e.embedded, text)
	}
	return out, failed
}

func wait(t testing.TB, ix *Index) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := ix.Wait(ctx); err != nil {
		t.Fatalf("Wait: %v; %+v", err, ix.Status().Models)
	}
}

func find(t testing.TB, ix *Index, mode Mode) *Results {
	t.Helper()
	res, err := ix.Search(t.Context(), Query{Text: "read a file", Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var three = []json.RawMessage{rawTool("read_file", "Read a file", "path"), rawTool("write_file", "Write a file", "path"), rawTool("list", "List a folder")}

func TestVectorsAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	e := newTestEmbedder("a", 8)
	ix := openDir(t, dir, Options{Embedder: e})
	replace(t, ix, "files", three...)
	wait(t, ix)
	if res := find(t, ix, Semantic); res.Model != "a" || len(res.Hits) != 3 {
		t.Errorf("found %+v", res)
	}
	replace(t, ix, "files", three[0], rawTool("write_file", "Write another file", "path"), three[2])
	wait(t, ix)
	if n := e.count(); n != 4 {
		t.Errorf("%d texts embedded, want 3 and the changed one", n)
	}
	if got, want := e.embedded[0], "files read_file: Read a file. path. the path"; !strings.HasPrefix(got, "files ") || !contains(e.embedded, want) {
		t.Errorf("texts %q lack %q", e.embedded, want)
	}
	closeIndex(t, ix)

	again := newTestEmbedder("a", 8)
	ix = openDir(t, dir, Options{Embedder: again})
	if res := find(t, ix, Semantic); res.Model != "a" {
		t.Errorf("stored vectors do not serve at once: %+v", res)
	}
	wait(t, ix)
	st := ix.Status().Models
	if again.count() != 0 || len(st) != 1 || st[0].Role != "serving" || st[0].Vectors != 3 || st[0].CacheHit != 3 {
		t.Errorf("%d texts embedded again; %+v", again.count(), st)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestSwitchingModels fills a second model beside the first.
func TestSwitchingModels(t *testing.T) {
	dir := t.TempDir()
	a, b := newTestEmbedder("a", 8), newTestEmbedder("b", 16)
	ix := openDir(t, dir, Options{Embedder: a})
	replace(t, ix, "files", three...)
	wait(t, ix)
	half := make(chan struct{})
	b.set("b", func(i int, text string) ([]float32, error) {
		if strings.Contains(text, "list") {
			<-half
		}
		return nil, nil
	})
	ix.SetEmbedder(b)
	if res := find(t, ix, Hybrid); res.Model != "a" || res.Degraded {
		t.Errorf("while b is filled %q answers, degraded %v: %s", res.Model, res.Degraded, res.Reason)
	}
	roles := func() string {
		var all []string
		for _, m := range ix.Status().Models {
			all = append(all, m.Model+" "+m.Role)
		}
		return strings.Join(all, ", ")
	}
	if got := roles(); got != "b filling, a serving" {
		t.Errorf("models: %s", got)
	}
	close(half)
	wait(t, ix)
	if res := find(t, ix, Hybrid); res.Model != "b" {
		t.Errorf("after b is complete %q answers", res.Model)
	}
	if got := roles(); got != "b serving" {
		t.Errorf("models: %s", got)
	}
	ix.SetEmbedder(a)
	wait(t, ix)
	if res := find(t, ix, Hybrid); res.Model != "a" || a.count() != 3 {
		t.Errorf("back on a: %q answers, %d texts embedded", res.Model, a.count())
	}
	ix.SetEmbedder(nil)
	if res := find(t, ix, Hybrid); res.Mode != Keyword || !res.Degraded {
		t.Errorf("without an embedder: %+v", res)
	}
}

// TestFallback answers while the embedder's server is away, and when a query
// to it fails.
func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, near := newTestEmbedder("far", 8), newTestEmbedder("near", 4)
		down := errors.New("connection refused")
		broken := func(int, string) ([]float32, error) { return nil, down }
		far.set("far@pending", broken)
		ix := openDir(t, t.TempDir(), Options{Embedder: far, Fallback: near})
		replace(t, ix, "files", three...)
		if err := ix.Wait(t.Context()); !errors.Is(err, down) {
			t.Errorf("Wait = %v, want the embedder's error", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if res := find(t, ix, Hybrid); res.Model != "near" || res.Degraded {
			t.Errorf("while far is down: %+v", res)
		}
		if st := ix.Status().Models; len(st) != 2 || !strings.Contains(st[0].Error, "connection refused") || st[1].Role != "serving" {
			t.Errorf("status %+v", st)
		}
		far.set("far@1", nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if res := find(t, ix, Hybrid); res.Model != "far@1" {
			t.Errorf("after far came back %q answers; %+v", res.Model, ix.Status().Models)
		}
		far.set("far@1", broken)
		res := find(t, ix, Hybrid)
		if res.Model != "near" || res.Degraded || !strings.Contains(res.Reason, "connection refused") {
			t.Errorf("when a query fails: %+v", res)
		}
		replace(t, ix, "more", rawTool("other", "Another tool"))
		time.Sleep(time.Second)
		synctest.Wait()
		if st := ix.Status().Models[1]; st.Role != "fallback" || st.Vectors != 4 {
			t.Errorf("the fallback is not complete: %+v", st)
		}
	})
}

// TestIdentityChanges gives the embedder another identity while it serves:
// vectors of the two must never be compared.
func TestIdentityChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEmbedder("m@1", 8)
		ix := openDir(t, t.TempDir(), Options{Embedder: e})
		replace(t, ix, "files", three...)
		wait(t, ix)
		e.set("m@2", nil)
		res := find(t, ix, Hybrid)
		if res.Mode != Keyword || !strings.Contains(res.Reason, "m@2") {
			t.Errorf("just after the change: %+v", res)
		}
		time.Sleep(2 * 2 * time.Second)
		synctest.Wait()
		if res := find(t, ix, Hybrid); res.Model != "m@2" || e.count() != 6 {
			t.Errorf("after it was filled: model %q, %d texts embedded", res.Model, e.count())
		}
	})
}

func TestUnsoundVectors(t *testing.T) {
	nan := float32(math.NaN())
	tests := map[string]struct {
		vector []float32
		err    error
		want   string
	}{
		"error":        {nil, errors.New("too long"), "too long"},
		"none":         {nil, errors.New("context overflow"), "context overflow"},
		"wrong length": {[]float32{1, 2}, nil, "2 dimensions instead of 8"},
		"nan":          {[]float32{nan, 0, 0, 0, 0, 0, 0, 0}, nil, "not finite"},
		"zero":         {make([]float32, 8), nil, "zero vector"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEmbedder("m", 8)
				bad := func(_ int, text string) ([]float32, error) {
					if strings.Contains(text, "Write") {
						return tt.vector, tt.err
					}
					return nil, nil
				}
				e.set("m", bad)
				ix := openDir(t, t.TempDir(), Options{Embedder: e})
				replace(t, ix, "files", three...)
				if err := ix.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Wait = %v, want %q", err, tt.want)
				}
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				res := find(t, ix, Hybrid)
				if res.Model != "m" || len(res.Hits) != 3 {
					t.Errorf("the other vectors do not serve: %+v %+v", res, ix.Status().Models)
				}
				if n := e.count(); n != 2 && name != "wrong length" {
					t.Errorf("%d texts embedded, want the two good ones once", n)
				}
				if st := ix.Status().Models[0]; st.Vectors != 2 || st.Wanted != 3 {
					t.Errorf("status %+v", st)
				}
				// A changed text is tried.
				e.set("m", nil)
				replace(t, ix, "files", three[0], rawTool("write_file", "Put a file", "path"), three[2])
				wait(t, ix)
			})
		})
	}
}

// fieldsEmbedder embeds names alone, and knows only one word.
type fieldsEmbedder struct {
	wordEmbedder
	calls *int
}

func (e fieldsEmbedder) EmbedFields(ctx context.Context, tools []map[string]string) ([][]float32, error) {
	out := make([][]float32, len(tools))
	for i, f := range tools {
		*e.calls++
		if len(f) != 5 {
			return nil, fmt.Errorf("fields %v", f)
		}
		if out[i] = make([]float32, e.dims); f["name"] != "list" {
			out[i], _ = e.EmbedQuery(ctx, f["name"]+f["desc"])
		}
	}
	return out, nil
}

func TestFieldEmbedder(t *testing.T) {
	calls := 0
	e := fieldsEmbedder{wordEmbedder{8}, &calls}
	ix := newIndex(t, Options{Embedder: e}, map[string][]json.RawMessage{"files": three})
	wait(t, ix)
	if res := find(t, ix, Semantic); res.Model != e.Model() || calls != 3 {
		t.Errorf("model %q, %d calls", res.Model, calls)
	}
	if st := ix.Status().Models[0]; st.Vectors != 2 || st.Wanted != 3 || st.Error != "" {
		t.Errorf("status %+v", st)
	}
}

// TestTwoProcessesFillOnce has two processes want the same vectors.
func TestTwoProcessesFillOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := newTestEmbedder("m", 8), newTestEmbedder("m", 8)
	one := openDir(t, dir, Options{Embedder: a})
	two := openDir(t, dir, Options{Embedder: b})
	var list []json.RawMessage
	for i := range 200 {
		list = append(list, rawTool(fmt.Sprint("tool_", i), fmt.Sprint("Does thing ", i)))
	}
	replace(t, one, "s", list...)
	replace(t, two, "s", list...)
	wait(t, one)
	wait(t, two)
	if n := a.count() + b.count(); n != 200 {
		t.Errorf("%d texts embedded for 200 tools: %d and %d", n, a.count(), b.count())
	}
	find(t, two, Semantic)
}

// TestOfflineLearnsIdentity opens offline with a server's embedder, whose
// identity only a request tells.
func TestOfflineLearnsIdentity(t *testing.T) {
	dir := t.TempDir()
	ix := openDir(t, dir, Options{Embedder: newTestEmbedder("m@1", 8)})
	replace(t, ix, "files", three...)
	wait(t, ix)
	closeIndex(t, ix)
	e := newTestEmbedder("m@pending", 8)
	e.set("m@pending", func(int, string) ([]float32, error) { e.name = "m@1"; return nil, nil })
	ix = openDir(t, dir, Options{Embedder: e, Offline: true})
	if res := find(t, ix, Semantic); res.Model != "m@1" || e.count() != 0 {
		t.Errorf("model %q, %d texts embedded", res.Model, e.count())
	}
	down := newTestEmbedder("m@pending", 8)
	down.set("m@pending", func(int, string) ([]float32, error) { return nil, errors.New("refused") })
	ix = openDir(t, dir, Options{Embedder: down, Offline: true})
	if res := find(t, ix, Hybrid); res.Mode != Keyword || !strings.Contains(res.Reason, "refused") {
		t.Errorf("with the server down: %+v", res)
	}
}

// TestGraph builds, saves, reads and renews a graph.
func TestGraph(t *testing.T) {
	dir := t.TempDir()
	o := Options{Embedder: newTestEmbedder("m", 16), HNSWThreshold: 100}
	list := func(n int) (all []json.RawMessage) {
		for i := range n {
			all = append(all, rawTool(fmt.Sprint("tool_", i), fmt.Sprintf("Does thing %d and %d", i, i*7%50)))
		}
		return all
	}
	ix := openDir(t, dir, o)
	replace(t, ix, "s", list(300)...)
	wait(t, ix)
	st := ix.Status().Models[0]
	if st.Graph != "ready" || st.Recall < .98 {
		t.Fatalf("status %+v", st)
	}
	if res := find(t, ix, Semantic); !res.TotalIsLowerBound || len(res.Hits) == 0 {
		t.Errorf("found %+v", res)
	}
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "hnsw-*[0-9]"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := files()
	if len(first) != 1 {
		t.Fatalf("graph files %v", first)
	}
	replace(t, ix, "s", list(310)...) // within the delta
	wait(t, ix)
	if now := files(); len(now) != 1 || now[0] != first[0] {
		t.Errorf("a small change built another graph: %v", now)
	}
	replace(t, ix, "s", list(500)...)
	wait(t, ix)
	if now := files(); len(now) != 1 || now[0] == first[0] {
		t.Errorf("a large change did not build another graph: %v", now)
	}
	closeIndex(t, ix)

	o.Offline = true
	ix = openDir(t, dir, o)
	if st := ix.Status().Models[0]; st.Graph != "ready" {
		t.Errorf("the saved graph is not used: %+v", st)
	}
	damageFile(t, files()[0])
	if found, err := check.Folder(dir); len(found) != 1 || !found[0].Repairable() || err != nil {
		t.Errorf("Check = %+v, %v", found, err)
	}
	o.Offline = false
	ix = openDir(t, dir, o)
	wait(t, ix)
	if st := ix.Status().Models[0]; st.Graph != "ready" {
		t.Errorf("the damaged graph was not built again: %+v", st)
	}
	if found, err := check.Folder(dir); len(found) != 0 || err != nil {
		t.Errorf("Check = %+v, %v", found, err)
	}
}
