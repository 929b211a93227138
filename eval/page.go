package eval

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/report"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// ReportOptions say what a report shows. The zero value is ready to use.
type ReportOptions struct {
	Options                  // Mode is the one that curves and worst queries are of
	Title       string       // "" means "Does the model find the tools?"
	Made        string       // when and by what; "" leaves it out
	Distractors []index.Tool // join the other sets' tools in growing the catalogs
	Sample      int          // queries a set for catalog sizes and unanswerable queries; 0 means 200
	Worst       int          // queries to show; 0 means 12
}

func (o ReportOptions) withDefaults() ReportOptions {
	o.Options = o.Options.withDefaults()
	o.Title = cmp.Or(o.Title, "Does the model find the tools?")
	o.Sample, o.Worst = cmp.Or(o.Sample, 200), cmp.Or(o.Worst, 12)
	o.K = nil // the curves need every cut-off
	for k := range maxCurve {
		o.K = append(o.K, k+1)
	}
	return o
}

// maxCurve is the greatest k of the recall curves: twice what clients ask for.
const maxCurve = 20

// Report measures the sets in every mode there is and lays out the page.
func Report(ctx context.Context, sets []*labels.Set, o ReportOptions) (*report.Page, error) {
	o = o.withDefaults()
	b := &reporter{o: o, sets: sets, lib: newLibrary(o.Options), results: map[index.Mode]*Result{}}
	defer b.lib.close()
	for _, m := range b.modes() {
		mo := o.Options
		mo.Mode = m
		res, err := b.lib.run(ctx, sets, mo)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		b.results[m] = res
	}
	p := &report.Page{Title: o.Title, Made: o.Made, Columns: columns}
	b.figures(p)
	b.table(p)
	p.Charts = append(p.Charts, b.recallByMode())
	if len(b.sets) > 1 {
		p.Charts = append(p.Charts, b.recallBySet())
	}
	for _, part := range []func(context.Context, *report.Page) error{b.claims, b.sizes, b.worst} {
		if err := part(ctx, p); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	b.latency(p)
	b.notes(p)
	return p, nil
}

// columns are the metrics of the page's table, those that matter most first: a
// phone shows two or three without scrolling.
var columns = []string{"recall@5", "ndcg@10", "hit@1", "mrr", "recall@1", "recall@10", "hit@5", "all@5", "map"}

// A reporter gathers the parts of one page.
type reporter struct {
	o       ReportOptions
	sets    []*labels.Set
	lib     *library
	results map[index.Mode]*Result
}

// modes are those that can be measured, the page's own last.
func (b *reporter) modes() []index.Mode {
	if b.o.Embedder == nil {
		b.o.Mode = index.Keyword
		return []index.Mode{index.Keyword}
	}
	var out []index.Mode
	for _, m := range []index.Mode{index.Keyword, index.Semantic, index.Hybrid} {
		if m != b.o.Mode {
			out = append(out, m)
		}
	}
	return append(out, b.o.Mode)
}

func (b *reporter) main() *Result { return b.results[b.o.Mode] }

func (b *reporter) figures(p *report.Page) {
	queries, tools := 0, 0
	for _, s := range b.main().Sets {
		queries += s.Queries
		tools = max(tools, s.Tools)
	}
	for _, m := range []struct{ name, metric string }{
		{"right tool among the first 5", "recall@5"}, {"right tool first", "hit@1"}, {"quality of the first 10 (nDCG)", "ndcg@10"}} {
		if v, ok := b.main().Mean[m.metric]; ok {
			iv := b.main().MeanIntervals[m.metric]
			p.Figures = append(p.Figures, report.Figure{Name: m.name, Value: fmt.Sprintf("%.1f %%", 100*v),
				Note: fmt.Sprintf("%.1f to %.1f %%, %s", 100*iv[0], 100*iv[1], b.o.Mode)})
		}
	}
	p.Figures = append(p.Figures, report.Figure{Name: "asked", Value: fmt.Sprintf("%d", queries),
		Note: fmt.Sprintf("queries, sets: %d, tools: up to %d", len(b.sets), tools)})
}

func (b *reporter) table(p *report.Page) {
	modes := b.modes()
	for i := range b.sets {
		for n := len(modes) - 1; n >= 0; n-- {
			s := b.results[modes[n]].Sets[i]
			p.Sets = append(p.Sets, report.Set{Name: s.Title(), Mode: string(s.Mode), Queries: s.Queries, Tools: s.Tools,
				Cells: tableCells(p.Columns, s.Metrics, s.Intervals)})
		}
	}
	if len(b.sets) < 2 {
		return
	}
	for n := len(modes) - 1; n >= 0; n-- {
		res := b.results[modes[n]]
		p.Sets = append(p.Sets, report.Set{Name: "mean", Mode: string(modes[n]), Mean: true,
			Cells: tableCells(p.Columns, res.Mean, res.MeanIntervals)})
	}
}

func tableCells(names []string, values map[string]float64, intervals map[string]stat.Interval) []*report.Cell {
	out := make([]*report.Cell, len(names))
	for i, n := range names {
		if v, ok := values[n]; ok {
			out[i] = &report.Cell{Value: v, Low: intervals[n][0], High: intervals[n][1]}
		}
	}
	return out
}

// curve is recall at 1 to maxCurve.
func curve(name string, metrics map[string]float64) report.Line {
	l := report.Line{Name: name}
	for k := 1; k <= maxCurve; k++ {
		at := fmt.Sprintf("recall@%d", k)
		l.Points = append(l.Points, report.Point{X: float64(k), Y: metrics[at], Note: fmt.Sprintf("%s: %s %.3f", name, at, metrics[at])})
	}
	return l
}

func (b *reporter) recallBySet() report.Chart {
	c := report.Chart{Title: "Recall@k by set", X: "rows read (k)", Y: "recall",
		About: fmt.Sprintf("Share of the right tools among the first k rows, %s mode.", b.o.Mode)}
	for _, s := range b.main().Sets {
		if s.Unanswerable < s.Queries {
			c.Lines = append(c.Lines, curve(s.Title(), s.Metrics))
		}
	}
	return c
}

func (b *reporter) recallByMode() report.Chart {
	c := report.Chart{Title: "Recall@k by mode", About: "Mean over sets: what words, meaning and both together find.", X: "rows read (k)", Y: "recall"}
	for _, m := range b.modes() {
		c.Lines = append(c.Lines, curve(string(m), b.results[m].Mean))
	}
	return c
}

func (b *reporter) latency(p *report.Page) {
	for i := range b.sets {
		for _, m := range b.modes() {
			s := b.results[m].Sets[i]
			p.Latency = append(p.Latency, report.Latency{Name: s.Title(), Mode: string(s.Mode), P50: s.Latency.P50, P99: s.Latency.P99})
		}
	}
}

func (b *reporter) notes(p *report.Page) {
	var models []string
	for _, s := range b.main().Sets {
		if s.Model != "" && !strings.Contains(strings.Join(models, " "), s.Model) {
			models = append(models, s.Model)
		}
		if s.Degraded > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %d queries got less than the mode asked for: %s.", s.Title(), s.Degraded, s.Reason))
		}
	}
	if len(models) > 0 {
		p.Notes = append(p.Notes, "Vectors: "+strings.Join(models, ", ")+".")
	}
	p.Notes = append(p.Notes,
		"Metrics as trec_eval defines them; rows in the order that a client with a limit of "+fmt.Sprint(b.o.Limit)+" gets them.",
		"Labels are never complete: a tool that would serve as well and is not labelled counts as wrong.")
}
