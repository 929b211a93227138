package labels_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/index"
)

func TestRotate(t *testing.T) {
	s := &labels.Set{Name: "s", Tools: []index.Tool{{Key: "a", Phrases: []string{"own"}}, {Key: "b"}, {Key: "c"}}}
	for _, q := range []struct{ id, tool string }{{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"a3", "a"}, {"b2", "b"}} {
		s.Queries = append(s.Queries, labels.Query{ID: q.id, Text: "ask " + q.id, Relevant: map[string]int{q.tool: 1}})
	}
	sets, err := s.Rotate(3)
	if err != nil || len(sets) != 3 {
		t.Fatalf("%d sets, %v", len(sets), err)
	}
	asked := map[string]int{}
	for _, r := range sets {
		for _, q := range r.Queries {
			asked[q.ID]++
			for _, tool := range r.Tools {
				if slices.Contains(tool.Phrases, q.Text) {
					t.Errorf("%s: %q is asked and a phrase of %s", r.Title(), q.Text, tool.Key)
				}
			}
		}
		if r.Tools[0].Phrases[0] != "own" || len(r.Tools[2].Phrases) != 0 {
			t.Errorf("%s: %+v", r.Title(), r.Tools)
		}
	}
	if len(asked) != len(s.Queries) {
		t.Errorf("asked %v: want every request once", asked)
	}
	if got := sets[0].Tools[0].Phrases; !slices.Equal(got, []string{"own", "ask a2", "ask a3"}) {
		t.Errorf("%s: a has %q", sets[0].Title(), got)
	}
	if len(s.Tools[0].Phrases) != 1 {
		t.Errorf("the set was changed: %q", s.Tools[0].Phrases)
	}
	s.Queries = s.Queries[:1]
	if _, err := s.Rotate(3); err == nil || !strings.Contains(err.Error(), "no tool has two requests") {
		t.Errorf("one request: %v", err)
	}
}

func TestPhrasesOfTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	files := map[string]string{
		"tools.jsonl":   `{"id":"a","name":"a","phrases":["one","two"]}` + "\n" + `{"id":"b","name":"b"}`,
		"phrases.jsonl": `{"id":"b","phrases":["three"]}`,
		"queries.jsonl": `{"id":"1","text":"x"}`,
		"qrels.tsv":     "1\ta\t1",
	}
	load := func() ([]*labels.Set, error) {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return labels.Load(dir, labels.Options{})
	}
	sets, err := load()
	if err != nil {
		t.Fatal(err)
	}
	tools := sets[0].Tools
	if !slices.Equal(tools[0].Phrases, []string{"one", "two"}) || !slices.Equal(tools[1].Phrases, []string{"three"}) {
		t.Errorf("%q, %q", tools[0].Phrases, tools[1].Phrases)
	}
	if strings.Contains(string(tools[0].Raw), "phrases") {
		t.Errorf("the tool object has the phrases: %s", tools[0].Raw)
	}
	for text, want := range map[string]string{
		`{"id":"c","phrases":["x"]}`: `phrases.jsonl:1: field "id": no tool "c"`,
		`{"id":"a","phrases":"x"}`:   `phrases.jsonl:1: field "phrases": want a list`,
		`{"id":"a","phrases":[" "]}`: "phrase 1: it is empty",
	} {
		files["phrases.jsonl"] = text
		if _, err := load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
