package evalcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/trec"
)

const evalCompareLong = `Tell two rankings of the same queries apart.

A and B are result files of "eval run --per-query", or TREC runs; the labels
of a run come from --set, or from the other argument when that is a result
file. Each metric is tested by set with a paired randomisation test, corrected
over sets (Holm), and once over the mean of all sets.`

var errRegression = errors.New("compare: B is significantly worse")

func (c commands) evalCompare() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.CompareOptions
	var set string
	var fail bool
	cmd := &cobra.Command{
		Use: "compare A B", Short: "Test whether ranking B is better or worse than A", Long: evalCompareLong,
		Example: "  tooldex eval compare before.jsonl after.jsonl --fail-on-regression\n" +
			"  tooldex eval compare c.trec b.trec --set sets/github",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after, err := readBoth(args, set, &f)
			if err != nil {
				return err
			}
			o.Seed = f.seed
			if o.Moved == 0 {
				o.Moved = -1 // none: 0 would mean the default
			}
			res, err := eval.Compare(before, after, o)
			if err != nil {
				return err
			}
			err = c.Result(res, func() { printComparison(c.Out, res) })
			if err == nil && fail && res.Regressed() {
				return errRegression
			}
			return err
		},
	}
	f.addSets(cmd)
	cmd.Flags().StringVar(&set, "set", "", "folder with the labels of TREC runs (DIR or DIR:SPLIT)")
	cmd.Flags().StringSliceVar(&o.Metrics, "metric", []string{"recall@5", "ndcg@10"}, "metrics to test")
	cmd.Flags().IntVar(&o.Permutations, "permutations", 10_000, "of the randomisation test")
	cmd.Flags().IntVar(&o.Moved, "moved", 5, "queries to show a set")
	cmd.Flags().Float64Var(&o.Alpha, "alpha", .05, "level of significance")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "of the randomisation test")
	cmd.Flags().BoolVar(&fail, "fail-on-regression", false, "exit 1 when B is significantly worse on any set or on their mean")
	return cmd
}

// readBoth reads both arguments; a TREC run takes its labels from --set or
// from the result file beside it.
func readBoth(args []string, set string, f *evalFlags) (a, b []eval.QueryResult, err error) {
	var res [2][]eval.QueryResult
	var runs [2]trec.Run
	for i, path := range args {
		if res[i], runs[i], err = readRanking(path); err != nil {
			return nil, nil, err
		}
	}
	var sets []*labels.Set
	if set != "" {
		if sets, err = f.sets([]string{set}); err != nil {
			return nil, nil, err
		}
	} else if other := append(res[0], res[1]...); len(other) > 0 {
		sets = labelsOf(other)
	}
	for i := range args {
		if runs[i] == nil {
			continue
		}
		if len(sets) != 1 {
			return nil, nil, fmt.Errorf("compare: TREC run %s needs the labels of one split: give --set DIR:SPLIT", args[i])
		}
		if res[i], err = eval.ScoreRun(sets[0], runs[i], eval.Options{}); err != nil {
			return nil, nil, fmt.Errorf("compare: %s: %w", args[i], err)
		}
	}
	return res[0], res[1], nil
}

// readRanking tells the two kinds of file apart by their first byte.
func readRanking(path string) ([]eval.QueryResult, trec.Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	r := bufio.NewReader(file)
	first, err := r.Peek(512)
	if err != nil && err != io.EOF {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	first = bytes.TrimSpace(first)
	if len(first) == 0 {
		return nil, nil, fmt.Errorf("%s: empty; want a file of eval run --per-query or a TREC run", path)
	}
	if first[0] != '{' {
		run, err := trec.Read(r, path)
		return nil, run, err
	}
	res, err := eval.ReadPerQuery(r, path)
	return res, nil, err
}

// labelsOf rebuilds the sets whose queries a result file holds.
func labelsOf(res []eval.QueryResult) []*labels.Set {
	var out []*labels.Set
	for _, q := range res {
		n := len(out)
		if n == 0 || out[n-1].Name != q.Set || out[n-1].Split != q.Split {
			out = append(out, &labels.Set{Name: q.Set, Split: q.Split})
			n++
		}
		out[n-1].Queries = append(out[n-1].Queries, labels.Query{ID: q.ID, Text: q.Text, Kind: q.Kind, Relevant: q.Relevant})
	}
	return out
}

func printTests(w io.Writer, tests []eval.Test) {
	t := term.NewGrid("metric", "set", "queries", "A", "B", "B - A", "95 % interval", "wins", "losses", "p", "p (Holm)", "")
	for _, x := range tests {
		t.Add(x.Metric, x.Set, fmt.Sprint(x.Queries), fmt.Sprintf("%.4f", x.A), fmt.Sprintf("%.4f", x.B),
			fmt.Sprintf("%+.4f", x.B-x.A), fmt.Sprintf("%+.4f to %+.4f", x.Interval[0], x.Interval[1]), fmt.Sprint(x.Wins), fmt.Sprint(x.Losses),
			fmt.Sprintf("%.4f", x.P), fmt.Sprintf("%.4f", x.Holm), x.Verdict)
	}
	t.Write(w)
}

func printComparison(w io.Writer, c *eval.Comparison) {
	printTests(w, c.Tests)
	for _, m := range c.Moved {
		fmt.Fprintf(w, "\n%s %s: %s\n  right: %s\n ", m.Set, m.Query, term.OneLine(m.Text, 100), strings.Join(m.Relevant, ", "))
		for _, name := range term.SortedKeys(m.Change) {
			fmt.Fprintf(w, " %s %+.3f", name, m.Change[name])
		}
		fmt.Fprintln(w)
		printSides(w, m)
	}
}

// printSides writes both rankings beside each other, right tools marked.
func printSides(w io.Writer, m eval.Moved) {
	right := map[string]bool{}
	for _, r := range m.Relevant {
		right[r] = true
	}
	cell := func(rows []string, i int) string {
		if i >= len(rows) {
			return ""
		}
		if right[rows[i]] {
			return "* " + term.OneLine(rows[i], 44)
		}
		return "  " + term.OneLine(rows[i], 44)
	}
	for i := range min(5, max(len(m.A), len(m.B))) {
		fmt.Fprintf(w, "  %d  %-46s  %s\n", i+1, cell(m.A, i), cell(m.B, i))
	}
}
