package eval

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/trec"
)

// WritePerQuery writes each query's ranking, scores and values, one JSON
// object a line: the result file that Compare reads.
func (res *Result) WritePerQuery(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, s := range res.Sets {
		for _, q := range s.PerQuery {
			if err := enc.Encode(q); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// WriteRun writes one set's rankings as a TREC run.
func (r *SetResult) WriteRun(w io.Writer) error {
	t := trec.NewWriter(w, "tooldex-"+string(r.Mode))
	for _, q := range r.PerQuery {
		if err := t.Write(q.ID, q.tools()); err != nil {
			return err
		}
	}
	return t.Flush()
}

// ReadPerQuery reads what WritePerQuery wrote; path names it in errors.
func ReadPerQuery(r io.Reader, path string) ([]QueryResult, error) {
	dec := json.NewDecoder(r)
	var out []QueryResult
	for {
		var q QueryResult
		err := dec.Decode(&q)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: object %d: %w", path, len(out)+1, err)
		}
		if q.Set == "" || q.ID == "" {
			return nil, fmt.Errorf("%s: object %d: fields \"set\" and \"query\" must not be empty; "+
				"want a file of eval run --per-query or a TREC run", path, len(out)+1)
		}
		out = append(out, q)
	}
}

// ScoreRun gives every query of a set the ranking that a TREC run has for it.
// A query that the run leaves out has no rows; one that the set does not know
// is an error, as is a run that shares no query with the set.
func ScoreRun(s *labels.Set, run trec.Run, o Options) ([]QueryResult, error) {
	o = o.withDefaults()
	out := make([]QueryResult, 0, len(s.Queries))
	known := 0
	for _, q := range s.Queries {
		r := QueryResult{Set: s.Name, Split: s.Split, ID: q.ID, Text: q.Text, Kind: q.Kind, Relevant: q.Relevant}
		ranking, ok := run[q.ID]
		if ok {
			known++
		}
		for _, t := range ranking {
			r.Ranking = append(r.Ranking, Row{Tool: t})
		}
		if q.Answerable() {
			r.Metrics = metric.Score(q.Relevant, ranking, o.K)
		}
		out = append(out, r)
	}
	if known < len(run) {
		return nil, fmt.Errorf("%d of the run's %d queries are not in set %s", len(run)-known, len(run), s.Title())
	}
	return out, nil
}
