package evalcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/metric"
)

const evalRunExample = `  tooldex eval run sets/github
  tooldex eval run sets/a sets/b:test --mode keyword --json
  tooldex eval run sets/mine --catalog --per-query mine.jsonl`

func (c commands) evalRun() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.Options
	var runFile, perQuery string
	cmd := &cobra.Command{
		Use: "run DIR...", Short: "Measure ranking on labelled sets", Example: evalRunExample,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return overSets(&f, args, &o, func(sets []*labels.Set) (*eval.Result, error) {
				res, err := eval.Run(cmd.Context(), sets, o)
				if err != nil {
					return nil, err
				}
				return res, errors.Join(writeRuns(cmd, runFile, res), writeTo(cmd, "per query", perQuery, res.WritePerQuery))
			}, func(w io.Writer, res *eval.Result) { printRun(w, res, f.k) })
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	cmd.Flags().StringVar(&runFile, "run", "", "write a TREC run; with several sets a folder that gets SET[.SPLIT].trec each")
	cmd.Flags().StringVar(&perQuery, "per-query", "", "write each query's ranking, fused scores and values, for eval compare")
	return cmd
}

func writeRuns(cmd *cobra.Command, path string, res *eval.Result) error {
	if path == "" {
		return nil
	}
	if len(res.Sets) == 1 {
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			return writeTo(cmd, "run", path, res.Sets[0].WriteRun)
		}
	}
	if path == "-" {
		return errors.New("--run -: several sets need a folder")
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fmt.Errorf("write runs: %w", err)
	}
	for _, s := range res.Sets {
		if err := writeTo(cmd, "runs", filepath.Join(path, s.Title()+".trec"), s.WriteRun); err != nil {
			return err
		}
	}
	return nil
}

// printRun writes a table for people.
func printRun(w io.Writer, res *eval.Result, ks []int) {
	names := metric.Names(ks)
	t := term.NewGrid(append([]string{"set", "queries", "tools", "mode"}, append(names, "p50 ms", "p99 ms")...)...)
	for _, s := range res.Sets {
		row := []string{s.Title(), fmt.Sprint(s.Queries), fmt.Sprint(s.Tools), string(s.Mode)}
		for _, n := range names {
			row = append(row, figure(s.Metrics, n))
		}
		t.Add(append(row, fmt.Sprintf("%.2f", s.Latency.P50), fmt.Sprintf("%.2f", s.Latency.P99))...)
	}
	if len(res.Sets) > 1 {
		row := []string{"mean", "", "", ""}
		for _, n := range names {
			row = append(row, figure(res.Mean, n))
		}
		t.Add(row...)
	}
	t.Write(w)
	for _, s := range res.Sets {
		printSet(w, s)
	}
	if iv, ok := res.MeanIntervals["recall@5"]; ok && len(res.Sets) > 1 {
		fmt.Fprintf(w, "mean over sets: recall@5 95 %% interval %.3f to %.3f\n", iv[0], iv[1])
	}
}

func figure(m map[string]float64, name string) string {
	v, ok := m[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// printSet writes what the table has no room for.
func printSet(w io.Writer, s *eval.SetResult) {
	var parts []string
	if iv, ok := s.Intervals["recall@5"]; ok {
		parts = append(parts, fmt.Sprintf("recall@5 95 %% interval %.3f to %.3f", iv[0], iv[1]))
	}
	if s.Unanswerable > 0 {
		parts = append(parts, fmt.Sprintf("%d unanswerable", s.Unanswerable))
	}
	for _, c := range []struct {
		name string
		v    *float64
	}{{"auc", s.Claims.AUC}, {"weak precision", s.Claims.WeakPrecision}, {"weak recall", s.Claims.WeakRecall},
		{"high precision", s.Claims.HighPrecision}, {"high coverage", s.Claims.HighCoverage}, {"ece", s.Claims.ECE}} {
		if c.v != nil {
			parts = append(parts, fmt.Sprintf("%s %.3f", c.name, *c.v))
		}
	}
	if !s.Calibrated {
		parts = append(parts, "no thresholds for this mode and model: no weak-match figures")
	}
	if p := s.Phrases; p != nil {
		parts = append(parts, fmt.Sprintf("%s of %s (%s), %d left out as the set's own requests", term.Plural(p.Count, "phrase"), term.Plural(p.Tools, "tool"), p.From, p.LeftOut))
	}
	if s.Degraded > 0 {
		parts = append(parts, fmt.Sprintf("%d degraded: %s", s.Degraded, s.Reason))
	}
	if s.Skipped > 0 {
		parts = append(parts, term.Plural(s.Skipped, "line")+" skipped")
	}
	fmt.Fprintf(w, "%s: %s\n", s.Title(), strings.Join(parts, "; "))
}
