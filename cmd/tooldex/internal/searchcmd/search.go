package searchcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/cli"
	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
	"github.com/tooldex/tooldex/internal/config"
)

const searchHelp = `Find tools by what they do, best first. The answer comes from the state folder;
no server is started. Describe the capability, not the whole task.

A score lies between 0 and 1 and means the same under every filter and limit;
it is no probability. --explain shows what each score is made of, and --expect
why a tool is where it is: its exit code is 1 when the tool is not among the
rows.`

const searchExample = `  tooldex search "open a pull request"
  tooldex search "convert miles" --server numbers --limit 3 --explain
  tooldex search "read a file" --expect files/read_text_file
  tooldex search "join two tables" --json`

// filterFlags choose tools for search and list.
type filterFlags struct {
	servers, tags, categories []string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.servers, "server", nil, "only tools of this `server`; can be repeated")
	cmd.Flags().StringSliceVar(&f.tags, "tag", nil, "only tools with this `tag`; can be repeated")
	cmd.Flags().StringSliceVar(&f.categories, "category", nil, "only tools of this `category`; can be repeated")
}

func (f *filterFlags) filter() index.Filter {
	return index.Filter{Servers: f.servers, Tags: f.tags, Categories: f.categories}
}

// searchFlags are the flags of search.
type searchFlags struct {
	filterFlags
	mode, expect string
	limit        int
	minScore     float64
	explain      bool
	schemas      bool
}

func (c commands) search() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Find tools by what they do", Long: searchHelp, Example: searchExample,
		Args: cobra.ArbitraryArgs,
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.mode, "mode", "", "how to rank: hybrid (default), keyword or semantic")
	fs.IntVar(&f.limit, "limit", 0, "most rows to show (default 10)")
	fs.Float64Var(&f.minScore, "min-score", 0, "cut rows that score less")
	fs.BoolVar(&f.explain, "explain", false, "show what each score is made of")
	fs.StringVar(&f.expect, "expect", "", "explain where this `tool` is and why")
	fs.BoolVar(&f.schemas, "schemas", false, "with --json: include the tools' schemas")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Offline(cmd, func(ctx context.Context, e *app.Engine) error {
			r, err := f.request(cmd, strings.TrimSpace(strings.Join(args, " ")), e.Config.Meta)
			if err != nil {
				return err
			}
			r.WordsOnly = app.WordsOnlyAt(e.Config, config.Endpoint{Meta: e.Config.Meta})
			return c.runSearch(ctx, e, r, &f)
		})
	}
	return cmd
}

// request is what the flags ask for, within what the configuration allows.
func (f *searchFlags) request(cmd *cobra.Command, query string, m config.Meta) (gateway.SearchRequest, error) {
	r := gateway.SearchRequest{
		Text: query, Mode: index.Mode(f.mode), Filter: f.filter(), Schemas: f.schemas, Metrics: m.IncludeMetricsInSearch, Signatures: m.IncludeSignatures,
		Limit: min(m.DefaultSearchLimit, m.MaxSearchLimit),
	}
	if cmd.Flags().Changed("limit") {
		r.Limit = f.limit
	}
	if cmd.Flags().Changed("min-score") {
		r.MinScore = &f.minScore
	}
	switch {
	case f.mode != "" && !slices.Contains(cli.Modes, f.mode):
		return r, cli.OneOf(cmd, "mode", f.mode)
	case r.Limit < 1 || r.Limit > m.MaxSearchLimit:
		return r, cli.Usagef(cmd, "--limit %d: want 1 to %d", r.Limit, m.MaxSearchLimit)
	case f.minScore < 0 || f.minScore > 1:
		return r, cli.Usagef(cmd, "--min-score %g: want 0 to 1", f.minScore)
	}
	return r, nil
}

func (c commands) runSearch(ctx context.Context, e *app.Engine, r gateway.SearchRequest, f *searchFlags) error {
	res, err := e.Gateway.Search(ctx, view.View{}, r)
	if err != nil {
		return cli.Told(err)
	}
	explained, err := explanations(ctx, e, r, f, res.Hits)
	if err != nil {
		return err
	}
	found := meta.Found(res, r)
	print := c.Answer
	if f.explain || f.expect != "" {
		found, print = map[string]any{"search": found, "explanations": explained}, c.Result
	}
	err = print(found, func() { c.showFound(r.Text, &res, explained) })
	if err == nil && f.expect != "" && !explained[len(explained)-1].Among {
		return cli.ErrReported
	}
	return err
}

func (c commands) showFound(query string, res *gateway.SearchResult, explained []Explained) {
	g := &term.Grid{Head: []string{"score", "tool", "category", "description"}, Numbers: []int{0}}
	for _, h := range res.Hits {
		score := fmt.Sprintf("%.4f", h.Score)
		if query == "" {
			score = "" // a list by filters has none
		}
		g.Add(append([]string{score}, row(h)...)...)
	}
	c.ShowRows(g, "No tool found.")
	if res.Degraded {
		c.Note("note: ranked by words only: %s", res.Reason)
	}
	c.Advise(res.Next)
	for _, x := range explained {
		c.Say("")
		x.Show(c.Terminal, "")
	}
}

// row is the tool, the category and the description of a row, each as short as
// a model gets it, with the tool's first copies elsewhere.
func row(h index.Hit) []string {
	about := words.Shorten(h.Tool.Description, words.MaxDescription)
	if n := len(h.Homes); n > 0 {
		shown := words.CutAll(h.Homes, words.MaxServer+1+words.MaxName, maxCopies)
		also := "also: " + strings.Join(shown, ", ")
		if n > maxCopies {
			also += fmt.Sprintf(" and %d more", n-maxCopies)
		}
		about = "(" + also + ") " + about // before what the line cuts
	}
	return []string{words.ToolName(h.Tool.Server, h.Tool.Name), words.Cut(h.Category, words.MaxLabel), about}
}

// maxCopies is how many copies of a tool its row names.
const maxCopies = 3

// Explained is one tool's account of its score.
type Explained struct {
	Tool string `json:"tool"`
	index.Explanation
	Among bool `json:"-"` // among the rows
}

// explanations accounts for the rows, as --explain asks, and for the tool of
// --expect, which is the last then.
func explanations(ctx context.Context, e *app.Engine, r gateway.SearchRequest, f *searchFlags, hits []index.Hit) ([]Explained, error) {
	out := []Explained{} // not null in JSON
	q := index.Query{Text: r.Text, Mode: r.Mode, Filter: r.Filter, Limit: r.Limit, MinScore: r.MinScore, WordsOnly: r.WordsOnly}
	add := func(h index.Hit, among bool) error {
		x, err := e.Index.Explain(ctx, q, h.ID)
		out = append(out, Explained{h.Tool.QualifiedName(), x, among})
		return err
	}
	for _, h := range hits {
		if !f.explain {
			break
		}
		if err := add(h, true); err != nil {
			return nil, err
		}
	}
	if f.expect == "" {
		return out, nil
	}
	hit, err := cli.Resolve(e, f.expect)
	if err != nil {
		return nil, err
	}
	return out, add(hit, slices.ContainsFunc(hits, func(h index.Hit) bool { return h.ID == hit.ID }))
}

// Show writes the account behind an indent.
func (x Explained) Show(t *term.Terminal, indent string) {
	t.Hang(indent, fmt.Sprintf("%s  %.4f  %s", x.Tool, x.Score, x.place()))
	indent += "  "
	if x.HasVector && x.Gamma+x.Lambda > 0 && x.Lambda < 1 {
		t.Hang(indent, fmt.Sprintf("(%.2f · words %.4f + %.2f · meaning %.4f + %.2f · server %.4f) / %.2f",
			x.Lambda, x.Keyword, 1-x.Lambda, x.Cosine, x.Gamma, x.Prior, 1+x.Gamma))
	} else if x.HasVector && x.Lambda == 0 {
		t.Hang(indent, fmt.Sprintf("meaning %.4f", x.Cosine))
	}
	x.showPhrases(t, indent)
	if x.ExactName {
		t.Hang(indent, "raised: the query names the tool")
	}
	if x.Lambda == 0 {
		return
	}
	t.Hang(indent, fmt.Sprintf("words %.4f = %.3f of at most %.3f", x.Keyword, x.BM25F, x.Upper))
	for _, term := range x.Terms {
		t.Hang(indent+fmt.Sprintf("  %-16s %6.3f  idf %.2f  ", term.Text, term.Contribution, term.IDF), occurrences(term.Fields))
	}
}

// fewPhrases is how many phrases of a tool an account shows.
const fewPhrases = 3

// showPhrases writes those that are nearest to the query.
func (x Explained) showPhrases(t *term.Terminal, indent string) {
	for i, p := range x.Phrases {
		if i == fewPhrases || p.Cosine <= 0 && len(p.Terms) == 0 {
			return
		}
		about := fmt.Sprintf("%q (%s", p.Text, p.Source)
		if p.Stale {
			about += ", of an older text"
		}
		if about += ")"; p.Cosine > 0 {
			about += fmt.Sprintf(", meaning %.2f", p.Cosine)
		}
		if len(p.Terms) > 0 {
			about += ", words " + strings.Join(p.Terms, " ")
		}
		t.Hang(indent+"phrase ", about)
	}
}

// occurrences says in which fields a term stands how often.
func occurrences(fields map[string]int) string {
	var out []string
	for _, name := range term.SortedKeys(fields) {
		out = append(out, fmt.Sprintf("%s ×%d", name, fields[name]))
	}
	return cmp.Or(strings.Join(out, ", "), "in no field")
}

// place says where the tool is among the rows, or why it is not there.
func (x Explained) place() string {
	rank := "not ranked"
	if x.Rank > 0 {
		rank = fmt.Sprintf("rank %d", x.Rank)
	}
	if x.Among {
		return rank
	}
	return rank + ", not among the rows: " + strings.Join(x.Dropped, "; ")
}
