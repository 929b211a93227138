package eval

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
	"github.com/tooldex/tooldex/eval/report"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// claims draws what the first row's score says about it.
func (b *reporter) claims(ctx context.Context, p *report.Page) error {
	var asked, own, made []metric.Outcome
	for _, s := range b.sets {
		ix, err := b.lib.open(ctx, s)
		if err != nil {
			return err
		}
		got, err := askSet(ctx, ix, s, b.o.Sample, b.o.Options)
		if err != nil {
			return fmt.Errorf("set %s: %w", s.Title(), err)
		}
		asked, own, made = append(asked, got.answerable...), append(own, got.never...), append(made, got.without...)
	}
	p.Charts = append(p.Charts, reliabilityChart(asked))
	c := report.Chart{Title: "Saying that nothing fits", X: "recall", Y: "precision", Unit: true,
		About: "Calling every first row under a threshold unanswered, the threshold rising from left to right."}
	for _, l := range []struct {
		name string
		none []metric.Outcome
	}{{"unanswerable by label", own}, {"right tools taken out", made}} {
		if len(l.none) > 0 && len(asked) > 0 {
			c.Lines = append(c.Lines, report.Line{Name: l.name, Points: thinned(metric.Abstention(append(l.none, asked...)))})
		}
	}
	if len(c.Lines) > 0 {
		p.Charts = append(p.Charts, c)
	}
	p.Claims = b.claimFacts(asked, own, made)
	return nil
}

func reliabilityChart(asked []metric.Outcome) report.Chart {
	c := report.Chart{Title: "Reliability of the score", X: "score of the first row", Y: "first row right", Unit: true, Diagonal: true,
		About: "The score is no probability; the closer to the diagonal, the nearer it comes. Dots grow with the number of queries."}
	l := report.Line{Name: "answerable queries", Dots: true}
	for _, bin := range metric.Reliability(asked, 10) {
		if bin.Count > 0 {
			l.Points = append(l.Points, report.Point{X: bin.Score, Y: bin.Right, Size: float64(bin.Count) / float64(len(asked)),
				Note: fmt.Sprintf("%.1f to %.1f: %d queries, %.0f %% right", bin.From, bin.To, bin.Count, 100*bin.Right)})
		}
	}
	c.Lines = append(c.Lines, l)
	return c
}

// thinned keeps some hundred points of a curve.
func thinned(ps []metric.Point) []report.Point {
	step := max(1, len(ps)/100)
	var out []report.Point
	for i := step - 1; i < len(ps); i += step {
		out = append(out, report.Point{X: ps[i].Recall, Y: ps[i].Precision})
	}
	return out
}

func (b *reporter) claimFacts(asked, own, made []metric.Outcome) []report.Fact {
	var out []report.Fact
	add := func(name string, v *float64, meaning string) {
		if v != nil {
			out = append(out, report.Fact{Name: name, Value: fmt.Sprintf("%.3f", *v), Meaning: meaning})
		}
	}
	calibrated := slices.ContainsFunc(b.main().Sets, func(s *SetResult) bool { return s.Calibrated })
	c := metric.Claim(slices.Concat(asked, own), calibrated)
	add("AUC, unanswerable by label", c.AUC, "answerable scores above unanswerable; .5 is chance")
	add("AUC, right tools taken out", metric.Claim(slices.Concat(asked, made), false).AUC, "the near misses that are left look alike")
	add("expected calibration error", c.ECE, "of the score read as probability that the first row is right")
	add("weak-match precision", c.WeakPrecision, "of weak matches, how many are unanswerable")
	add("weak-match recall", c.WeakRecall, "of unanswerable queries, how many are weak matches")
	add("high-confidence precision", c.HighPrecision, "of those, how many first rows are right")
	add("high-confidence coverage", c.HighCoverage, "of all queries")
	if !calibrated {
		out = append(out, report.Fact{Value: "–", Name: "weak match and confidence are not claimed", Meaning: "no thresholds for this mode and model"})
	}
	return out
}

// sizes draws recall against the size of the catalog: parts of a set's own
// tools, then more and more tools of other catalogs.
func (b *reporter) sizes(ctx context.Context, p *report.Page) error {
	c := report.Chart{Title: "Recall@5 against catalog size", X: "tools in the catalog", Y: "recall@5", LogX: true,
		About: "Parts of each catalog, then foreign tools added. Some foreign tools serve as well and count as wrong."}
	for i, s := range b.sets {
		l := report.Line{Name: s.Title()}
		small := *s
		small.Queries = s.Draw(b.o.Sample, b.o.Seed)
		if len(small.Queries) == 0 {
			continue
		}
		order, needed := b.grown(i, small.Queries)
		for _, n := range catalogSizes(len(s.Tools), len(order), needed) {
			small.Tools = order[:n:n]
			o := b.o.Options
			o.Depth, o.K = o.Limit, []int{5}
			res, err := Run(ctx, []*labels.Set{&small}, o)
			if err != nil {
				return err
			}
			v := res.Sets[0].Metrics["recall@5"]
			l.Points = append(l.Points, report.Point{X: float64(n), Y: v, Note: fmt.Sprintf("%s: %d tools, recall@5 %.3f", s.Title(), n, v)})
		}
		c.Lines = append(c.Lines, l)
	}
	if len(c.Lines) > 0 {
		p.Charts = append(p.Charts, c)
	}
	return nil
}

// catalogSizes are a quarter, half and all of the own tools, but no fewer than
// the queries need, and then doublings up to all there are.
func catalogSizes(own, all, needed int) []int {
	var out []int
	for _, n := range []int{own / 4, own / 2} {
		if n >= needed {
			out = append(out, n)
		}
	}
	for n := own; n < all; n *= 2 {
		out = append(out, n)
	}
	if len(out) == 0 || out[len(out)-1] != all {
		out = append(out, all)
	}
	return out
}

// maxCatalog bounds the grown catalogs: beyond it the report would take
// minutes.
const maxCatalog = 20_000

// grown orders the tools that set i is searched among: those its queries
// need, the rest of its own, then foreign ones, each in random order.
func (b *reporter) grown(i int, queries []labels.Query) (order []index.Tool, needed int) {
	s := b.sets[i]
	right := map[string]bool{}
	for _, q := range queries {
		for key := range q.Relevant {
			right[key] = true
		}
	}
	var rest, foreign []index.Tool
	for _, t := range s.Tools {
		if right[labels.Key(t)] {
			order = append(order, t)
		} else {
			rest = append(rest, t)
		}
	}
	needed = len(order)
	seen := map[*index.Tool]bool{&s.Tools[0]: true}
	take := func(source string, tools []index.Tool) {
		if len(tools) == 0 || seen[&tools[0]] {
			return
		}
		seen[&tools[0]] = true
		for _, t := range tools {
			t.Key = source + "\x00" + labels.Key(t)
			foreign = append(foreign, t)
		}
	}
	for _, other := range b.sets {
		take(other.Title(), other.Tools)
	}
	take("distractors", b.o.Distractors)
	r := stat.Source(b.o.Seed)
	for _, part := range [][]index.Tool{rest, foreign} {
		r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		order = append(order, part...)
	}
	return order[:min(len(order), max(len(s.Tools), maxCatalog))], needed
}

// worst explains the queries that the ranking serves worst, in turn from each
// set.
func (b *reporter) worst(ctx context.Context, p *report.Page) error {
	type miss struct {
		turn, set int
		q         QueryResult
	}
	var all []miss
	for i, s := range b.main().Sets {
		bad := slices.DeleteFunc(slices.Clone(s.PerQuery), func(q QueryResult) bool { return q.Metrics == nil || q.Metrics["hit@1"] > 0 })
		slices.SortStableFunc(bad, func(a, b QueryResult) int { return cmp.Compare(a.Metrics["map"], b.Metrics["map"]) })
		for turn, q := range bad {
			all = append(all, miss{turn, i, q})
		}
	}
	slices.SortStableFunc(all, func(a, b miss) int { return cmp.Compare(a.turn, b.turn) })
	for _, m := range all[:min(b.o.Worst, len(all))] {
		shown, err := b.explain(ctx, b.sets[m.set], m.q)
		if err != nil {
			return err
		}
		p.Worst = append(p.Worst, shown)
	}
	return nil
}

// explain accounts for the first rows of a query and for its right tools.
func (b *reporter) explain(ctx context.Context, s *labels.Set, q QueryResult) (report.Miss, error) {
	m := report.Miss{Set: labels.Title(q.Set, q.Split), ID: q.ID, Text: q.Text, Kind: q.Kind}
	ix, err := b.lib.open(ctx, s)
	if err != nil {
		return m, err
	}
	ids := map[string]string{}
	for _, t := range s.Tools {
		ids[labels.Key(t)] = t.ID()
	}
	shown := head(q.tools(), 3)
	for _, key := range slices.Sorted(maps.Keys(q.Relevant)) {
		if !slices.Contains(shown, key) && len(shown) < 6 {
			shown = append(shown, key)
		}
	}
	var first, right *index.Explanation
	for _, key := range shown {
		e, err := ix.Explain(ctx, index.Query{Text: q.Text, Mode: b.o.Mode, Limit: b.o.Limit}, ids[key])
		if err != nil {
			return m, fmt.Errorf("query %s: %w", q.ID, err)
		}
		_, isRight := q.Relevant[key]
		if first == nil {
			first = &e
		}
		if isRight && (right == nil || e.Score > right.Score) {
			right = &e
		}
		m.Rows = append(m.Rows, report.Row{Rank: fmt.Sprint(e.Rank), Tool: key, Right: isRight, Score: e.Score,
			Keyword: e.Keyword, Cosine: e.Cosine, Prior: e.Prior, Terms: sharedTerms(e)})
	}
	m.Why = why(first, right)
	return m, nil
}

// why says in a sentence what keeps the right tool down.
func why(first, right *index.Explanation) string {
	switch {
	case first == nil:
		return "Nothing was found at all."
	case right == nil:
		return "The right tool is not in the catalog."
	case right.Keyword == 0 && first.Keyword > 0:
		return "The right tool shares no word with the request; the first row does."
	case right.Keyword == 0:
		return "The right tool shares no word with the request."
	case first.Keyword > right.Keyword && first.HasVector && first.Cosine < right.Cosine:
		return "By meaning the right tool is nearer; the words favour the first row."
	case first.Keyword < right.Keyword && first.Cosine > right.Cosine:
		return "By words the right tool is nearer; the meaning favours the first row."
	case first.Keyword <= right.Keyword && first.Cosine <= right.Cosine:
		return "The first row's server fits the request better as a whole."
	}
	return "Both words and meaning favour the first row."
}

// sharedTerms lists the weightiest words that a tool shares with the request
// and the fields they are in.
func sharedTerms(e index.Explanation) string {
	terms := slices.Clone(e.Terms)
	slices.SortStableFunc(terms, func(a, b index.Term) int { return cmp.Compare(b.Contribution, a.Contribution) })
	var out []string
	for _, t := range terms {
		if t.Contribution > 0 && len(out) < 4 {
			out = append(out, fmt.Sprintf("%s (%s)", t.Text, strings.Join(slices.Sorted(maps.Keys(t.Fields)), ", ")))
		}
	}
	return strings.Join(out, "; ")
}
