package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tooldex/tooldex/index/snapshot"
)

func mustSearch(t testing.TB, ix *Index, q Query) *Results {
	t.Helper()
	res, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestEmptyQueryListsInNameOrder(t *testing.T) {
	ix := small(t)
	res := mustSearch(t, ix, Query{Text: "  ", Filter: Filter{Servers: []string{"GitHub"}}, Limit: 1})
	if got := names(res.Hits); got != "github/create_pull_request " || res.Total != 2 || res.Hits[0].Score != 0 {
		t.Errorf("got %s, total %d", got, res.Total)
	}
}

func TestWithoutVectors(t *testing.T) {
	ix := small(t)
	_, err := ix.Search(t.Context(), Query{Text: "read", Mode: Semantic})
	if !errors.Is(err, ErrNoVectors) {
		t.Errorf("semantic search without an embedder: error %v, want ErrNoVectors", err)
	}
	hybrid := mustSearch(t, ix, Query{Text: "read a file"})
	keyword := mustSearch(t, ix, Query{Text: "read a file", Mode: Keyword})
	if !hybrid.Degraded || hybrid.Mode != Keyword || hybrid.Requested != Hybrid || hybrid.Reason == "" || keyword.Degraded {
		t.Errorf("hybrid without an embedder: %+v", hybrid)
	}
	for i := range keyword.Hits {
		if hybrid.Hits[i].ID != keyword.Hits[i].ID || hybrid.Hits[i].Score != keyword.Hits[i].Score {
			t.Errorf("row %d of a degraded search differs from a keyword search", i)
		}
	}
	for _, q := range []Query{{Text: "a", Mode: "fuzzy"}, {Text: "a", Limit: -1}} {
		if _, err := ix.Search(t.Context(), q); err == nil {
			t.Errorf("%+v is accepted", q)
		}
	}
}

// broken answers queries as told.
type broken struct {
	wordEmbedder
	embed func(ctx context.Context) ([]float32, error)
}

func (b broken) Model() string { return "broken" }

func (b broken) EmbedQuery(ctx context.Context, _ string) ([]float32, error) { return b.embed(ctx) }

func TestQueryEmbeddingFails(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		embed  func(context.Context) ([]float32, error)
		reason string
	}{
		"error":      {func(context.Context) ([]float32, error) { return nil, errors.New("model gone") }, "embed query with broken: model gone"},
		"slow":       {func(ctx context.Context) ([]float32, error) { <-ctx.Done(); return nil, ctx.Err() }, "deadline exceeded"},
		"dimensions": {func(context.Context) ([]float32, error) { return make([]float32, 3), nil }, "3 dimensions, the catalog's have 8"},
		"zero":       {func(context.Context) ([]float32, error) { return make([]float32, 8), nil }, "knows no word"},
		"not finite": {func(context.Context) ([]float32, error) { return []float32{nan, 0, 0, 0, 0, 0, 0, 0}, nil }, "gives no vector"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ix := small(t)
			good := wordEmbedder{dims: 8}
			attach(t, ix, good)
			s := ix.snapshot()
			rows := s.Serving().Rows()
			serving := snapshot.NewSpace(s, "broken", broken{good, c.embed}, rows, rows)
			ix.current.Store(s.WithSpaces("", serving))
			before := time.Now()
			res := mustSearch(t, ix, Query{Text: "read a file"})
			if took := time.Since(before); took > 2*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if res.Mode != Keyword || !res.Degraded || res.Model != "" || !strings.Contains(res.Reason, c.reason) {
				t.Errorf("%s: mode %s, model %q, reason %q", name, res.Mode, res.Model, res.Reason)
			}
			if res.UnknownWords != (name == "zero") {
				t.Errorf("%s: unknown words %v", name, res.UnknownWords)
			}
			_, err := ix.Search(t.Context(), Query{Text: "read a file", Mode: Semantic})
			if !errors.Is(err, ErrNoVectors) || (name == "zero") != errors.Is(err, ErrUnknownWords) {
				t.Errorf("%s: semantic error %v", name, err)
			}
			ix.current.Store(s.WithSpaces("", serving, s.Serving()))
			res = mustSearch(t, ix, Query{Text: "read a file"})
			if res.Mode != Hybrid || res.Degraded || res.Model != "words/8" || !strings.Contains(res.Reason, c.reason) {
				t.Errorf("%s with a fallback: mode %s, model %q, reason %q", name, res.Mode, res.Model, res.Reason)
			}
		})
	}
}

func TestCancelledSearch(t *testing.T) {
	ix := small(t)
	cancel := func() {}
	attach(t, ix, broken{wordEmbedder{8}, func(ctx context.Context) ([]float32, error) {
		cancel()
		return make([]float32, 8), ctx.Err()
	}})
	ctx, stop := context.WithCancel(t.Context())
	cancel = stop
	if _, err := ix.Search(ctx, Query{Text: "read"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestMinScoreAndFloor(t *testing.T) {
	ix := small(t)
	high := .999
	res := mustSearch(t, ix, Query{Text: "read file", Mode: Keyword, MinScore: &high})
	if len(res.Hits) != 0 || res.Total != 0 || res.Best <= 0 || res.Best >= high {
		t.Errorf("min score %v: %d rows, total %d, best %v", high, len(res.Hits), res.Total, res.Best)
	}
	attach(t, ix, wordEmbedder{8})
	res = mustSearch(t, ix, Query{Text: "zebra crossing", Mode: Hybrid})
	if len(res.Hits) != 4 {
		t.Errorf("hybrid without min score gives %d rows of 4", len(res.Hits))
	}
}

func TestConfidence(t *testing.T) {
	ix := small(t)
	p := DefaultParams()
	p.Confidence = map[string]Thresholds{"keyword ": {High: .5, Weak: .18}}
	if err := ix.SetParams(p); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"read contents of a file":              "high true false",
		"file zebra unicorn dragon basilisk":   " true true",
		"list issues of zebra unicorn dragons": " true false",
	} {
		res := mustSearch(t, ix, Query{Text: text, Mode: Keyword})
		if got := fmt.Sprint(res.Confidence, " ", res.Calibrated, " ", res.WeakMatch); got != want {
			t.Errorf("%q (score %v): got %q, want %q", text, res.Best, got, want)
		}
	}
	attach(t, ix, wordEmbedder{8})
	if res := mustSearch(t, ix, Query{Text: "read"}); res.Calibrated || res.Confidence != "" || res.WeakMatch {
		t.Errorf("a mode without thresholds claims something: %+v", res)
	}
}

// crowd is a catalog where one server has n tools that match as well as it
// gets, and others have one that is nearly as good.
func crowd(t testing.TB, n int) *Index {
	catalog := map[string][]json.RawMessage{}
	for i := range n {
		catalog["flood"] = append(catalog["flood"], rawTool(fmt.Sprint("weather_", strings.Repeat("x", i+1)), "Tell the weather forecast"))
	}
	for _, s := range []string{"a", "b", "c"} {
		catalog[s] = []json.RawMessage{rawTool("weather", "Tell the weather forecast of one place")}
	}
	return newIndex(t, Options{}, catalog)
}

func TestDiversity(t *testing.T) {
	ix := crowd(t, 30)
	rows := func(q Query) (others int, sorted bool) {
		res := mustSearch(t, ix, q)
		sorted = true
		for i, h := range res.Hits {
			if h.Tool.Server != "flood" {
				others++
			}
			sorted = sorted && (i == 0 || res.Hits[i-1].Score >= h.Score)
		}
		if len(res.Hits) != 5 {
			t.Errorf("%+v: %d rows, want 5", q, len(res.Hits))
		}
		return others, sorted
	}
	base := Query{Text: "tell weather forecast", Mode: Keyword, Limit: 5}
	if others, _ := rows(base); others != 2 {
		t.Errorf("%d rows of other servers among 5, want 2", others)
	}
	named := base
	named.Filter.Servers = []string{"flood", "a", "b"}
	if _, sorted := rows(named); !sorted {
		t.Error("servers were named, yet rows moved")
	}
	p := DefaultParams()
	p.Diversity = 0
	if err := ix.SetParams(p); err != nil {
		t.Fatal(err)
	}
	if _, sorted := rows(base); !sorted {
		t.Error("the rule is off, yet rows moved")
	}
}

// Flooding must not pay: a server that repeats a rival's words in hundreds of
// tools neither hides the rival nor devalues its words.
func TestFlooding(t *testing.T) {
	score := func(ix *Index) float64 {
		res := mustSearch(t, ix, Query{Text: "weather forecast of one place", Mode: Keyword, Limit: 5})
		for _, h := range res.Hits {
			if h.Tool.Server == "a" {
				return h.Score
			}
		}
		return 0
	}
	alone, flooded := score(crowd(t, 1)), score(crowd(t, 400))
	if flooded < .8*alone {
		t.Errorf("the rival's score falls from %v to %v", alone, flooded)
	}
}

func TestExplainDropped(t *testing.T) {
	ix := small(t)
	id := Tool{Server: "github", Name: "list_issues"}.ID()
	high := .99
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Text: "list issues"}, ""},
		{Query{Text: "pull request of a repository", Limit: 1}, "rank 2 is beyond the limit of 1"},
		{Query{Text: "issues", MinScore: &high, Limit: 1}, "is below min_score 0.99"},
		{Query{Text: "issues", Filter: Filter{Servers: []string{"files"}}}, "filter servers [files] does not match"},
		{Query{Text: "issues", Filter: Filter{HasExamples: true, Scope: outsider}}, "filter has_examples true does not match"},
		{Query{Text: "issues", Filter: Filter{Scope: NewScope(func(*Tool) bool { return false })}}, "filter scope does not match"},
		{Query{Text: "zebra"}, "shares no term with the query"},
		{Query{Filter: Filter{Tags: []string{"x"}}}, "filter tags [x] does not match"},
	} {
		c.q.Mode = Keyword
		e, err := ix.Explain(t.Context(), c.q, id)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(e.Dropped, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: dropped for %q, want %q", c.q, got, c.want)
		}
	}
	if _, err := ix.Explain(t.Context(), Query{Text: "x", Mode: Keyword}, "000000000000"); err == nil {
		t.Error("an unknown tool is explained")
	}
}

// The parts of an explanation add up to the score, and its rank is the row.
func TestExplanationAddsUp(t *testing.T) {
	ix := small(t)
	attach(t, ix, wordEmbedder{16})
	for _, mode := range []Mode{Keyword, Semantic, Hybrid} {
		for i, h := range mustSearch(t, ix, Query{Text: "read issues of a file", Mode: mode, Explain: true}).Hits {
			e := h.Explanation
			sum := (e.Lambda*e.Keyword + (1-e.Lambda)*max(0, e.Cosine) + e.Gamma*max(0, e.Prior)) / (1 + e.Gamma)
			if math.Abs(sum-h.Score) > 1e-6 || e.Rank != i+1 {
				t.Errorf("%s %s: row %d scores %v, parts give %v (%+v)", mode, h.Tool.Name, i+1, h.Score, sum, e)
			}
			terms := 0.0
			for _, term := range e.Terms {
				terms += term.Contribution
			}
			if math.Abs(terms-e.BM25F) > 1e-9 {
				t.Errorf("terms add up to %v, BM25F is %v", terms, e.BM25F)
			}
		}
	}
}

func TestSetParamsRefuses(t *testing.T) {
	ix := small(t)
	for name, change := range map[string]func(*Params){
		"k1":     func(p *Params) { p.K1 = -1 },
		"field":  func(p *Params) { p.Fields = map[string]FieldParams{"nmae": {}} },
		"weight": func(p *Params) { p.Fields = map[string]FieldParams{"name": {Weight: math.NaN()}} },
		"b":      func(p *Params) { p.Fields = map[string]FieldParams{"name": {B: 1.5}} },
		"fusion": func(p *Params) { p.Fusion = map[string]Fusion{"": {Lambda: 2}} },
	} {
		p := DefaultParams()
		change(&p)
		if err := ix.SetParams(p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
