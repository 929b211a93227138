package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// A SearchRequest asks for the tools that serve a need.
type SearchRequest struct {
	Text     string       // what the tool must do; "" selects by the filter alone
	Mode     index.Mode   // "" means hybrid
	Filter   index.Filter // its Scope is the view's
	MinScore *float64     // cuts rows that score less; nil cuts none
	Limit    int          // most tools; 0 means DefaultLimit
	Schemas  bool         // with the tools' schemas
	Metrics  bool         // with the tools' executions

	// WordsOnly is why a search is not to go by meaning; "" when it may.
	WordsOnly string

	Unfolded   bool // near-duplicates have rows of their own
	Effects    bool // with what running the tools may do
	Signatures bool // with what the tools take on one line, unless their schemas say it
}

// DefaultLimit is how many tools a search finds that does not say.
const DefaultLimit = 10

// A Tool is one of the tools found or listed.
type Tool struct {
	index.Hit
	Input, Output json.RawMessage // schemas, where asked for
	Metrics       index.Metrics   // where asked for
	Effect        string          // of running it, as far as the operator vouches for it
	Unavailable   string          // why its server cannot be called now; "" when it can, as far as is known
}

// A SearchResult is the tools found, best first, and how.
type SearchResult struct {
	index.Results // Hits are those of Tools
	Tools         []Tool
	Next          Advice // what to do when nothing fits; nil for none
}

// Search finds tools by what they do, or by a filter alone.
func (g *Gateway) Search(ctx context.Context, v view.View, r SearchRequest) (SearchResult, error) {
	r.Text = strings.TrimSpace(r.Text)
	if r.Limit <= 0 {
		r.Limit = DefaultLimit
	}
	if err := r.check(); err != nil {
		return SearchResult{}, err
	}
	if err := g.opts.Limits.Search(used(ctx, "")); err != nil {
		return SearchResult{}, beyond("", err)
	}
	res, err := g.ix.Search(ctx, index.Query{
		Text: r.Text, Mode: r.Mode, Filter: v.Over(r.Filter), Limit: r.Limit, MinScore: r.MinScore, Fold: !r.Unfolded, WordsOnly: r.WordsOnly,
	})
	if err != nil {
		return SearchResult{}, searchError(err)
	}
	if g.opts.Learner != nil && r.Text != "" {
		g.opts.Learner.Searched(ctx, r.Text, res.Hits)
	}
	tools, err := g.tools(res.Hits, r.Schemas, r.Metrics)
	return SearchResult{Results: *res, Tools: tools, Next: g.searchAdvice(v, res, r)}, err
}

func (r *SearchRequest) check() error {
	if r.Text == "" && !restricts(r.Filter) {
		return &Error{
			Problem: "query is missing and no filter is given",
			Next: func(v Vocabulary) string {
				return "the query has to say what the tool must do; to browse use " + v.List + " or " + v.Categories
			},
		}
	}
	if r.Text == "" && r.MinScore != nil {
		return &Error{
			Problem: "a least score needs a query: without one nothing has a score",
			Next:    func(v Vocabulary) string { return "add a query or drop " + v.MinScore },
		}
	}
	return nil
}

func restricts(f index.Filter) bool {
	return len(f.Tags)+len(f.ExcludeTags)+len(f.Servers)+len(f.Categories)+len(f.Visibility)+len(f.Teams) > 0 ||
		f.Integration != "" || f.NamePattern != nil || f.DescriptionContains != "" || f.HasExamples
}

func searchError(err error) error {
	return &Error{
		Problem: strings.TrimPrefix(err.Error(), "search: "),
		Next: func(v Vocabulary) string {
			if errors.Is(err, index.ErrUnknownWords) {
				return "use other words, in English if you can; " + v.Keyword + ` finds tools that are described in these`
			}
			return "try " + v.Hybrid + `, which answers by keywords when vectors are missing`
		},
		Err: err,
	}
}

// searchAdvice says what to do when nothing was found, or probably nothing
// that fits.
func (g *Gateway) searchAdvice(v view.View, res *index.Results, r SearchRequest) Advice {
	switch {
	case res.Allowed == 0:
		return g.emptyAdvice(v, r.Filter)
	case len(res.Hits) == 0 && r.MinScore != nil && res.Best > 0:
		return func(v Vocabulary) string {
			return fmt.Sprintf("no tool reaches %s %g; the best score is %.4f", v.MinScore, *r.MinScore, res.Best)
		}
	case len(res.Hits) == 0 && res.UnknownWords:
		return func(v Vocabulary) string {
			return "neither the tools nor the embedding model know a word of the query; use other words, in English if you can, or see " + v.Categories
		}
	case len(res.Hits) == 0 && res.Requested == index.Hybrid:
		return func(v Vocabulary) string {
			return "no tool shares a word with the query; rephrase it, or see " + v.Categories
		}
	case len(res.Hits) == 0:
		return func(v Vocabulary) string {
			return "no tool shares a word with the query; rephrase it, or use " + v.Hybrid
		}
	case res.WeakMatch && res.Calibrated && r.Text != "":
		return func(v Vocabulary) string {
			return "probably none of these fits; rephrase the query, or see " + v.Categories
		}
	}
	return nil
}

// maxUnknown is how many filter values a piece of advice names.
const maxUnknown = 5

// emptyAdvice says why a filter leaves nothing over, naming values that no
// tool of the view has. Hidden and absent values read the same.
func (g *Gateway) emptyAdvice(v view.View, f index.Filter) Advice {
	categories, tags, servers, total := g.ix.Categories(v.Over(index.Filter{}))
	if total == 0 {
		return say("there are no tools yet; servers may still be starting")
	}
	var unknown []string
	more := 0 // unknown ones that are not named
	for _, group := range []struct {
		what   string
		given  []string
		counts []index.CategoryCount
	}{{"server", f.Servers, servers}, {"tag", f.Tags, tags}, {"category", f.Categories, categories}} {
		names := make([]string, len(group.counts))
		known := map[string]bool{}
		for i, c := range group.counts {
			names[i] = c.Name
			known[strings.ToLower(c.Name)] = true
		}
		for _, value := range group.given {
			switch {
			case known[strings.ToLower(value)] || containsFold(names, value):
			case len(unknown) < maxUnknown:
				near := strings.TrimSuffix(words.DidYouMean(value, names), "?")
				unknown = append(unknown, fmt.Sprintf("no tool has %s %q%s", group.what, words.Cut(value, words.MaxLabel), near))
			default:
				more++
			}
		}
	}
	if len(unknown) == 0 {
		return say("no tool passes all of the filters; drop one of them")
	}
	if more > 0 {
		unknown = append(unknown, fmt.Sprintf("nor %d more values", more))
	}
	return func(v Vocabulary) string {
		return strings.Join(unknown, "; ") + "; " + v.Labels + " lists what there is"
	}
}

// tools are the hits with what was asked for beside.
func (g *Gateway) tools(hits []index.Hit, schemas, metrics bool) ([]Tool, error) {
	tools := make([]Tool, len(hits))
	away := away(g.calls, hits)
	for i, h := range hits {
		tools[i] = Tool{Hit: h, Unavailable: away[h.Tool.Server], Effect: g.operator(h.Tool.Server).effect(&h.Tool)}
		if metrics {
			tools[i].Metrics = g.ix.Metrics(h.ID)
		}
		if !schemas {
			continue
		}
		obj, err := g.object(h)
		if err != nil {
			return nil, err
		}
		tools[i].Input, tools[i].Output = obj.input.JSON(), obj.OutputSchema
	}
	return tools, nil
}
