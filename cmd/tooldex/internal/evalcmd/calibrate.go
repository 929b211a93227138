package evalcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
)

const evalCalibrateLong = `Fit the thresholds of "confidence" and "weak_match" for a mode and model.

Each answerable query is asked as it is, and again with its right tools and
their near-duplicates taken out of the catalog: then nothing fits. Thresholds
are fitted without each set in turn and judged on that set. A threshold that
does not keep its promise there, or speaks of too few queries, is not written,
and the result says so.`

func (c commands) evalCalibrate() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.CalibrateOptions
	var out string
	cmd := &cobra.Command{
		Use: "calibrate DIR...", Short: "Fit the thresholds of confidence and weak matches", Long: evalCalibrateLong,
		Example: "  tooldex eval calibrate sets/a sets/b sets/c --params params.json --out params.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return overSets(&f, args, &o.Options, func(sets []*labels.Set) (*eval.Calibration, error) {
				res, err := eval.Calibrate(cmd.Context(), sets, o)
				if err != nil {
					return nil, err
				}
				return res, writeParams(cmd, out, res.Params)
			}, printCalibration)
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&out, "out", "o", "", "write the parameters with the supported thresholds as JSON")
	fs.IntVar(&o.Queries, "queries", 500, "answerable queries drawn from each set")
	fs.Float64Var(&o.Share, "unanswerable", .2, "share of unanswerable queries in the mix")
	fs.Float64Var(&o.Precision, "precision", .9, "share of high claims that must be right")
	fs.Float64Var(&o.Wrong, "wrong", .75, "share of weak matches that must be wrong")
	fs.Float64Var(&o.Coverage, "coverage", .05, "least share of queries that a claim must speak of")
	return cmd
}

func printCalibration(w io.Writer, c *eval.Calibration) {
	fmt.Fprintf(w, "%s: %s, %.0f %% of them unanswerable; expected calibration error of the score %.3f",
		c.Key, term.Plural(c.Queries, "query"), 100*c.Share, c.ECE)
	if c.AUC != nil {
		fmt.Fprintf(w, "; auc answerable against unanswerable %.3f", *c.AUC)
	}
	fmt.Fprintln(w)
	for _, x := range []struct {
		name  string
		claim eval.Claim
	}{{"confidence high at or above", c.High}, {"weak match below", c.Weak}} {
		if x.claim.Supported {
			fmt.Fprintf(w, "\n%s %.2f: %s\n", x.name, x.claim.Threshold, x.claim.Reason)
		} else {
			fmt.Fprintf(w, "\n%s: no threshold: %s\n", x.name, x.claim.Reason)
		}
		t := term.NewGrid("left out", "threshold of the others", "claims", "hold", "share", "queries")
		for _, s := range x.claim.Sets {
			share := "-"
			if s.Claims > 0 {
				share = fmt.Sprintf("%.3f", float64(s.Holds)/float64(s.Claims))
			}
			t.Add(s.Set, fmt.Sprintf("%.2f", s.Threshold), fmt.Sprint(s.Claims), fmt.Sprint(s.Holds), share, fmt.Sprint(s.Queries))
		}
		t.Write(w)
	}
	fmt.Fprintln(w)
	t := term.NewGrid("score", "queries", "first row right")
	for _, b := range c.Reliability {
		if b.Count > 0 {
			t.Add(fmt.Sprintf("%.1f to %.1f", b.From, b.To), fmt.Sprint(b.Count), fmt.Sprintf("%.3f", b.Right))
		}
	}
	t.Write(w)
}
