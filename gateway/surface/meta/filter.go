package meta

import (
	"github.com/tooldex/tooldex/gateway/surface/args"
	"github.com/tooldex/tooldex/index"
)

// filterKeys are the keys of filters, in the order in which they are shown.
var filterKeys = []string{
	"tags", "exclude_tags", "servers", "categories", "category", "integration_type", "name_pattern",
	"description_contains", "min_score", "has_examples", "visibility", "teams",
}

// readFilters reads the filters of a; minScore is nil without one.
func readFilters(a *args.Args) (f index.Filter, minScore *float64) {
	in := a.Nested("filters", filterKeys...)
	minScore = in.Share("min_score")
	f.Tags = in.List("tags")
	f.ExcludeTags = in.List("exclude_tags")
	f.Servers = in.List("servers")
	f.Categories = in.List("categories")
	if one := in.Short("category"); one != "" {
		f.Categories = append(f.Categories, one)
	}
	f.Visibility = in.List("visibility")
	f.Teams = in.List("teams")
	f.DescriptionContains = in.Short("description_contains")
	f.HasExamples = in.Flag("has_examples", false)
	if kind := in.OneOf("integration_type", "REST", "MCP", "any"); kind != "any" {
		f.Integration = kind
	}
	f.NamePattern = in.Pattern("name_pattern")
	return f, minScore
}
