package eval_test

import (
	"slices"
	"testing"

	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/phrased"
	"github.com/tooldex/tooldex/index"
)

// A set whose requests name nothing that the tools' texts say.
func phrasedSet() *labels.Set {
	tools := []index.Tool{
		{Key: "bin", Name: "bin", Description: "Moves records to the archive", Phrases: []string{"chuck it out", "get rid of clutter"}},
		{Key: "mint", Name: "mint", Description: "Adds records to the ledger", Phrases: []string{"jot that down"}},
	}
	for i := range tools {
		tools[i].Raw = []byte(`{"name":"` + tools[i].Name + `","description":"` + tools[i].Description + `"}`)
	}
	return &labels.Set{Name: "phrased", Tools: tools, Queries: []labels.Query{
		{ID: "1", Text: "Chuck it  out!", Relevant: map[string]int{"bin": 1}}, // is a phrase of the tool itself
		{ID: "2", Text: "clutter", Relevant: map[string]int{"bin": 1}},
		{ID: "3", Text: "jot", Relevant: map[string]int{"mint": 1}},
	}}
}

func TestPhrases(t *testing.T) {
	set := phrasedSet()
	found := func(p phrased.From) (right []string, ph *phrased.Report) {
		res, err := eval.Run(t.Context(), []*labels.Set{set}, eval.Options{Phrases: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range res.Sets[0].PerQuery {
			if q.Metrics["hit@1"] == 1 {
				right = append(right, q.ID)
			}
		}
		return right, res.Sets[0].Phrases
	}
	if right, ph := found(""); right != nil || ph != nil {
		t.Errorf("without phrases %q are right, with %+v", right, ph)
	}
	if right, ph := found(phrased.Pack); right != nil || ph == nil || ph.Tools != 0 {
		t.Errorf("the pack knows these tools: %q, %+v", right, ph)
	}
	right, ph := found(phrased.All)
	if want := (phrased.Report{From: phrased.All, Tools: 2, Count: 2, LeftOut: 1}); ph == nil || *ph != want {
		t.Errorf("%+v, want %+v", ph, want)
	}
	if !slices.Equal(right, []string{"2", "3"}) {
		t.Errorf("%q are right; want 2 and 3: what 1 asks is the set's own request, and no phrase", right)
	}
	known := labels.Set{Tools: []index.Tool{{Server: "github", Name: "create_pull_request", Description: "Create a new pull request in a GitHub repository.", Phrases: []string{"own"}}}}
	if _, ph := phrased.Tools(&known, phrased.All); ph.Count < 2 {
		t.Errorf("the pack does not know the tool: %+v", ph)
	}
	if tools, ph := phrased.Tools(&known, phrased.Own); ph.Count != 1 || !slices.Equal(tools[0].Phrases, []string{"own"}) {
		t.Errorf("of its own it has %q: %+v", tools[0].Phrases, ph)
	}
	if len(set.Tools[0].Phrases) != 2 {
		t.Errorf("the set was changed: %q", set.Tools[0].Phrases)
	}
}
