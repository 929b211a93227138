package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A row is one measurement. Zero values of the optional columns mean that
// they do not apply.
type row struct {
	Name    string   `json:"name"`   // what was measured, "search/hybrid/10%" with a filter
	System  string   `json:"system"` // "tooldex" for ours
	N       int      `json:"n"`      // tools in the catalog
	P50     float64  `json:"p50_us"`
	P95     float64  `json:"p95_us,omitempty"` // of many clients at once, as the next two
	P99     float64  `json:"p99_us"`
	Rate    float64  `json:"per_second,omitempty"`
	Garbage int64    `json:"garbage,omitempty"` // bytes allocated a call
	Recall  *float64 `json:"recall,omitempty"`  // share of the exact best ten
	Bytes   int64    `json:"bytes,omitempty"`   // on disk; for "memory" resident
	Ratio   float64  `json:"ratio,omitempty"`   // of two medians of one run, or two rates
	Note    string   `json:"note,omitempty"`
}

// Timings are those of some equal operations.
type timings []time.Duration

// fill sets the row's percentiles, by the nearest rank.
func (s timings) fill(r *row) {
	slices.Sort(s)
	r.P50, r.P99 = micros(s.at(.5)), micros(s.at(.99))
}

func (s timings) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// timed measures one call.
func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

func printJSON(w io.Writer, rows []row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func printTable(w io.Writer, rows []row) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"what", "system", "tools", "p50", "p99", "recall", "bytes", "note"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight},
		{Number: 6, Align: text.AlignRight}, {Number: 7, Align: text.AlignRight},
	})
	for i, r := range rows {
		if i > 0 && r.N != rows[i-1].N {
			t.AppendSeparator()
		}
		t.AppendRow(table.Row{r.Name, r.System, humanize.Comma(int64(r.N)), human(r.P50), human(r.P99), recall(r), size(r.Bytes), note(r)})
	}
	t.Render()
}

func human(us float64) string {
	switch {
	case us == 0:
		return ""
	case us < 1e3:
		return fmt.Sprintf("%.1f µs", us)
	case us < 1e6:
		return fmt.Sprintf("%.2f ms", us/1e3)
	}
	return fmt.Sprintf("%.1f s", us/1e6)
}

func recall(r row) string {
	if r.Recall == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *r.Recall)
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return humanize.IBytes(uint64(n))
}

func note(r row) string {
	if r.Ratio > 0 {
		return cmp.Or(r.Note, "ratio") + fmt.Sprintf(" %.2f", r.Ratio)
	}
	return r.Note
}
