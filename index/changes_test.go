package index

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestChangesComeToTheSame changes one server after another and compares what
// searches say with an index that was given the whole catalog at once.
func TestChangesComeToTheSame(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	o := Options{Embedder: hashEmbedder{}}
	ix := openDir(t, "", o)
	catalog := catalogOf(1500)
	for name, tools := range catalog {
		catalog[name] = tools[:50+r.IntN(51)]
	}
	if _, err := ix.ReplaceAll(t.Context(), catalog); err != nil {
		t.Fatal(err)
	}
	wait(t, ix)
	for round := range 8 {
		name := fmt.Sprint("server-", r.IntN(len(catalog)+1)) // one more may come
		catalog[name] = changedTools(r, catalog[name], round)
		if _, err := ix.Replace(t.Context(), name, catalog[name]); err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 { // else several changes come together
			wait(t, ix)
		}
	}
	wait(t, ix)
	fresh := openDir(t, "", o)
	if _, err := fresh.ReplaceAll(t.Context(), catalog); err != nil {
		t.Fatal(err)
	}
	wait(t, fresh)
	for i := range 60 {
		q := Query{Mode: []Mode{Keyword, Semantic, Hybrid}[i%3], Text: queryOf(r, catalog), Limit: 30}
		if diff := gocmp.Diff(answerTo(t, fresh, q), answerTo(t, ix, q)); diff != "" {
			t.Fatalf("%s %q: built at once -, changed +:\n%s", q.Mode, q.Text, diff)
		}
	}
}

// changedTools drops, changes and adds some tools.
func changedTools(r *rand.Rand, tools []Tool, round int) []Tool {
	var out []Tool
	for _, t := range tools {
		switch r.IntN(6) {
		case 0:
			continue
		case 1:
			t.Description += fmt.Sprint(" changed in round ", round)
		}
		out = append(out, t)
	}
	for i := range 1 + r.IntN(5) {
		added, err := Decode("", rawTool(fmt.Sprint("added_", round, "_", i), fmt.Sprint("a tool of round ", round)))
		if err != nil {
			panic(err)
		}
		out = append(out, added)
	}
	return out
}

// queryOf is the words of some tool's name.
func queryOf(r *rand.Rand, catalog map[string][]Tool) string {
	for _, tools := range catalog {
		if len(tools) > 0 {
			t := tools[r.IntN(len(tools))]
			return t.Name + " " + t.Description[:min(len(t.Description), 40)]
		}
	}
	return "nothing"
}

type answerRow struct {
	Tool  string
	Score float64
}

func answerTo(t *testing.T, ix *Index, q Query) (out []answerRow) {
	t.Helper()
	res, err := ix.Search(t.Context(), q)
	if err != nil || res.Degraded {
		t.Fatal(err, res)
	}
	out = append(out, answerRow{fmt.Sprint(res.Total, " in all"), 0})
	for _, h := range res.Hits {
		out = append(out, answerRow{h.Tool.QualifiedName(), h.Score})
	}
	return out
}
