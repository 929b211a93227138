// Package report draws what eval measured as one HTML page that needs nothing
// else: styles and charts are inside, nothing is fetched, and it follows the
// reader's dark mode and the width of a phone.
//
// A [Page] holds figures and texts only; [Page.Write] escapes all of them, as
// tool names and requests are other people's.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

// A Page is everything the report shows. Empty parts are left out.
type Page struct {
	Title   string
	Made    string   // when and by which version
	Notes   []string // how it was measured
	Figures []Figure // the headline
	Columns []string // metrics of Sets, in order
	Sets    []Set
	Charts  []Chart
	Latency []Latency
	Claims  []Fact
	Worst   []Miss
}

// A Figure is one headline number.
type Figure struct{ Name, Value, Note string }

// A Fact is a named value with what it means.
type Fact struct{ Name, Value, Meaning string }

// A Set is one row of the table: a set in one mode.
type Set struct {
	Name, Mode     string
	Queries, Tools int
	Mean           bool    // the mean over sets rather than a set
	Cells          []*Cell // by column; nil where there is no figure
}

// A Cell is a metric with its 95 % interval.
type Cell struct{ Value, Low, High float64 }

// Latency is of one search, in milliseconds.
type Latency struct {
	Name, Mode string
	P50, P99   float64
}

// A Miss is a request that the ranking serves badly.
type Miss struct {
	Set, ID, Text, Kind string
	Why                 string
	Rows                []Row // what was ranked first, and the right tools behind it
}

// A Row is one tool of a Miss.
type Row struct {
	Rank                          string
	Tool                          string
	Right                         bool
	Score, Keyword, Cosine, Prior float64
	Terms                         string // shared with the request, the weightiest first
}

//go:embed page.tmpl
var source string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"f3":   func(v float64) string { return fmt.Sprintf("%.3f", v) },
	"f2":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
	"draw": func(c Chart) drawing { return c.draw() },
	"bar":  bar,
}).Parse(source))

// bar is the width of a latency bar in percent; the slowest leaves room for its
// figure.
func bar(v float64, all []Latency) string {
	top := 0.0
	for _, l := range all {
		top = max(top, l.P99)
	}
	if top == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f", 88*v/top)
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	if err := page.Execute(w, p); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
