package evalcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/index"
)

const evalAuditLong = `Build an HNSW graph over a catalog's vectors and compare its answers with the
exact scan at several beams (ef). PATH is a labelled set, a tools/list answer or
a folder of them; without PATH the tools come from --catalog. The queries of a
labelled set are asked if there are any, else queries are made up.`

func (c commands) evalAudit() *cobra.Command {
	f := evalFlags{cli: c}
	var efs []int
	var sample int
	cmd := &cobra.Command{
		Use: "audit [PATH]", Short: "Measure what the vector graph finds against the exact scan", Long: evalAuditLong,
		Example: "  tooldex eval audit sets/big --ef 32,64,128", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tools, err := f.toolsOf(args)
			if err != nil {
				return err
			}
			for _, ef := range efs {
				if ef < 1 {
					return cli.Usagef(cmd, "--ef %d: want beams of 1 or more", ef)
				}
			}
			opts, done, err := f.options()
			if err != nil {
				return err
			}
			defer done()
			ix, err := eval.Open(cmd.Context(), tools, opts)
			if err != nil {
				return err
			}
			defer ix.Close()
			res, err := ix.Audit(cmd.Context(), f.someTexts(args, sample), efs)
			if err != nil {
				return err
			}
			return c.Result(res, func() { printAudit(c.Out, res) })
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	cmd.Flags().IntSliceVar(&efs, "ef", []int{16, 32, 64, 96, 128, 192, 256}, "beams")
	cmd.Flags().IntVar(&sample, "queries", 300, "to ask of a labelled set; 0 makes queries up")
	return cmd
}

// someTexts returns up to n queries of a labelled set, evenly spread; none
// when the path is no labelled set.
func (f *evalFlags) someTexts(args []string, n int) []string {
	if len(args) == 0 || n <= 0 {
		return nil
	}
	sets, err := f.sets(args)
	if err != nil {
		return nil
	}
	var all, out []string
	for _, s := range sets {
		for _, q := range s.Queries {
			all = append(all, q.Text)
		}
	}
	for i := range min(n, len(all)) {
		out = append(out, all[i*len(all)/min(n, len(all))])
	}
	return out
}

func printAudit(w io.Writer, a index.Audit) {
	fmt.Fprintf(w, "%s, %s, %s; graph built in %s, searches would use ef %d\n",
		term.Plural(a.Documents, "tool"), term.Plural(a.Queries, "query"), a.Model, a.Built.Round(time.Millisecond), a.EF)
	t := term.NewGrid("ef", "recall@10", "median")
	for _, m := range a.Beams {
		t.Add(fmt.Sprint(m.EF), fmt.Sprintf("%.4f", m.Recall), m.Median.Round(time.Microsecond).String())
	}
	t.Write(w)
}
