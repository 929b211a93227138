package evalcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
)

const evalTuneLong = `Search for better parameters of the ranking on several labelled sets.

Each parameter is turned in turn, coarse values first, then fine ones; a change
must gain --least to be made at all. What the search promises is then measured
where it did not look: on folds of queries left out, and on each set under the
parameters that the other sets chose. Only what is significantly better on both
is called a gain; otherwise --out gets the parameters there were.

The same command gives the same result. With --state-file an interrupted search goes
on where it stood.`

func (c commands) evalTune() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.TuneOptions
	var out string
	cmd := &cobra.Command{
		Use: "tune DIR...", Short: "Search for better parameters of the ranking", Long: evalTuneLong,
		Example: "  tooldex eval tune sets/a sets/b sets/c --out params.json --state-file tune.state",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return overSets(&f, args, &o.Options, func(sets []*labels.Set) (*eval.Tuning, error) {
				res, err := eval.Tune(cmd.Context(), sets, o)
				if err != nil {
					return nil, err
				}
				return res, writeParams(cmd, out, res.Params)
			}, printTuning)
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&out, "out", "o", "", "write the parameters as JSON, for --params and the configuration")
	fs.StringVar(&o.State, "state-file", "", "keep what was computed in this file and go on from it")
	fs.StringSliceVar(&o.Metrics, "metric", []string{"recall@5", "ndcg@10"}, "tune the mean of these")
	fs.IntVar(&o.Queries, "queries", 500, "drawn from each set")
	fs.IntVar(&o.Folds, "folds", 5, "of the cross-validation over queries")
	fs.Float64Var(&o.Least, "least", .002, "what a change of one parameter must gain")
	return cmd
}

func printTuning(w io.Writer, t *eval.Tuning) {
	fmt.Fprintf(w, "%s\n\n", t.Verdict)
	fmt.Fprintf(w, "%s, %s mode: %.4f before, %.4f after on the queries searched with (optimistic)\n",
		strings.Join(t.Metrics, " and "), t.Mode, t.Before, t.After)
	for _, g := range []struct {
		name string
		eval.Gain
	}{{"held-out queries", t.Queries}, {"held-out sets", t.Sets}} {
		fmt.Fprintf(w, "%s: %.4f before, %.4f after, gain %+.4f, 95 %% interval %+.4f to %+.4f, p = %.4f\n",
			g.name, g.Before, g.After, g.Mean(), g.Interval[0], g.Interval[1], g.P)
	}
	fmt.Fprintln(w)
	c := term.NewGrid("changed", "from", "to", "worth")
	for _, x := range t.Changes {
		c.Add(x.Name, fmt.Sprint(x.From), fmt.Sprint(x.To), fmt.Sprintf("%+.4f", x.Worth))
	}
	c.Write(w)
	fmt.Fprintln(w)
	h := term.NewGrid("left out", "before", "after", "gain", "p (Holm)", "chosen by the others")
	for _, x := range t.HeldOut {
		var chosen []string
		for _, c := range x.Chosen {
			chosen = append(chosen, fmt.Sprintf("%s %v", c.Name, c.To))
		}
		h.Add(x.Set, fmt.Sprintf("%.4f", x.Before), fmt.Sprintf("%.4f", x.After), fmt.Sprintf("%+.4f", x.After-x.Before),
			fmt.Sprintf("%.4f", x.Holm), strings.Join(chosen, ", "))
	}
	h.Write(w)
	fmt.Fprintln(w, "\nthrough the index, all queries, start against best:")
	printTests(w, t.Verified.Tests)
}
