package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: got %.15f, want %.15f", what, got, want)
	}
}

// Values worked out by hand from the definitions of trec_eval.
func TestScore(t *testing.T) {
	log2 := math.Log2
	for _, c := range []struct {
		name     string
		relevant map[string]int
		ranking  []string
		want     Values
	}{
		{"two of three found", map[string]int{"a": 1, "b": 2, "c": 1}, []string{"x", "b", "y", "a"}, Values{
			"recall@1": 0, "hit@1": 0, "all@1": 0,
			"recall@3": 1. / 3, "hit@3": 1, "all@3": 0,
			"recall@5": 2. / 3, "hit@5": 1, "all@5": 0,
			"ndcg@10": (2/log2(3) + 1/log2(5)) / (2 + 1/log2(3) + 1/log2(4)),
			"mrr":     .5, "map": (1./2 + 2./4) / 3,
		}},
		{"all found at once", map[string]int{"a": 3, "b": 1}, []string{"a", "b"}, Values{
			"recall@1": .5, "hit@1": 1, "all@1": 0, "recall@3": 1, "hit@3": 1, "all@3": 1,
			"ndcg@10": 1, "mrr": 1, "map": 1,
		}},
		{"beyond the tenth row", map[string]int{"a": 1}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a"}, Values{
			"recall@5": 0, "ndcg@10": 0, "mrr": 1. / 11, "map": 1. / 11,
		}},
		{"nothing ranked", map[string]int{"a": 1}, nil, Values{"recall@5": 0, "ndcg@10": 0, "mrr": 0, "map": 0}},
	} {
		got := Score(c.relevant, c.ranking, []int{1, 3, 5})
		for name, want := range c.want {
			near(t, c.name+" "+name, got[name], want)
		}
	}
}

func TestNamesAreWhatScoreGives(t *testing.T) {
	ks := []int{1, 5, 10}
	got := Score(map[string]int{"a": 1}, []string{"a"}, ks)
	for _, n := range Names(ks) {
		if _, ok := got[n]; !ok {
			t.Errorf("Score gives no %s", n)
		}
	}
	if len(got) != len(Names(ks)) {
		t.Errorf("Score gives %d metrics, Names %d", len(got), len(Names(ks)))
	}
}

func TestNamed(t *testing.T) {
	relevant, ranking := map[string]int{"a": 2, "b": 1}, []string{"x", "b", "y", "a"}
	f := Find(relevant, ranking)
	for name, want := range Score(relevant, ranking, []int{1, 3, 5}) {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, m(f), want)
	}
	for _, bad := range []string{"recall", "recall@0", "recall@x", "mrr@5", "ndcg@5", ""} {
		if _, err := Named(bad); err == nil {
			t.Errorf("metric %q: want an error", bad)
		}
	}
}

func TestIdealIsCutToo(t *testing.T) {
	relevant, ranking := map[string]int{}, []string{}
	for _, r := range "abcdefghijkl" {
		relevant[string(r)] = 1
		ranking = append(ranking, string(r))
	}
	near(t, "twelve relevant, all in front", Score(relevant, ranking, nil)["ndcg@10"], 1)
}

func TestAUC(t *testing.T) {
	for _, c := range []struct {
		pos, neg []float64
		want     float64
	}{
		{[]float64{.9, .8}, []float64{.1, .2}, 1},
		{[]float64{.1}, []float64{.2, .3}, 0},
		{[]float64{.5, .5}, []float64{.5}, .5},
		{[]float64{.1, .5, .9}, []float64{.5, .3}, (0 + 1.5 + 2) / 6},
	} {
		near(t, "auc", *AUC(c.pos, c.neg), c.want)
	}
	if AUC(nil, []float64{1}) != nil {
		t.Error("AUC without positives: want nil")
	}
}

func TestAUCAgainstCountingPairs(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		draw := func() []float64 {
			v := make([]float64, 1+r.IntN(20))
			for i := range v {
				v[i] = float64(r.IntN(10)) / 10
			}
			return v
		}
		pos, neg := draw(), draw()
		u := 0.0
		for _, p := range pos {
			for _, n := range neg {
				if p > n {
					u++
				} else if p == n {
					u += .5
				}
			}
		}
		if want := u / float64(len(pos)*len(neg)); math.Abs(*AUC(pos, neg)-want) > 1e-12 {
			t.Fatalf("seed %d: AUC(%v, %v) = %v, want %v", seed, pos, neg, *AUC(pos, neg), want)
		}
	}
}

func TestClaims(t *testing.T) {
	os := []Outcome{
		{Score: .95, Right: true, Answerable: true, High: true},
		{Score: .85, Answerable: true, High: true},
		{Score: .55, Right: true, Answerable: true},
		{Score: .15, Answerable: true, Weak: true},
		{Score: .12, Weak: true},
		{Score: .45},
	}
	c := Claim(os, true)
	near(t, "weak precision", *c.WeakPrecision, 1./2)
	near(t, "weak recall", *c.WeakRecall, 1./2)
	near(t, "high precision", *c.HighPrecision, 1./2)
	near(t, "high coverage", *c.HighCoverage, 2./6)
	near(t, "auc", *c.AUC, 7./8)
	near(t, "ece", *c.ECE, (.05+.85+.45+2*.135+.45)/6)
	if c := Claim(os, false); c.WeakPrecision != nil || c.HighCoverage != nil {
		t.Errorf("without calibration: got %+v, want no claims measured", c)
	}
	if c := Claim(os[:4], true); c.WeakPrecision != nil || c.AUC != nil {
		t.Errorf("without unanswerable queries: got %+v, want no figures of them", c)
	}
}

func TestAbstention(t *testing.T) {
	got := Abstention([]Outcome{{Score: .2}, {Score: .6, Answerable: true}, {Score: .2, Answerable: true}, {Score: .8}})
	want := []Point{{.6, .5, .5}, {.8, 1. / 3, .5}, {1, .5, 1}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("point %d: got %v, want %v", i, got[i], want[i])
		}
	}
}
