package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/tool"
)

// A Rule selects tools, as an operator writes it. Within a key any value
// matches, between keys all must, and an exclude wins over everything; an
// empty key says nothing. Values match whole and without case, patterns (RE2)
// anywhere in the bare name.
type Rule struct {
	IncludeTags       []string `yaml:"include_tags" json:"include_tags,omitempty"`
	IncludeServers    []string `yaml:"include_servers" json:"include_servers,omitempty"`
	IncludeCategories []string `yaml:"include_categories" json:"include_categories,omitempty"`
	IncludeVisibility []string `yaml:"include_visibility" json:"include_visibility,omitempty"`
	IncludeTeams      []string `yaml:"include_teams" json:"include_teams,omitempty"`
	NamePatterns      []string `yaml:"name_patterns" json:"name_patterns,omitempty"`
	IntegrationType   string   `yaml:"integration_type" json:"integration_type,omitempty"` // MCP, REST, or any

	ExcludeTags         []string `yaml:"exclude_tags" json:"exclude_tags,omitempty"`
	ExcludeServers      []string `yaml:"exclude_servers" json:"exclude_servers,omitempty"`
	ExcludeNamePatterns []string `yaml:"exclude_name_patterns" json:"exclude_name_patterns,omitempty"`

	// ReadOnly lets no tools through but those that change nothing. It is no
	// key of a scope, but of an endpoint.
	ReadOnly bool `yaml:"-" json:"readonly,omitempty"`
}

// Labels are what an operator vouches for about one tool: access rests on
// nothing that a server says of itself, unless the operator trusts it.
type Labels struct {
	Tags     []string
	Category string
	Effect   string // of the tool, one of those of package tool

	Visibility string   // public, internal, team or private; "" means public
	Teams      []string // who own it, of visibility team
	Owners     []string // principals, of visibility private
}

// maxPattern bounds a pattern in bytes: RE2 needs memory in proportion.
const maxPattern = 256

// Check says what is wrong with the rule, key by key, and what is probably not
// meant.
func (r Rule) Check() (errs []error, warnings []string) {
	_, errs = r.compile()
	if r.IntegrationType != "" && !holds([]string{"MCP", "REST", "any"}, r.IntegrationType) {
		errs = append(errs, fmt.Errorf("integration_type: %q is none of MCP, REST, any", r.IntegrationType))
	}
	for _, both := range []struct {
		what    string
		in, out []string
	}{{"tags", r.IncludeTags, r.ExcludeTags}, {"servers", r.IncludeServers, r.ExcludeServers}, {"name_patterns", r.NamePatterns, r.ExcludeNamePatterns}} {
		for _, v := range both.in {
			if holds(both.out, v) {
				warnings = append(warnings, fmt.Sprintf("%q is included and excluded by %s; it is excluded", v, both.what))
			}
		}
	}
	if len(r.NamePatterns) > 0 && len(r.IncludeTags)+len(r.IncludeServers)+len(r.IncludeCategories)+len(r.IncludeVisibility)+len(r.IncludeTeams) == 0 {
		warnings = append(warnings, "it includes by name_patterns alone, and names are chosen by servers; add include_servers or include_tags")
	}
	return errs, warnings
}

// A compiled rule has its patterns read.
type compiled struct {
	Rule
	names, notNames []*regexp.Regexp
}

func (r Rule) compile() (c compiled, errs []error) {
	c.Rule = r
	read := func(key string, patterns []string) (out []*regexp.Regexp) {
		for i, p := range patterns {
			re, err := regexp.Compile(p)
			if len(p) > maxPattern {
				err = fmt.Errorf("%d bytes are too many, at most %d", len(p), maxPattern)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s[%d]: %w", key, i, err))
				continue
			}
			out = append(out, re)
		}
		return out
	}
	c.names = read("name_patterns", r.NamePatterns)
	c.notNames = read("exclude_name_patterns", r.ExcludeNamePatterns)
	return c, errs
}

// Of is the view of the tools that all rules let through; without rules it
// shows everything. What keeps a tool away says Refusals. labels must give the same for a tool as long as the view
// is used: other labels are another view. Rules that do not compile show
// nothing.
func Of(labels func(*index.Tool) Labels, rules ...Rule) View {
	if len(rules) == 0 {
		return View{}
	}
	refused := Refusals(labels, rules...)
	return View{Scope: index.NewScope(func(t *index.Tool) bool {
		_, away := refused(t)
		return !away
	})}
}

// A Refusal is what keeps a tool out of a view: the first of the rules that
// does, and its key.
type Refusal struct {
	Rule int // from 0
	Key  string
}

// Refusals is what says of tools which of the rules keeps them out of the view
// of these; ok is false of those that are in it. One that does not compile
// keeps everything out.
func Refusals(labels func(*index.Tool) Labels, rules ...Rule) func(*index.Tool) (r Refusal, ok bool) {
	all := make([]compiled, len(rules))
	broken := -1
	for i, r := range rules {
		var errs []error
		if all[i], errs = r.compile(); len(errs) > 0 {
			broken = i
		}
	}
	return func(t *index.Tool) (Refusal, bool) {
		if broken >= 0 {
			return Refusal{Rule: broken}, true
		}
		l := labels(t)
		for i := range all {
			if key := all[i].refuses(t, l); key != "" {
				return Refusal{i, key}, true
			}
		}
		return Refusal{}, false
	}
}

// refuses is the key that takes the tool away, "" when the rule lets it
// through.
func (c *compiled) refuses(t *index.Tool, l Labels) string {
	visibility := t.Visibility
	if visibility == "" {
		visibility = "public"
	}
	integration := t.Integration
	if integration == "" {
		integration = "MCP"
	}
	// A tool that no team owns is nobody's secret: its visibility decides.
	teamless := len(t.Teams) == 0 && holds(c.IncludeVisibility, visibility)
	for _, step := range []struct {
		key     string
		refuses bool
	}{
		{"exclude_tags", shares(c.ExcludeTags, t.Tags)}, // what a server says against itself is believed
		{"exclude_servers", holds(c.ExcludeServers, t.Server)},
		{"exclude_name_patterns", matches(c.notNames, t.Name)},
		{"include_tags", len(c.IncludeTags) > 0 && !shares(c.IncludeTags, l.Tags)},
		{"include_servers", len(c.IncludeServers) > 0 && !holds(c.IncludeServers, t.Server)},
		{"include_categories", len(c.IncludeCategories) > 0 && !holds(c.IncludeCategories, l.Category)},
		{"include_visibility", len(c.IncludeVisibility) > 0 && !holds(c.IncludeVisibility, visibility)},
		{"include_teams", len(c.IncludeTeams) > 0 && !teamless && !shares(c.IncludeTeams, t.Teams)},
		{"name_patterns", len(c.names) > 0 && !matches(c.names, t.Name)},
		{"readonly", c.ReadOnly && l.Effect != tool.Read},
		{"integration_type", c.IntegrationType != "" && !strings.EqualFold(c.IntegrationType, "any") && !strings.EqualFold(c.IntegrationType, integration)},
	} {
		if step.refuses {
			return step.key
		}
	}
	return ""
}

func holds(values []string, v string) bool {
	v = strings.TrimSpace(v)
	return slices.ContainsFunc(values, func(x string) bool { return v != "" && strings.EqualFold(strings.TrimSpace(x), v) })
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(b, func(v string) bool { return holds(a, v) })
}

func matches(patterns []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(name) })
}
