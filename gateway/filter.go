package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// filterKeys are the keys of filters, in the order in which they are shown.
var filterKeys = []string{
	"tags", "exclude_tags", "servers", "categories", "category", "integration_type", "name_pattern",
	"description_contains", "min_score", "has_examples", "visibility", "teams",
}

// maxPattern bounds name_pattern in bytes: RE2 needs memory in proportion.
const maxPattern = 256

// filters are what a call's filters say.
type filters struct {
	index.Filter
	minScore *float64
	given    bool // at least one of them restricts
}

// readFilters reads the filters of a.
func (g *Gateway) readFilters(a *args) filters {
	in := a.nested("filters", filterKeys...)
	f := filters{minScore: in.share("min_score")}
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
	f.given = restricts(f.Filter)
	f.Scope = g.opts.Scope
	return f
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

func restricts(f index.Filter) bool {
	return len(f.Tags)+len(f.ExcludeTags)+len(f.Servers)+len(f.Categories)+len(f.Visibility)+len(f.Teams) > 0 ||
		f.Integration != "" || f.NamePattern != nil || f.DescriptionContains != "" || f.HasExamples
}

// emptyHint says why filters leave nothing over, naming values that no tool
// in scope has. Hidden and absent values read the same.
func (g *Gateway) emptyHint(f filters) string {
	categories, tags, servers, total := g.ix.Categories(index.Filter{Scope: f.Scope})
	if total == 0 {
		return "there are no tools yet; servers may still be starting"
	}
	var unknown []string
	more := 0 // unknown ones that are not named
	for _, group := range []struct {
		what   string
		given  []string
		counts []index.CategoryCount
	}{{"server", f.Servers, servers}, {"tag", f.Tags, tags}, {"category", f.Categories, categories}} {
		names := countNames(group.counts)
		known := map[string]bool{}
		for _, name := range names {
			known[strings.ToLower(name)] = true
		}
		for _, value := range group.given {
			switch {
			case known[strings.ToLower(value)] || containsFold(names, value):
			case len(unknown) < maxUnknown:
				unknown = append(unknown, fmt.Sprintf("no tool has %s %q%s", group.what, cut(value, maxLabel), strings.TrimSuffix(didYouMean(value, names), "?")))
			default:
				more++
			}
		}
	}
	if more > 0 {
		unknown = append(unknown, fmt.Sprintf("nor %d more values", more))
	}
	if len(unknown) > 0 {
		return strings.Join(unknown, "; ") + "; get_tool_categories with include_servers lists what there is"
	}
	return "no tool passes all of the filters; drop one of them"
}

func countNames(counts []index.CategoryCount) []string {
	names := make([]string, len(counts))
	for i, c := range counts {
		names[i] = c.Name
	}
	return names
}

func containsFold(values []string, s string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, s) })
}
