// Package trec reads and writes rankings as TREC run files: a line a row,
//
//	query <tab> Q0 <tab> tool <tab> rank <tab> score <tab> tag
//
// Spaces separate too where ids hold none. Ranks in a file are ignored: rows
// are ordered by score, ties by tool id descending, as trec_eval orders them.
package trec

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Run holds each query's tools, best first.
type Run map[string][]string

type row struct {
	tool  string
	score float64
}

// Read reads a run; path names it in errors.
func Read(r io.Reader, path string) (Run, error) {
	rows := map[string][]row{}
	seen := map[[2]string]bool{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimRight(sc.Text(), "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) < 6 {
			f = strings.Fields(line)
		}
		if len(f) < 6 {
			return nil, fmt.Errorf("%s:%d: want query, Q0, tool, rank, score and tag with tabs between, got %d fields", path, n, len(f))
		}
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) {
			return nil, fmt.Errorf("%s:%d: field \"score\": %q; want a number", path, n, f[4])
		}
		if seen[[2]string{f[0], f[2]}] {
			return nil, fmt.Errorf("%s:%d: tool %q stands twice under query %q", path, n, f[2], f[0])
		}
		seen[[2]string{f[0], f[2]}] = true
		rows[f[0]] = append(rows[f[0]], row{f[2], score})
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run := make(Run, len(rows))
	for q, rs := range rows {
		run[q] = order(rs)
	}
	return run, nil
}

func order(rs []row) []string {
	slices.SortFunc(rs, func(a, b row) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.tool, a.tool)) })
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = r.tool
	}
	return out
}

// A Writer writes rankings in the order they are given, with a score that
// falls strictly from row to row, so that every reader sees that order.
type Writer struct {
	w   *bufio.Writer
	tag string
}

// NewWriter returns a Writer whose rows end in tag, which holds no blanks.
func NewWriter(w io.Writer, tag string) *Writer { return &Writer{bufio.NewWriter(w), tag} }

// Write appends one query's ranking.
func (w *Writer) Write(query string, tools []string) error {
	for i, t := range tools {
		if strings.ContainsAny(query+t, "\t\n\r") {
			return fmt.Errorf("write run: query %q, tool %q: an id with a tab or line break cannot be written", query, t)
		}
		fmt.Fprintf(w.w, "%s\tQ0\t%s\t%d\t%d\t%s\n", query, t, i+1, len(tools)-i, w.tag)
	}
	return nil
}

// Flush writes what is buffered and returns the first error of any write.
func (w *Writer) Flush() error { return w.w.Flush() }
