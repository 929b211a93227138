package rescore

import (
	"math"
	"testing"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/index"
)

// open indexes the project's own set with vectors.
func open(t *testing.T, p index.Params) (*index.Index, *labels.Set) {
	t.Helper()
	sets, err := labels.Load("../testdata/fifteen", labels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := static.Open()
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("", index.Options{Embedder: model, Params: &p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	byServer := map[string][]index.Tool{}
	for _, tool := range sets[0].Tools {
		byServer[tool.Server] = append(byServer[tool.Server], tool)
	}
	if _, err := ix.ReplaceAll(t.Context(), byServer); err != nil {
		t.Fatal(err)
	}
	if err := ix.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix, sets[0]
}

func otherParams() index.Params {
	p := index.DefaultParams()
	p.K1 = .7
	p.Fields["name"] = index.FieldParams{Weight: 3, B: .6}
	p.Fields["description"] = index.FieldParams{Weight: 1, B: .2}
	p.Fields["param_text"] = index.FieldParams{Weight: .9, B: .5}
	p.Fields["server"] = index.FieldParams{}
	p.Fusion = map[string]index.Fusion{"": {Lambda: .3, Gamma: .4}}
	p.Diversity = 0
	return p
}

// Candidates collected under one set of parameters, scored under another,
// must score as an index that searches with the other.
func TestScoresEqualTheIndex(t *testing.T) {
	before, after := index.DefaultParams(), otherParams()
	for _, mode := range []index.Mode{index.Keyword, index.Hybrid} {
		ix, set := open(t, before)
		c, err := NewCollector(ix, mode, 50)
		if err != nil {
			t.Fatal(err)
		}
		other, _ := open(t, after)
		scorer := Scorer{W: NewWeights(after, after.Fusion[""], mode)}
		for _, q := range set.Queries[:120] {
			got, err := c.Collect(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			res, err := other.Search(t.Context(), index.Query{Text: q.Text, Mode: mode, Limit: len(set.Tools)})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]float64{}
			var ranking []string
			for _, h := range res.Hits {
				want[labels.Key(h.Tool)] = h.Score
				ranking = append(ranking, labels.Key(h.Tool))
			}
			for i, s := range scorer.Scores(got) {
				if key := got.Candidates[i].Tool; math.Abs(s-want[key]) > 1e-5 {
					t.Fatalf("%s mode, query %s, tool %s: got score %.7f, the index %.7f", mode, q.ID, key, s, want[key])
				}
			}
			if !q.Answerable() {
				continue
			}
			for _, name := range []string{"recall@5", "ndcg@10"} {
				m, err := metric.Named(name)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := m(scorer.Found(got)), m(metric.Find(q.Relevant, ranking)); math.Abs(a-b) > 1e-9 {
					t.Errorf("%s mode, query %s: got %s %.4f, by the index %.4f", mode, q.ID, name, a, b)
				}
			}
		}
	}
}

func TestReciprocalRanks(t *testing.T) {
	parts := []Parts{{Keyword: .2, Cosine: .9}, {Keyword: .8}, {Cosine: .1}}
	dst := make([]float64, 3)
	ReciprocalRanks(60)(parts, dst)
	for i, want := range []float64{1./62 + 1./61, 1. / 61, 1. / 62} {
		if math.Abs(dst[i]-want) > 1e-12 {
			t.Errorf("candidate %d: got %v, want %v", i, dst[i], want)
		}
	}
}

func TestNormalisations(t *testing.T) {
	a := []float64{1, 3, 2}
	MinMax(a)
	if a[0] != 0 || a[1] != 1 || a[2] != .5 {
		t.Errorf("min-max: got %v", a)
	}
	b := []float64{1, 3, 1, 3}
	ZScore(b)
	if b[0] != -1 || b[1] != 1 {
		t.Errorf("z-score: got %v", b)
	}
	same := []float64{2, 2}
	MinMax(same)
	ZScore(same)
	if same[0] != 2 {
		t.Errorf("equal scores: got %v, want them left alone", same)
	}
	dst := make([]float64, 2)
	Normalised(MinMax, .5, .2)([]Parts{{Keyword: .2, Cosine: .4, Prior: .1}, {Keyword: .6, Cosine: .2}}, dst)
	if math.Abs(dst[0]-(.5+.02)) > 1e-12 || math.Abs(dst[1]-.5) > 1e-12 {
		t.Errorf("normalised fusion: got %v", dst)
	}
}
