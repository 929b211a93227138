package eval

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// drawn makes outcomes whose first row is right with probability score.
func drawn(r *rand.Rand, n int, right func(score float64) float64) []metric.Outcome {
	out := make([]metric.Outcome, n)
	for i := range out {
		s := r.Float64()
		out[i] = metric.Outcome{Score: s, Answerable: true, Right: r.Float64() < right(s)}
	}
	return out
}

var threeSets = []*labels.Set{{Name: "a"}, {Name: "b"}, {Name: "c"}}

func TestThresholdsKeepTheirPromise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	identity := func(s float64) float64 { return s }
	mixes := [][]metric.Outcome{drawn(r, 9000, identity), drawn(r, 9000, identity), drawn(r, 9000, identity)}
	c := fitClaim(threeSets, mixes, high, .9, .05)
	// P(right | score ≥ t) is (1 + t)/2, so .9 is kept from .8 on.
	if !c.Supported || c.Threshold < .78 || c.Threshold > .87 || c.Lower < .9 {
		t.Errorf("confidence high: got %+v, want a threshold little above .8", c)
	}
	w := fitClaim(threeSets, mixes, weak, .8, .05)
	// P(wrong | score < t) is 1 − t/2, so .8 is kept up to .4.
	if !w.Supported || w.Threshold > .42 || w.Threshold < .33 || w.Lower < .8 {
		t.Errorf("weak match: got %+v, want a threshold little below .4", w)
	}
}

func TestThresholdsThatDataDoNotSupport(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	coin := func(float64) float64 { return .5 }
	good := func(s float64) float64 { return s }
	for name, c := range map[string]struct {
		mixes    [][]metric.Outcome
		coverage float64
		reason   string
	}{
		"score says nothing":   {[][]metric.Outcome{drawn(r, 500, coin), drawn(r, 500, coin), drawn(r, 500, coin)}, .05, "no threshold"},
		"one set contradicts":  {[][]metric.Outcome{drawn(r, 2000, good), drawn(r, 2000, good), drawn(r, 2000, func(s float64) float64 { return s * .88 })}, .05, "do not support"},
		"speaks of too little": {[][]metric.Outcome{drawn(r, 2000, good), drawn(r, 2000, good), drawn(r, 2000, good)}, .5, "not worth making"},
	} {
		got := fitClaim(threeSets, c.mixes, high, .9, c.coverage)
		if got.Supported || got.Threshold != 0 || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: got %+v, want no threshold because of %q", name, got, c.reason)
		}
	}
}

func TestCalibrateWritesWhatIsSupported(t *testing.T) {
	o := CalibrateOptions{Options: Options{Embedder: builtin(t)}, Queries: 100, Precision: .6, Wrong: .5}
	c, err := Calibrate(t.Context(), halves(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Key != "hybrid builtin/static-v1" || c.Queries == 0 || c.AUC == nil {
		t.Errorf("got key %q, %d queries", c.Key, c.Queries)
	}
	if !c.High.Supported || c.Params.Confidence[c.Key].High != c.High.Threshold {
		t.Fatalf("got %+v in %v, want a supported threshold in the parameters", c.High, c.Params.Confidence)
	}
	claimed := 0
	for _, q := range run(t, halves(t), Options{Embedder: builtin(t), Params: &c.Params}).Sets[0].PerQuery {
		if q.Degraded != "" {
			continue // another mode answered, which has no thresholds
		}
		if !q.Calibrated {
			t.Fatal("the search does not know the thresholds")
		}
		if wants := q.Ranking[0].Score >= c.High.Threshold; wants != (q.Confidence == "high") {
			t.Fatalf("query %s scores %.3f and has confidence %q at threshold %.2f", q.ID, q.Ranking[0].Score, q.Confidence, c.High.Threshold)
		} else if wants {
			claimed++
		}
	}
	if claimed == 0 {
		t.Error("no query is claimed")
	}
	o.Precision, o.Wrong = .999, .999
	if c, err := Calibrate(t.Context(), halves(t), o); err != nil || len(c.Params.Confidence) != 0 {
		t.Errorf("out of reach: got %v, %v, want no thresholds", c.Params.Confidence, err)
	}
}

func TestMadeUnanswerableQueriesLoseTheirCopiesToo(t *testing.T) {
	set := &labels.Set{Name: "s"}
	for i, text := range []string{"list all open pull requests of a repository now", "list all open pull requests of a repository", "bake a cake with cherries"} {
		raw, err := json.Marshal(map[string]string{"name": "tool", "description": text})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := index.Decode(string(rune('a'+i)), raw)
		if err != nil {
			t.Fatal(err)
		}
		set.Tools = append(set.Tools, tool)
	}
	q := labels.Query{Relevant: map[string]int{"a/tool": 1}}
	if got := removed(q, copies(set.Tools)); len(got) != 2 || !got["a/tool"] || !got["b/tool"] {
		t.Errorf("got %v, want the right tool and its copy gone", got)
	}
}

func TestMixHasTheShare(t *testing.T) {
	o := outcomes{answerable: make([]metric.Outcome, 80), without: make([]metric.Outcome, 80)}
	for i := range o.answerable {
		o.answerable[i].Answerable = true
	}
	mixed := o.mix(.2, 1)
	if len(mixed) != 100 {
		t.Errorf("got %d outcomes, want 80 answerable and 20 not", len(mixed))
	}
	if math.Abs(stat.LowerBound(80, 100)-.7228) > .001 {
		t.Errorf("lower bound of 80 in 100: got %.4f", stat.LowerBound(80, 100))
	}
}

func TestAblateTakesPartsOut(t *testing.T) {
	o := TuneOptions{Options: Options{Embedder: builtin(t)}, Queries: 60}
	got, err := Ablate(t.Context(), halves(t), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Ablation{}
	for _, r := range got.Rows {
		rows[r.Name] = r
	}
	if len(rows) != 18 || got.Before <= 0 {
		t.Fatalf("got %d parts, %.3f before", len(rows), got.Before)
	}
	if r := rows["without vectors"]; r.Gain.Mean() > -.05 || r.Gain.P > .01 {
		t.Errorf("without vectors: got %+.3f (p %.3f), want a clear loss", r.Gain.Mean(), r.Gain.P)
	}
	if r := rows["without title"]; r.Gain.Mean() != 0 || r.Gain.P != 1 {
		t.Errorf("without title, which no tool has: got %+v, want no change", r.Gain)
	}
	o.Mode, o.Embedder = index.Keyword, nil
	words, err := Ablate(t.Context(), halves(t), o)
	if err != nil || len(words.Rows) != 9 || math.Abs(words.Before-rows["without vectors"].Gain.After) > .02 {
		t.Errorf("keyword mode: got %d parts, %.3f before, %v; want what hybrid is without vectors, %.3f", len(words.Rows), words.Before, err, rows["without vectors"].Gain.After)
	}
}
