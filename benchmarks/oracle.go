package main

import (
	"encoding/json"
	"io"
	"math"
	"slices"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/analysis"
)

const (
	oracleTools   = 10_000 // beyond, dumping the catalog costs more than it tells
	oracleQueries = 50
)

// A dump is what the oracle reads of index dump.
type dump struct {
	Params index.Params       `json:"params"`
	N      int                `json:"n"`
	AvgLen map[string]float64 `json:"avglen"`
	DF     map[string]float64 `json:"df"`
	Tools  []dumpedTool       `json:"tools"`
}

type dumpedTool struct {
	ID      string                    `json:"id"`
	Lengths map[string]float64        `json:"lengths"`
	Terms   map[string]map[string]int `json:"terms"`
}

// oracle compares keyword answers with BM25F computed from the dump by the
// formula of Robertson and Zaragoza, tool by tool. It returns nil where the
// catalog is too large.
func (b *bench) oracle(ix *index.Index, queries []string, got []answer) (*float64, error) {
	if ix.Status().Tools > oracleTools {
		return nil, nil
	}
	b.step("checking keyword answers")
	d, err := readDump(ix)
	if err != nil {
		return nil, err
	}
	var want []answer
	for _, q := range queries[:min(oracleQueries, len(queries))] {
		want = append(want, d.best(counts(q)))
	}
	return recallOf(want, got[:len(want)]), nil
}

// counts are a query's terms, none counted more than twice.
func counts(query string) map[string]float64 {
	var an analysis.Analyzer
	n := map[string]float64{}
	for _, t := range an.Tokens(query) {
		n[t.Text] = min(n[t.Text]+1, 2)
	}
	return n
}

func readDump(ix *index.Index) (d dump, err error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(ix.Dump(w)) }()
	defer r.Close()
	return d, json.NewDecoder(r).Decode(&d)
}

// best ranks all tools; ids alone, as scores here are not over the upper bound.
func (d *dump) best(counts map[string]float64) answer {
	scores := make(map[string]float64, len(d.Tools))
	var ids []string
	for _, t := range d.Tools {
		if s := d.score(t, counts); s > 0 {
			scores[t.ID] = s
			ids = append(ids, t.ID)
		}
	}
	slices.SortFunc(ids, func(x, y string) int {
		switch diff := scores[y] - scores[x]; {
		case diff > 1e-9:
			return 1
		case diff < -1e-9:
			return -1
		case x < y:
			return -1
		}
		return 1
	})
	return answer{ids: ids[:min(topK, len(ids))], floor: math.Inf(1)}
}

func (d *dump) score(t dumpedTool, counts map[string]float64) (score float64) {
	for term, count := range counts {
		tf := 0.0
		for field, p := range d.Params.Fields {
			n := float64(t.Terms[field][term])
			if avg := d.AvgLen[field]; n > 0 && avg > 0 {
				tf += p.Weight * n / (1 - p.B + p.B*t.Lengths[field]/avg)
			}
		}
		df := d.DF[term]
		idf := math.Log(1 + (float64(d.N)-df+.5)/(df+.5))
		score += count * idf * (d.Params.K1 + 1) * tf / (d.Params.K1 + tf)
	}
	return score
}
