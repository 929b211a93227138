package meta

import (
	"fmt"
	"regexp"

	"github.com/tooldex/tooldex/index"
)

// filterKeys are the keys of filters, in the order in which they are shown.
var filterKeys = []string{
	"tags", "exclude_tags", "servers", "categories", "category", "integration_type", "name_pattern",
	"description_contains", "min_score", "has_examples", "visibility", "teams",
}

// maxPattern bounds name_pattern in bytes: RE2 needs memory in proportion.
const maxPattern = 256

// readFilters reads the filters of a; minScore is nil without one.
func readFilters(a *args) (f index.Filter, minScore *float64) {
	in := a.nested("filters", filterKeys...)
	minScore = in.share("min_score")
	f.Tags = in.list("tags")
	f.ExcludeTags = in.list("exclude_tags")
	f.Servers = in.list("servers")
	f.Categories = in.list("categories")
	if one := in.short("category"); one != "" {
		f.Categories = append(f.Categories, one)
	}
	f.Visibility = in.list("visibility")
	f.Teams = in.list("teams")
	f.DescriptionContains = in.short("description_contains")
	f.HasExamples = in.flag("has_examples", false)
	if kind := in.oneOf("integration_type", "REST", "MCP", "any"); kind != "any" {
		f.Integration = kind
	}
	f.NamePattern = in.pattern("name_pattern")
	return f, minScore
}

// short is text of at most maxValue bytes.
func (a *args) short(key string) string {
	s := a.text(key)
	if len(s) > maxValue {
		a.fail(fmt.Sprintf("%s%s: %d bytes are too many", a.prefix, key, len(s)), fmt.Sprintf("it has at most %d bytes", maxValue))
		return ""
	}
	return s
}

func (a *args) pattern(key string) *regexp.Regexp {
	s := a.text(key)
	if s == "" {
		return nil
	}
	if len(s) > maxPattern {
		a.fail(fmt.Sprintf("%s%s: %d bytes are too many", a.prefix, key, len(s)), fmt.Sprintf("a pattern has at most %d bytes", maxPattern))
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		a.fail(fmt.Sprintf("%s%s: %v", a.prefix, key, err), "patterns are RE2 (no look-around, no back-references), e.g. \"^report_\"")
		return nil
	}
	return re
}
