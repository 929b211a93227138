package index

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/index/vector"
)

// An axes embedder gives every word an axis of its own, of documents and of
// queries other ones where twisted. While it is mute it has no vector for
// what people say.
type axes struct {
	name string
	mute atomic.Bool
	asks atomic.Int64 // for queries
}

var errMute = errors.New("no connection")

var axisOf = map[string]int{"dispatch": 0, "enumerat": 1, "purge": 2, "shoot": 3, "tidy": 4, "sweep": 5}

func (a *axes) Model() string { return a.name }

func (a *axes) vector(text string) []float32 {
	v := make([]float32, 8)
	v[7] = .1
	for word, i := range axisOf {
		if strings.Contains(strings.ToLower(text), word) {
			v[i] = 1
		}
	}
	return v
}

func (a *axes) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	a.asks.Add(1)
	if a.mute.Load() {
		return nil, errMute
	}
	return a.vector(text), nil
}

func (a *axes) EmbedDocuments(_ context.Context, all []string) ([][]float32, error) {
	out := make([][]float32, len(all))
	for i, text := range all {
		out[i] = a.vector(text)
	}
	return out, nil
}

// rowOf is the vector of a tool as searches see it.
func rowOf(t testing.TB, ix *Index, id string) []float32 {
	t.Helper()
	s := ix.snapshot()
	for i, d := range s.Docs() {
		if d.ID == id {
			sum := make([]float32, s.Serving().Rows().Dims())
			s.Serving().Rows().Row(i).AddTo(sum)
			return sum
		}
	}
	t.Fatalf("tool %s has no row", id)
	return nil
}

// mixed is unit(own + v · mean of said).
func mixed(own []float32, v float64, said ...[]float32) []float32 {
	sum := make([]float32, len(own))
	u, _ := vector.Unit(own)
	copy(sum, u)
	for _, s := range said {
		u, _ := vector.Unit(s)
		for i, x := range u {
			sum[i] += float32(v) * x / float32(len(said))
		}
	}
	u, _ = vector.Unit(sum)
	return u
}

func near(a, b []float32) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > .01 { // a code has 8 bits
			return false
		}
	}
	return len(a) == len(b)
}

// A tool's vector is its own with the mean of its phrases'; it is the same
// after opening, when nothing is embedded again, and its own again when the
// phrases are gone.
func TestPhraseVectors(t *testing.T) {
	e := &axes{name: "axes"}
	dir := t.TempDir()
	ix := openMail(t, dir, Options{Embedder: e})
	ids := stockMail(t, ix)
	wait := func(ix *Index) {
		t.Helper()
		if err := ix.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wait(ix)
	id := ids["purge"]
	own := rowOf(t, ix, id)
	if !near(own, mixed(e.vector("purge"), 0)) {
		t.Fatalf("the tool's own vector is %v", own)
	}
	add(t, ix, id, phrase.Import, "tidy", "sweep")
	wait(ix)
	want := mixed(e.vector("purge"), ix.snapshot().PhraseVectors(), e.vector("tidy"), e.vector("sweep"))
	if got := rowOf(t, ix, id); !near(got, want) {
		t.Errorf("with two phrases it is %v, want %v", got, want)
	}
	if st := ix.Status().Models[0]; st.Phrases != 2 || st.PhraseVectors != 2 || st.Vectors != 3 || st.Wanted != 3 {
		t.Errorf("status %+v", st)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	e.asks.Store(0)
	ix = openMail(t, dir, Options{Embedder: e})
	wait(ix)
	if got := rowOf(t, ix, id); !near(got, want) || e.asks.Load() > 0 {
		t.Errorf("after opening it is %v, and %d phrases were embedded", got, e.asks.Load())
	}
	res, err := ix.Search(t.Context(), Query{Text: "sweep", Mode: Semantic})
	if err != nil || len(res.Hits) == 0 || res.Hits[0].ID != id {
		t.Errorf("found %+v, %v", res, err)
	}
	p := DefaultParams()
	p.PhraseVectors = 0
	if err := ix.SetParams(p); err != nil {
		t.Fatal(err)
	}
	if got := rowOf(t, ix, id); !near(got, own) {
		t.Errorf("without weight it is %v", got)
	}
	if err := ix.SetParams(DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Phrases().Remove(t.Context(), func(phrase.Phrase) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := rowOf(t, ix, id); !near(got, own) {
		t.Errorf("without phrases it is %v", got)
	}
}

// An endpoint that gives no vectors for phrases leaves them out and says so;
// the tools are found meanwhile. Once it does they are in.
func TestPhrasesOfADeafEndpoint(t *testing.T) {
	e := &axes{name: "axes"}
	ix := openMail(t, "", Options{Embedder: e})
	ids := stockMail(t, ix)
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.mute.Store(true)
	own := rowOf(t, ix, ids["purge"])
	add(t, ix, ids["purge"], phrase.Import, "tidy")
	if err := ix.Wait(t.Context()); !strings.Contains(err.Error(), errMute.Error()) {
		t.Errorf("waiting ends with %v", err)
	}
	st := ix.Status().Models[0]
	if st.Role != "serving" || st.Vectors != 3 || st.PhraseVectors != 0 || st.Phrases != 1 || !strings.Contains(st.Error, "no connection") {
		t.Errorf("status %+v", st)
	}
	if got := rowOf(t, ix, ids["purge"]); !near(got, own) {
		t.Errorf("the tool's vector is %v", got)
	}
	e.mute.Store(false)
	add(t, ix, ids["purge"], phrase.Import, "sweep") // has the fillers look
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := mixed(e.vector("purge"), 1, e.vector("tidy"), e.vector("sweep"))
	if got := rowOf(t, ix, ids["purge"]); !near(got, want) {
		t.Errorf("the tool's vector is %v, want %v", got, want)
	}
}

// An explanation shows what each phrase has in common with the query, and
// whose it is.
func TestExplainPhrases(t *testing.T) {
	e := &axes{name: "axes"}
	ix := openMail(t, "", Options{Embedder: e})
	ids := stockMail(t, ix)
	add(t, ix, ids["purge"], phrase.Import, "tidy up old stuff")
	add(t, ix, ids["purge"], phrase.Model, "sweep the floor")
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	x, err := ix.Explain(t.Context(), Query{Text: "tidy the floor"}, ids["purge"])
	if err != nil || len(x.Phrases) != 2 {
		t.Fatalf("%+v, %v", x.Phrases, err)
	}
	first, second := x.Phrases[0], x.Phrases[1]
	if first.Text != "tidy up old stuff" || first.Source != phrase.Import || first.Cosine < .9 || strings.Join(first.Terms, " ") != "tidi" {
		t.Errorf("first %+v", first)
	}
	if second.Source != phrase.Model || strings.Join(second.Terms, " ") != "floor" || second.Cosine > .1 {
		t.Errorf("second %+v", second)
	}
	if x.Terms[0].Fields["phrases"] != 1 {
		t.Errorf("terms %+v", x.Terms)
	}
}
