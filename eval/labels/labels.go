// Package labels reads labelled queries: tools, what people ask for, and
// which tools are right for it.
//
// [Load] reads a folder in one of two forms:
//
//	tools.jsonl            {"id","server","name","description","input_schema"?,"phrases"?}
//	phrases.jsonl          {"id","phrases"}; optional
//	queries[.SPLIT].jsonl  {"id","text","kind"?}
//	qrels[.SPLIT].tsv      query <tab> tool <tab> grade
//
// or, as BEIR has it, corpus.jsonl {"_id","title","text"}, queries.jsonl
// {"_id","text"} and qrels/SPLIT.tsv with a header line. Tools may come from
// elsewhere instead ([Options.Tools]), for instance from a live catalog or,
// with [ReadDump], from what tools/list answered. Grade 0 means judged and not
// relevant. A query without a relevant tool is unanswerable; of BEIR's queries
// only those that the split judges belong to it.
//
// Everything wrong is an error that names file, line and field.
package labels

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// A Set is one split of labelled queries with the tools they search.
type Set struct {
	Name    string // the folder's name
	Split   string // "" when the folder has no splits
	Dir     string
	Tools   []index.Tool // Key is the id that labels use; Phrases what the set says of them
	Queries []Query
	Skipped int // labels and lines that Options.Lenient passed over
}

// A Query is one request and the tools that serve it.
type Query struct {
	ID       string
	Text     string
	Kind     string         // what sort of request it is; "" when the set does not say
	Relevant map[string]int // grade by tool key, each at least Options.MinGrade
}

// Answerable says whether any tool serves the query.
func (q Query) Answerable() bool { return len(q.Relevant) > 0 }

// Title names a set and its split, "name" or "name.split".
func (s *Set) Title() string { return Title(s.Name, s.Split) }

// Title names a split of the set called name.
func Title(name, split string) string {
	if split == "" {
		return name
	}
	return name + "." + split
}

// Answerable counts the queries that some tool serves.
func (s *Set) Answerable() int {
	n := 0
	for _, q := range s.Queries {
		if q.Answerable() {
			n++
		}
	}
	return n
}

// Draw takes up to n answerable queries in random order.
func (s *Set) Draw(n int, seed uint64) []Query {
	var out []Query
	for _, q := range s.Queries {
		if q.Answerable() {
			out = append(out, q)
		}
	}
	stat.Source(seed).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(n, len(out))]
}

// Options say how to read a set. The zero value reads every split strictly.
type Options struct {
	Split    string       // the one split to read; "" reads "queries.jsonl", else every split there is
	Tools    []index.Tool // search these instead of the folder's own tools
	Lenient  bool         // count unknown labels and repeated lines in Set.Skipped instead of failing
	MinGrade int          // least grade that is relevant; 0 means 1
}

// Load reads the sets of a folder, one for each split asked for.
func Load(dir string, o Options) ([]*Set, error) {
	if o.MinGrade == 0 {
		o.MinGrade = 1
	}
	form, err := detect(dir, o.Tools != nil)
	if err != nil {
		return nil, err
	}
	splits, err := choose(dir, form.splits(dir), o.Split)
	if err != nil {
		return nil, err
	}
	tools, skipped := o.Tools, 0
	if tools == nil {
		if tools, skipped, err = form.tools(dir, o.Lenient); err != nil {
			return nil, err
		}
	}
	var sets []*Set
	for _, split := range splits {
		s := &Set{Name: name(dir), Split: split, Dir: dir, Tools: tools, Skipped: skipped}
		if err := form.queries(s, o); err != nil {
			return nil, err
		}
		if len(s.Queries) == 0 {
			return nil, fmt.Errorf("read set %s: split %q has no queries", dir, split)
		}
		sets = append(sets, s)
	}
	return sets, nil
}

func name(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// A form is one layout of a set's folder.
type form interface {
	splits(dir string) []string
	tools(dir string, lenient bool) (tools []index.Tool, skipped int, err error)
	queries(s *Set, o Options) error
}

// detect tells the two forms apart by the files that only one of them has.
func detect(dir string, toolsGiven bool) (form, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read set: %w", err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("read set %s: a file; want a folder with tools.jsonl or corpus.jsonl", dir)
	}
	switch {
	case exists(filepath.Join(dir, "tools.jsonl")):
		return plain{}, nil
	case exists(filepath.Join(dir, "corpus.jsonl")), toolsGiven && exists(filepath.Join(dir, "qrels")):
		return beir{}, nil
	case toolsGiven:
		return plain{}, nil
	}
	return nil, fmt.Errorf("read set %s: neither tools.jsonl nor corpus.jsonl in it; "+
		"give the tools with --catalog or --tools if the folder holds queries only", dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// choose picks the splits to read: the one named, else the unnamed one, else
// all of them.
func choose(dir string, have []string, want string) ([]string, error) {
	slices.Sort(have)
	if len(have) == 0 {
		return nil, fmt.Errorf("read set %s: no queries.jsonl and no queries.SPLIT.jsonl with its qrels", dir)
	}
	if want == "" {
		if have[0] == "" {
			return have[:1], nil
		}
		return have, nil
	}
	if slices.Contains(have, want) {
		return []string{want}, nil
	}
	return nil, fmt.Errorf("read set %s: no split %q; it has %s", dir, want, cmp.Or(strings.Join(have, ", "), "only the unnamed one"))
}

// errSkip marks a line that lenient reading passes over.
var errSkip = errors.New("skip")
