package gateway

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A ListRequest asks for one page of the catalog.
type ListRequest struct {
	Filter     index.Filter  // its Scope is the view's
	Sort       index.SortKey // "" means by name
	Descending bool
	Page, Size int  // from 1; 0 mean the first and DefaultPageSize
	Schemas    bool // with the tools' schemas
	Metrics    bool // with the tools' executions
	Effects    bool // with what running the tools may do
}

// DefaultPageSize is how many tools a page has that does not say.
const DefaultPageSize = 20

// A ListResult is one page.
type ListResult struct {
	Tools        []Tool
	Page, Size   int
	Total, Pages int    // tools and pages that there are
	Next         Advice // what to do when there are none; nil for none
}

// List pages through the tools, sorted and filtered.
func (g *Gateway) List(_ context.Context, v view.View, r ListRequest) (ListResult, error) {
	page, size := max(r.Page, 1), r.Size
	if size <= 0 {
		size = DefaultPageSize
	}
	hits, total := g.ix.List(index.Listing{
		Filter: v.Over(r.Filter), Sort: r.Sort, Descending: r.Descending, Offset: (page - 1) * size, Limit: size,
	})
	res := ListResult{Page: page, Size: size, Total: total, Pages: (total + size - 1) / size}
	if last := max(res.Pages, 1); page > last {
		return res, &Error{
			Problem: fmt.Sprintf("page %d is beyond the end", page),
			Next:    say(fmt.Sprintf("the last page is %d (%d tools, %d a page)", last, total, size)),
		}
	}
	if total == 0 {
		res.Next = g.emptyAdvice(v, r.Filter)
	}
	var err error
	res.Tools, err = g.tools(hits, r.Schemas, r.Metrics)
	return res, err
}

// A CategoriesRequest asks what kinds of tools there are.
type CategoriesRequest struct{ Filter index.Filter }

// A CategoriesResult counts the tools of each category, tag and server, the
// most frequent first.
type CategoriesResult struct {
	Categories, Tags []index.CategoryCount
	Servers          []index.CategoryCount // with descriptions
	Total            int                   // tools
}

// Categories says what kinds of tools there are, with counts.
func (g *Gateway) Categories(_ context.Context, v view.View, r CategoriesRequest) (CategoriesResult, error) {
	var res CategoriesResult
	res.Categories, res.Tags, res.Servers, res.Total = g.ix.Categories(v.Over(r.Filter))
	for i := range res.Servers {
		res.Servers[i].Description = g.serverDescription(res.Servers[i].Name)
	}
	return res, nil
}
