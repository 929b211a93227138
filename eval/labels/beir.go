package labels

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
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

func (beir) tools(dir string, lenient bool) ([]index.Tool, int, error) {
	return readTools(filepath.Join(dir, "corpus.jsonl"), "_id", lenient, parseDocument)
}

// parseDocument reads a document as a tool: the title, or else the id, is its
// name and the text its description.
func parseDocument(line []byte) (index.Tool, error) {
	o, err := parseObject(line)
	if err != nil {
		return index.Tool{}, err
	}
	var id, title, text string
	if err := o.texts(field{&id, "_id", true}, field{&title, "title", false}, field{&text, "text", false}); err != nil {
		return index.Tool{}, err
	}
	t, err := index.Decode("", []byte(`{"name":`+quote(cmp.Or(title, id))+`,"description":`+quote(text)+`}`))
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
	s.Queries = slices.DeleteFunc(s.Queries, func(q Query) bool { return !judged[q.ID] })
	return s.label(rel, o)
}
