package evalcmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/eval"
)

const evalReportLong = `Measure labelled sets in every mode and write one HTML page: figures with
intervals, recall curves, reliability, what is said when nothing fits, latency,
recall against the size of the catalog, and the worst queries explained. The
page needs no network.`

func (c commands) evalReport() *cobra.Command {
	f := evalFlags{cli: c}
	var o eval.ReportOptions
	var out, distractors string
	cmd := &cobra.Command{
		Use: "report DIR...", Short: "Write what a ranking does as one HTML page", Long: evalReportLong,
		Example: "  tooldex eval report sets/github --out report.html\n" +
			"  tooldex eval report sets/mine --catalog --distractors sets/big/tools.jsonl",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sets, err := f.sets(args)
			if err != nil {
				return err
			}
			if distractors != "" {
				if o.Distractors, err = dumpedTools(distractors); err != nil {
					return err
				}
			}
			opts, done, err := f.options()
			if err != nil {
				return err
			}
			defer done()
			o.Options = opts
			o.Made = time.Now().Format("2 January 2006, 15:04")
			page, err := eval.Report(cmd.Context(), sets, o)
			if err != nil {
				return err
			}
			if err := writeTo(cmd, "report", out, page.Write); err != nil {
				return err
			}
			if out != "-" {
				c.Note("report written to %s", out)
			}
			return nil
		},
	}
	f.addSets(cmd)
	f.addSearch(cmd)
	fs := cmd.Flags()
	fs.Lookup("k").Hidden = true // the page's columns and curves are fixed
	fs.StringVarP(&out, "out", "o", "report.html", "file to write; - is standard output")
	fs.StringVar(&o.Title, "title", "", "of the page")
	fs.StringVar(&distractors, "distractors", "", "tools to grow the catalogs with: tools.jsonl, or a tools/list answer, or a folder")
	fs.IntVar(&o.Worst, "worst", 12, "queries to explain")
	return cmd
}
