package eval

import (
	"context"
	"errors"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/neardup"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/analysis"
)

// nearDuplicate is the share of words that two tools have in common when one
// can stand in for the other: above it, real catalogs hold copies and versions
// of one tool, below it siblings that differ in what they do.
const nearDuplicate = .8

// outcomes are what one set says about claims.
type outcomes struct {
	answerable []metric.Outcome // the set's own queries that a tool serves
	without    []metric.Outcome // the same, their right tools and near-duplicates of them removed
	never      []metric.Outcome // the set's own queries that no tool serves
}

// askSet searches for up to n answerable queries of a set, as they are and
// with their right tools removed, and for all its unanswerable ones.
func askSet(ctx context.Context, ix searcher, s *labels.Set, n int, o Options) (outcomes, error) {
	drawn := s.Draw(n, o.Seed)
	answerable := len(drawn)
	for _, q := range s.Queries {
		if !q.Answerable() {
			drawn = append(drawn, q)
		}
	}
	twins := copies(s.Tools)
	asked, without := make([]metric.Outcome, len(drawn)), make([]metric.Outcome, answerable)
	err := each(ctx, len(drawn), func(ctx context.Context, i int) (err error) {
		q := drawn[i]
		if asked[i], err = ask(ctx, ix, q, nil, o); err != nil || !q.Answerable() {
			return err
		}
		without[i], err = ask(ctx, ix, q, removed(q, twins), o)
		return err
	}, func(done int) { o.Progress("claims of "+s.Title(), done, len(drawn)) })
	return outcomes{asked[:answerable:answerable], without, asked[answerable:]}, err
}

// ask searches without the tools of gone; without its right tools a query is
// unanswerable.
func ask(ctx context.Context, ix searcher, q labels.Query, gone map[string]bool, o Options) (metric.Outcome, error) {
	query := index.Query{Text: q.Text, Mode: o.Mode, Limit: o.Limit}
	if gone != nil {
		query.Filter.Scope = index.NewScope(func(t *index.Tool) bool { return !gone[labels.Key(*t)] })
		q.Relevant = nil
	}
	res, err := ix.Search(ctx, query)
	if errors.Is(err, index.ErrNoVectors) {
		return QueryResult{Relevant: q.Relevant}.Outcome(), nil
	}
	if err != nil {
		return metric.Outcome{}, err
	}
	return QueryResult{Relevant: q.Relevant, Weak: res.WeakMatch, Confidence: res.Confidence,
		Ranking: rows(res.Hits, nil)}.Outcome(), nil
}

// removed names a query's right tools and their copies.
func removed(q labels.Query, twins map[string][]string) map[string]bool {
	gone := map[string]bool{}
	for key := range q.Relevant {
		gone[key] = true
		for _, t := range twins[key] {
			gone[t] = true
		}
	}
	return gone
}

// copies maps each tool that has near-duplicates to them.
func copies(tools []index.Tool) map[string][]string {
	out := map[string][]string{}
	for _, p := range neardup.Pairs(words(tools), nearDuplicate) {
		a, b := labels.Key(tools[p.A]), labels.Key(tools[p.B])
		out[a], out[b] = append(out[a], b), append(out[b], a)
	}
	return out
}

// words are the terms of each tool's name and description.
func words(tools []index.Tool) [][]string {
	var an analysis.Analyzer
	out := make([][]string, len(tools))
	for i, t := range tools {
		for _, tok := range an.Tokens(t.Name + " " + t.Description) {
			if !tok.Extra {
				out[i] = append(out[i], tok.Text)
			}
		}
	}
	return out
}
