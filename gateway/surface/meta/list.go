package meta

import (
	"context"
	"encoding/json"
	"math"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

type listAnswer struct {
	Tools      []row      `json:"tools"`
	Pagination pagination `json:"pagination"`
	Hint       string     `json:"hint,omitempty"`
}

type pagination struct {
	Page        int  `json:"page"`
	PageSize    int  `json:"page_size"`
	TotalItems  int  `json:"total_items"`
	TotalPages  int  `json:"total_pages"`
	HasNext     bool `json:"has_next"`
	HasPrevious bool `json:"has_previous"`
}

// ListRequest reads the arguments of list_tools, or of what else lists as the
// meta-tool called name does. Its error is an [args.Error].
func ListRequest(name string, arguments json.RawMessage, o surface.Options) (gateway.ListRequest, error) {
	a := args.Read(name, arguments, "page", "page_size", "sort_by", "sort_order", "filters", "include_schemas")
	r := gateway.ListRequest{
		Page:       a.Integer("page", 1, math.MaxInt32, 1),
		Size:       a.Integer("page_size", 1, 100, gateway.DefaultPageSize),
		Sort:       index.SortKey(a.OneOf("sort_by", "name", "created_at", "execution_count", "success_rate", "category")),
		Descending: a.OneOf("sort_order", "asc", "desc") == "desc",
		Schemas:    a.Flag("include_schemas", false),
		Effects:    o.SplitExecute,
	}
	r.Metrics = r.Sort == index.ByExecutionCount || r.Sort == index.BySuccessRate
	var minScore *float64
	if r.Filter, minScore = readFilters(a); minScore != nil {
		a.Fail("filters.min_score does not apply: a list has no scores", "drop it, or use search_tools with a query")
	}
	return r, a.Failure()
}

func (s *Surface) listTools(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	r, err := ListRequest(c.Tool, c.Arguments, s.opts)
	if err != nil {
		return nil, err
	}
	res, err := s.g.List(ctx, c.View, r)
	if err != nil {
		return nil, err
	}
	return surface.NewAnswer(Listed(res, r))
}

// Listed is the object that list_tools answers r with.
func Listed(res gateway.ListResult, r gateway.ListRequest) any {
	return listAnswer{
		Tools: rows(res.Tools, rowOptions{schemas: r.Schemas, created: r.Sort == index.ByCreatedAt, metrics: r.Metrics, effects: r.Effects}),
		Pagination: pagination{
			Page: res.Page, PageSize: res.Size, TotalItems: res.Total, TotalPages: res.Pages,
			HasNext: res.Page < res.Pages, HasPrevious: res.Page > 1,
		},
		Hint: res.Next.In(vocabulary),
	}
}

type categoriesAnswer struct {
	Categories     []count `json:"categories"`
	MoreCategories int     `json:"more_categories,omitempty"` // that are not listed
	Total          int     `json:"total_tools"`
	Tags           []count `json:"tags,omitempty"`
	MoreTags       int     `json:"more_tags,omitempty"`
	Servers        []count `json:"servers,omitempty"`
	MoreServers    int     `json:"more_servers,omitempty"`
}

type count struct {
	Name        string `json:"name"`
	Count       int    `json:"count"`
	Description string `json:"description,omitempty"`
}

func (s *Surface) toolCategories(ctx context.Context, c surface.Call) (*surface.Answer, error) {
	a := args.Read(c.Tool, c.Arguments, "include_tags", "include_servers")
	withTags := a.Flag("include_tags", true)
	withServers := a.Flag("include_servers", false)
	if err := a.Failure(); err != nil {
		return nil, err
	}
	res, err := s.g.Categories(ctx, c.View, gateway.CategoriesRequest{})
	if err != nil {
		return nil, err
	}
	return surface.NewAnswer(Counted(res, withTags, withServers))
}

// Counted is the object that get_tool_categories answers with.
func Counted(res gateway.CategoriesResult, withTags, withServers bool) any {
	out := categoriesAnswer{Total: res.Total}
	out.Categories, out.MoreCategories = counts(res.Categories, words.MaxLabel)
	if withTags {
		out.Tags, out.MoreTags = counts(res.Tags, words.MaxLabel)
	}
	if withServers {
		out.Servers, out.MoreServers = counts(res.Servers, words.MaxServer)
	}
	return out
}

// counts are the first maxCounted of in, the most frequent, with names of at
// most that length, and how many more there are.
func counts(in []index.CategoryCount, most int) (out []count, more int) {
	n := min(len(in), maxCounted)
	out = make([]count, n)
	for i, c := range in[:n] {
		out[i] = count{Name: words.Cut(c.Name, most), Count: c.Count, Description: words.Cut(c.Description, words.MaxReason)}
	}
	return out, len(in) - n
}
