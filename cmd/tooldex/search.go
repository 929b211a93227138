package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/internal/app"
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

// filters is the argument of the meta-tools; nil without any.
func (f *filterFlags) filters() map[string]any {
	out := map[string]any{}
	for key, values := range map[string][]string{"servers": f.servers, "tags": f.tags, "categories": f.categories} {
		if len(values) > 0 {
			out[key] = values
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// searchFlags are the flags of search.
type searchFlags struct {
	filterFlags
	mode, expect string
	limit        int
	hasLimit     bool
	minScore     float64
	explain      bool
	schemas      bool
	hasMin       bool
}

func (a *cli) search() *cobra.Command {
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
		f.hasMin, f.hasLimit = cmd.Flags().Changed("min-score"), cmd.Flags().Changed("limit")
		return a.offline(cmd, func(ctx context.Context, e *app.Engine) error {
			return a.runSearch(ctx, e, strings.Join(args, " "), &f)
		})
	}
	return cmd
}

func (f *searchFlags) arguments(query string) map[string]any {
	filters := f.filters()
	if f.hasMin {
		if filters == nil {
			filters = map[string]any{}
		}
		filters["min_score"] = f.minScore
	}
	args := map[string]any{"query": query}
	if filters != nil {
		args["filters"] = filters
	}
	if f.hasLimit {
		args["limit"] = f.limit
	}
	if f.mode != "" {
		args["search_type"] = f.mode
	}
	if f.schemas {
		args["include_schemas"] = true
	}
	return args
}

// found is what search_tools answers, as far as it is shown.
type found struct {
	Tools []struct {
		ID            string  `json:"id"`
		QualifiedName string  `json:"qualified_name"`
		Description   string  `json:"description"`
		Score         float64 `json:"score"`
		Category      string  `json:"category"`
	} `json:"tools"`
	Total    int `json:"total_matches"`
	Metadata struct {
		SearchType string `json:"search_type"`
		Requested  string `json:"requested"`
		Degraded   bool   `json:"degraded"`
		Reason     string `json:"reason"`
		WeakMatch  bool   `json:"weak_match"`
		Confidence string `json:"confidence"`
	} `json:"search_metadata"`
	Hint string `json:"hint"`
}

func (a *cli) runSearch(ctx context.Context, e *app.Engine, query string, f *searchFlags) error {
	raw, err := metaCall(ctx, e, "search_tools", f.arguments(query))
	if err != nil {
		return err
	}
	var res found
	if err := json.Unmarshal(raw, &res); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	explained, err := explanations(ctx, e, query, f, &res)
	if err != nil {
		return err
	}
	switch {
	case a.json && !f.explain && f.expect == "":
		a.say("%s", raw)
	case a.json:
		err = a.print(map[string]any{"search": raw, "explanations": explained})
	default:
		a.showFound(query, &res, explained)
	}
	if err == nil && f.expect != "" && !explained[len(explained)-1].among {
		return errReported
	}
	return err
}

func (a *cli) showFound(query string, res *found, explained []explained) {
	g := &grid{head: []string{"score", "tool", "category", "description"}, numbers: []int{0}}
	for _, t := range res.Tools {
		score := fmt.Sprintf("%.4f", t.Score)
		if query == "" {
			score = "" // a list by filters has none
		}
		g.add(score, t.QualifiedName, t.Category, t.Description)
	}
	a.showRows(g, "No tool found.")
	if m := res.Metadata; m.Degraded {
		a.note("note: ranked by words only: %s", m.Reason)
	}
	a.advise(res.Hint)
	for _, x := range explained {
		a.say("")
		a.showExplained("", x)
	}
}

// explained is one tool's account of its score.
type explained struct {
	Tool string `json:"tool"`
	index.Explanation
	among bool // among the rows
}

// explanations accounts for the rows, as --explain asks, and for the tool of
// --expect, which is the last then.
func explanations(ctx context.Context, e *app.Engine, query string, f *searchFlags, res *found) ([]explained, error) {
	out := []explained{} // not null in JSON
	if f.explain {
		for _, t := range res.Tools {
			x, err := explain(ctx, e, query, f, t.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, explained{t.QualifiedName, x, true})
		}
	}
	if f.expect == "" {
		return out, nil
	}
	hit, err := resolve(e, f.expect)
	if err != nil {
		return nil, err
	}
	x, err := explain(ctx, e, query, f, hit.ID)
	among := false
	for _, t := range res.Tools {
		among = among || t.ID == hit.ID
	}
	return append(out, explained{hit.Tool.QualifiedName(), x, among}), err
}

func explain(ctx context.Context, e *app.Engine, query string, f *searchFlags, id string) (index.Explanation, error) {
	q := index.Query{
		Text: query, Mode: index.Mode(f.mode), Limit: f.limit,
		Filter: index.Filter{Servers: f.servers, Tags: f.tags, Categories: f.categories},
	}
	if q.Limit == 0 {
		q.Limit = e.Config.Meta.DefaultSearchLimit
	}
	if f.hasMin {
		q.MinScore = &f.minScore
	}
	return e.Index.Explain(ctx, q, id)
}

// resolve finds the one tool that name means.
func resolve(e *app.Engine, name string) (index.Hit, error) {
	hits := e.Index.Resolve(name, nil)
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		server, _, _ := strings.Cut(name, "/")
		if why := e.Config.DisabledReason(server); why != "" {
			return index.Hit{}, hint(fmt.Errorf("tool %q: server %s is disabled: %s", name, server, why), "mend mcpServers.%s in %s", server, e.Config.Path)
		}
		err := fmt.Errorf("tool %q: not in the catalog", name)
		var near []string
		for _, h := range e.Index.Suggest(name, nil, 3) {
			near = append(near, h.Tool.QualifiedName())
		}
		if len(near) > 0 {
			return index.Hit{}, hint(err, "did you mean %s? \"tooldex tools list\" shows all", strings.Join(near, ", "))
		}
		return index.Hit{}, hint(err, "\"tooldex tools list\" shows all tools")
	}
	var names []string
	for _, h := range hits {
		names = append(names, h.Tool.QualifiedName())
	}
	return index.Hit{}, hint(fmt.Errorf("tool %q: ambiguous: %s", name, strings.Join(names, ", ")), "give the name with its server, such as %s", names[0])
}

func (a *cli) showExplained(indent string, x explained) {
	a.hang(indent, fmt.Sprintf("%s  %.4f  %s", x.Tool, x.Score, x.place()))
	indent += "  "
	if x.HasVector && x.Gamma+x.Lambda > 0 && x.Lambda < 1 {
		a.hang(indent, fmt.Sprintf("(%.2f · words %.4f + %.2f · meaning %.4f + %.2f · server %.4f) / %.2f",
			x.Lambda, x.Keyword, 1-x.Lambda, x.Cosine, x.Gamma, x.Prior, 1+x.Gamma))
	} else if x.HasVector && x.Lambda == 0 {
		a.hang(indent, fmt.Sprintf("meaning %.4f", x.Cosine))
	}
	if x.ExactName {
		a.hang(indent, "raised: the query is the tool's name")
	}
	if x.Lambda == 0 {
		return
	}
	a.hang(indent, fmt.Sprintf("words %.4f = %.3f of at most %.3f", x.Keyword, x.BM25F, x.Upper))
	for _, t := range x.Terms {
		a.hang(indent+fmt.Sprintf("  %-16s %6.3f  idf %.2f  ", t.Text, t.Contribution, t.IDF), occurrences(t.Fields))
	}
}

// occurrences says in which fields a term stands how often.
func occurrences(fields map[string]int) string {
	var out []string
	for _, name := range sortedKeys(fields) {
		out = append(out, fmt.Sprintf("%s ×%d", name, fields[name]))
	}
	return orDefault(strings.Join(out, ", "), "in no field")
}

// place says where the tool is among the rows, or why it is not there.
func (x explained) place() string {
	rank := "not ranked"
	if x.Rank > 0 {
		rank = fmt.Sprintf("rank %d", x.Rank)
	}
	if x.among {
		return rank
	}
	return rank + ", not among the rows: " + strings.Join(x.Dropped, "; ")
}
