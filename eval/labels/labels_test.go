package labels

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/index"
)

// folder writes files into a new folder called set.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	tools = `{"id":"a","server":"s","name":"open_file","description":"Open.","input_schema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}}

{"id":"b c","name":"close"}
`
	queries = "{\"id\":\"q1\",\"text\":\"open it\",\"kind\":\"agent\",\"extra\":1}\n{\"id\":\"q2\",\"text\":\"nothing fits\"}\n"
	qrels   = "q1\ta\t2\nq1\tb c\t0\n"
)

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{"tools.jsonl": tools, "queries.jsonl": queries, "qrels.tsv": qrels})
	sets, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := sets[0]
	if len(sets) != 1 || s.Title() != "set" || len(s.Tools) != 2 || s.Answerable() != 1 {
		t.Fatalf("got %d sets, first %q with %d tools and %d answerable queries", len(sets), s.Title(), len(s.Tools), s.Answerable())
	}
	want := []Query{{ID: "q1", Text: "open it", Kind: "agent", Relevant: map[string]int{"a": 2}}, {ID: "q2", Text: "nothing fits"}}
	if !reflect.DeepEqual(s.Queries, want) {
		t.Errorf("got queries %+v, want %+v", s.Queries, want)
	}
	if raw := string(s.Tools[0].Raw); !strings.Contains(raw, `"inputSchema":{"type":"object","properties":{"z"`) || strings.Contains(raw, "input_schema") {
		t.Errorf("got raw tool %s, want its schema as inputSchema in its own order", raw)
	}
	if s.Tools[1].Key != "b c" || s.Tools[1].Server != "" {
		t.Errorf("got key %q and server %q, want the line's id and no server", s.Tools[1].Key, s.Tools[1].Server)
	}
}

func TestSplits(t *testing.T) {
	files := map[string]string{"tools.jsonl": tools}
	for _, split := range []string{"dev", "test"} {
		files["queries."+split+".jsonl"], files["qrels."+split+".tsv"] = queries, qrels
	}
	dir := folder(t, files)
	for want, o := range map[string]Options{"set.dev set.test": {}, "set.test": {Split: "test"}} {
		sets, err := Load(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sets {
			got = append(got, s.Title())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("split %q: got %v, want %s", o.Split, got, want)
		}
	}
	if _, err := Load(dir, Options{Split: "train"}); err == nil || !strings.Contains(err.Error(), "dev, test") {
		t.Errorf("unknown split: got %v, want an error that lists the splits", err)
	}
}

func TestBEIR(t *testing.T) {
	dir := folder(t, map[string]string{
		"corpus.jsonl":   `{"_id":"d1","title":"open","text":"opens a file"}` + "\n" + `{"_id":"d2","text":"closes it"}` + "\n",
		"queries.jsonl":  `{"_id":"q1","text":"open"}` + "\n" + `{"_id":"q2","text":"of another split"}` + "\n",
		"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
	})
	sets, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := sets[0]
	if s.Title() != "set.test" || len(s.Queries) != 1 || s.Queries[0].Relevant["d1"] != 1 {
		t.Errorf("got %s with queries %+v, want q1 alone", s.Title(), s.Queries)
	}
	if s.Tools[0].Name != "open" || s.Tools[1].Name != "d2" || s.Tools[1].Description != "closes it" {
		t.Errorf("got tools %+v", s.Tools)
	}
}

func TestErrorsNamePlaceFieldAndWant(t *testing.T) {
	base := map[string]string{"tools.jsonl": tools, "queries.jsonl": queries, "qrels.tsv": qrels}
	for _, c := range []struct{ file, text, want string }{
		{"tools.jsonl", tools + `{"id":"x"}`, `tools.jsonl:4: field "name": missing; want a non-empty string`},
		{"tools.jsonl", tools + `{"id":"x","name":7}`, `tools.jsonl:4: field "name": want a string, got a number`},
		{"tools.jsonl", tools + `{"id":"a","name":"x"}`, `tools.jsonl:4: field "id": "a" stands on an earlier line`},
		{"tools.jsonl", tools + `{"id":"x","name":"n","input_schema":[]}`, `tools.jsonl:4: field "input_schema": want an object, got a list`},
		{"tools.jsonl", tools + `[1]`, `tools.jsonl:4: want one JSON object a line, got a list`},
		{"tools.jsonl", tools + `{"id":`, `tools.jsonl:4: want one JSON object a line: unexpected end`},
		{"tools.jsonl", "\n", `no tools`},
		{"queries.jsonl", `{"id":"q1"}`, `queries.jsonl:1: field "text": missing`},
		{"queries.jsonl", `{"id":"q1","text":""}`, `queries.jsonl:1: field "text": empty`},
		{"queries.jsonl", queries + `{"id":"q1","text":"x"}`, `queries.jsonl:3: field "id": "q1" stands`},
		{"qrels.tsv", "q1\ta\n", `qrels.tsv:1: want query, tool and grade with a tab between, got 2 fields`},
		{"qrels.tsv", "q1\ta\thigh\n", `qrels.tsv:1: field "grade": "high"; want a whole number`},
		{"qrels.tsv", "\nq1\tzzz\t1\n", `qrels.tsv:2: field "tool": no tool "zzz" among the 2 tools`},
		{"qrels.tsv", "q9\ta\t1\n", `qrels.tsv:1: field "query": no query "q9"`},
		{"qrels.tsv", "q1\ta\t1\nq1\ta\t1\n", `qrels.tsv:2: query "q1" and tool "a" are judged`},
	} {
		files := map[string]string{}
		for k, v := range base {
			files[k] = v
		}
		files[c.file] = c.text
		_, err := Load(folder(t, files), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want an error with %q", c.file, c.text, err, c.want)
		}
	}
}

func TestLenientCounts(t *testing.T) {
	dir := folder(t, map[string]string{"queries.jsonl": queries,
		"tools.jsonl": tools + `{"id":"a","name":"again"}`,
		"qrels.tsv":   qrels + "q1\tzzz\t1\nq9\ta\t1\nq1\ta\t1\n"})
	sets, err := Load(dir, Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if s := sets[0]; s.Skipped != 4 || len(s.Tools) != 2 || s.Queries[0].Relevant["a"] != 2 {
		t.Errorf("got %d skipped, %d tools, labels %v; want 4, 2 and a: 2", s.Skipped, len(s.Tools), s.Queries[0].Relevant)
	}
}

func TestMinGrade(t *testing.T) {
	dir := folder(t, map[string]string{"tools.jsonl": tools, "queries.jsonl": queries, "qrels.tsv": "q1\ta\t1\nq2\tb c\t2\n"})
	sets, err := Load(dir, Options{MinGrade: 2})
	if err != nil {
		t.Fatal(err)
	}
	if s := sets[0]; s.Queries[0].Answerable() || !s.Queries[1].Answerable() {
		t.Errorf("got %+v, want only q2 answerable", s.Queries)
	}
}

func TestLabelsMayNameToolsOfACatalog(t *testing.T) {
	tool := index.Tool{Server: "srv", Name: "run"}
	for _, label := range []string{"srv/run", tool.ID()} {
		dir := folder(t, map[string]string{"queries.jsonl": `{"id":"q1","text":"x"}`, "qrels.tsv": "q1\t" + label + "\t1\n"})
		sets, err := Load(dir, Options{Tools: []index.Tool{tool}})
		if err != nil {
			t.Fatal(err)
		}
		if got := sets[0].Queries[0].Relevant; !reflect.DeepEqual(got, map[string]int{"srv/run": 1}) {
			t.Errorf("label %s: got %v, want srv/run", label, got)
		}
	}
}

func TestReadDump(t *testing.T) {
	dir := folder(t, map[string]string{
		"one.json": `{"tools":[{"name":"a"},{"name":"b","description":"B."}]}`,
		"two.json": `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`,
	})
	tools, err := ReadDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, t := range tools {
		got = append(got, Key(t))
	}
	if want := []string{"one/a", "one/b", "two/a"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, want := range map[string]string{`[]`: `want {"tools":[…]}`, `{"x":1}`: `field "tools": missing`, `{"tools":[{}]}`: `tools[0]`} {
		path := filepath.Join(folder(t, map[string]string{"bad.json": text}), "bad.json")
		if _, err := ReadDump(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"id":"a","name":"n","input_schema":{"a":1}}`, "q\ta\t1")
	f.Add(`{"id":"a","name":"n","input_schema":null,"x":[]}`, "q 0 a 1")
	f.Fuzz(func(t *testing.T, tool, label string) {
		if got, err := parseTool([]byte(tool)); err == nil && (got.Key == "" || got.Name == "" || got.Raw == nil) {
			t.Errorf("tool %q: got %+v, want a key, a name and the raw object", tool, got)
		}
		if l, err := parseLabel(label); err == nil && (l.query == "" || l.tool == "") {
			t.Errorf("label %q: got %+v, want both ids", label, l)
		}
	})
}
