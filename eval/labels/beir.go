package labels

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// beir is the folder of corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.
type beir struct{}

func (beir) splits(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "qrels", "*.tsv"))
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(filepath.Base(f), ".tsv"))
	}
	return out
}

func (beir) tools(dir string, o Options) ([]index.Tool, int, error) {
	if o.Tools != nil {
		return o.Tools, 0, nil
	}
	var tools []index.Tool
	seen := map[string]bool{}
	path := filepath.Join(dir, "corpus.jsonl")
	skipped, err := eachLine(path, func(_ int, line []byte) error {
		t, err := parseDocument(line)
		if err != nil {
			return err
		}
		if seen[t.Key] {
			return unless(o.Lenient, fmt.Errorf("field \"_id\": %q stands on an earlier line; want each id once", t.Key))
		}
		seen[t.Key] = true
		tools = append(tools, t)
		return nil
	})
	return tools, skipped, err
}

// parseDocument reads a document as a tool: the title, or else the id, is its
// name and the text its description.
func parseDocument(line []byte) (index.Tool, error) {
	o, err := parseObject(line)
	if err != nil {
		return index.Tool{}, err
	}
	id, err := o.text("_id", true)
	if err != nil {
		return index.Tool{}, err
	}
	title, err := o.text("title", false)
	if err != nil {
		return index.Tool{}, err
	}
	text, err := o.text("text", false)
	if err != nil {
		return index.Tool{}, err
	}
	if title == "" {
		title = id
	}
	t, err := index.Decode("", []byte(`{"name":`+quote(title)+`,"description":`+quote(text)+`}`))
	t.Key = id
	return t, err
}

func (beir) queries(s *Set, o Options) error {
	rel, err := readQrels(filepath.Join(s.Dir, "qrels", s.Split+".tsv"), true)
	if err != nil {
		return err
	}
	path := filepath.Join(s.Dir, "queries.jsonl")
	n, err := eachLine(path, s.addQuery("_id", o))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read set %s: no queries.jsonl beside qrels", s.Dir)
	}
	if err != nil {
		return err
	}
	s.Skipped += n
	judged := map[string]bool{}
	for _, l := range rel {
		judged[l.query] = true
	}
	kept := s.Queries[:0]
	for _, q := range s.Queries {
		if judged[q.ID] {
			kept = append(kept, q)
		}
	}
	s.Queries = kept
	return s.label(rel, o)
}
