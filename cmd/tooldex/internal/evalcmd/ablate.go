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

const evalAblateLong = `Take each part of the ranking out, or put another in its place, and measure what
that costs: fields, length normalisation, the exact-name rule, vectors, the
server prior, and other ways to join words and meaning. A negative change is
what the part is worth.`

func (c commands) evalAblate() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.TuneOptions
	cmd := &cobra.Command{
		Use: "ablate DIR...", Short: "Measure what each part of the ranking is worth", Long: evalAblateLong,
		Example: "  tooldex eval ablate sets/a sets/b", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return overSets(&f, args, &o.Options, func(sets []*labels.Set) (*eval.Ablations, error) {
				return eval.Ablate(cmd.Context(), sets, o)
			}, printAblations)
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	cmd.Flags().StringSliceVar(&o.Metrics, "metric", []string{"recall@5", "ndcg@10"}, "measure the mean of these")
	cmd.Flags().IntVar(&o.Queries, "queries", 500, "drawn from each set")
	return cmd
}

func printAblations(w io.Writer, res *eval.Ablations) {
	sets := term.SortedKeys(res.BySet)
	t := term.NewGrid(append([]string{strings.Join(res.Metrics, " and "), "mean", "change", "95 % interval", "p"}, sets...)...)
	row := []string{"as it is, " + string(res.Mode), fmt.Sprintf("%.4f", res.Before), "", "", ""}
	for _, s := range sets {
		row = append(row, fmt.Sprintf("%.3f", res.BySet[s]))
	}
	t.Add(row...)
	for _, r := range res.Rows {
		row := []string{r.Name, fmt.Sprintf("%.4f", r.Gain.After), fmt.Sprintf("%+.4f", r.Gain.Mean()),
			fmt.Sprintf("%+.4f to %+.4f", r.Gain.Interval[0], r.Gain.Interval[1]), fmt.Sprintf("%.4f", r.Gain.P)}
		for _, s := range sets {
			row = append(row, fmt.Sprintf("%+.3f", r.BySet[s]-res.BySet[s]))
		}
		t.Add(row...)
	}
	t.Write(w)
}
