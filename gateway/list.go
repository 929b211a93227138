package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

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

func (g *Gateway) listTools(_ context.Context, raw json.RawMessage, _ caller) (*Answer, error) {
	a := readArgs("list_tools", raw, "page", "page_size", "sort_by", "sort_order", "filters", "include_schemas")
	page := a.integer("page", span{1, math.MaxInt32, 1})
	size := a.integer("page_size", span{1, 100, 20})
	sort := index.SortKey(a.oneOf("sort_by", "name", "created_at", "execution_count", "success_rate", "category"))
	descending := a.oneOf("sort_order", "asc", "desc") == "desc"
	schemas := a.flag("include_schemas", false)
	f := g.readFilters(a)
	if f.minScore != nil {
		a.fail("filters.min_score does not apply: a list has no scores", "drop it, or use search_tools with a query")
	}
	if err := a.failure(); err != nil {
		return nil, err
	}
	hits, total := g.ix.List(index.Listing{
		Filter: f.Filter, Sort: sort, Descending: descending, Offset: (page - 1) * size, Limit: size,
	})
	pages := (total + size - 1) / size
	if page > max(pages, 1) {
		return nil, &callError{
			msg:  fmt.Sprintf("list_tools: page %d is beyond the end", page),
			hint: fmt.Sprintf("the last page is %d (%d tools, page_size %d)", max(pages, 1), total, size),
		}
	}
	rows, err := g.rows(hits, rowOptions{
		schemas: schemas, created: sort == index.ByCreatedAt,
		metrics: sort == index.ByExecutionCount || sort == index.BySuccessRate,
	})
	if err != nil {
		return nil, err
	}
	out := listAnswer{Tools: rows, Pagination: pagination{
		Page: page, PageSize: size, TotalItems: total, TotalPages: pages, HasNext: page < pages, HasPrevious: page > 1,
	}}
	if total == 0 {
		out.Hint = g.emptyHint(f)
	}
	return newAnswer(out)
}
