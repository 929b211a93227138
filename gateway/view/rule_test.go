package view

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/index"
)

func TestRules(t *testing.T) {
	labels := func(t *index.Tool) Labels { return Labels{Tags: t.Phrases, Category: t.Title} } // stand in for the operator's
	report := index.Tool{Server: "quickbooks", Name: "report_sales", Tags: []string{"beta"}, Phrases: []string{"Finance"}, Title: "Money"}
	owned := index.Tool{Server: "erp", Name: "finance_post", Visibility: "team", Teams: []string{"finance-team"}}
	for _, tt := range []struct {
		rule Rule
		tool index.Tool
		want bool
	}{
		{Rule{}, report, true},
		{Rule{IncludeTags: []string{"finance"}}, report, true},
		{Rule{IncludeTags: []string{"beta"}}, report, false}, // the server's own word opens nothing
		{Rule{ExcludeTags: []string{"BETA"}}, report, false}, // but closes
		{Rule{IncludeTags: []string{"x", "finance"}, IncludeServers: []string{"erp"}}, report, false},
		{Rule{IncludeServers: []string{"quickbooks"}, NamePatterns: []string{"^report_", "^x"}}, report, true},
		{Rule{IncludeServers: []string{"quickbooks"}, ExcludeNamePatterns: []string{"sales"}}, report, false},
		{Rule{IncludeServers: []string{"quickbooks"}, ExcludeServers: []string{"quickbooks"}}, report, false},
		{Rule{IncludeCategories: []string{"money"}}, report, true},
		{Rule{IntegrationType: "REST"}, report, false},
		{Rule{IntegrationType: "any"}, report, true},
		{Rule{IncludeVisibility: []string{"public", "team"}, IncludeTeams: []string{"finance-team"}}, report, true}, // no team owns it
		{Rule{IncludeTeams: []string{"finance-team"}}, report, false},
		{Rule{IncludeVisibility: []string{"team"}, IncludeTeams: []string{"finance-team"}}, owned, true},
		{Rule{IncludeVisibility: []string{"team"}, IncludeTeams: []string{"platform"}}, owned, false},
		{Rule{NamePatterns: []string{"("}}, report, false}, // closed, not open
	} {
		if got := Of(labels, tt.rule).Scope.Sees(&tt.tool); got != tt.want {
			t.Errorf("%+v: %s is seen %t, want %t", tt.rule, tt.tool.QualifiedName(), got, tt.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	labels := func(t *index.Tool) Labels { return Labels{Tags: t.Tags} }
	erp := index.Tool{Server: "erp", Name: "post", Tags: []string{"finance", "beta"}}
	for _, tt := range []struct {
		rules []Rule
		want  Refusal
	}{
		{[]Rule{{IncludeTags: []string{"finance"}}, {ExcludeTags: []string{"beta"}, IncludeServers: []string{"crm"}}}, Refusal{1, "exclude_tags"}},
		{[]Rule{{IncludeTags: []string{"x"}}, {ExcludeTags: []string{"beta"}}}, Refusal{0, "include_tags"}},
		{[]Rule{{}, {NamePatterns: []string{"("}}}, Refusal{1, ""}},
	} {
		if got, ok := Refusals(labels, tt.rules...)(&erp); got != tt.want || !ok {
			t.Errorf("%+v: got %+v, %t, want %+v", tt.rules, got, ok, tt.want)
		}
	}
	if got, ok := Refusals(labels, Rule{IncludeServers: []string{"erp"}})(&erp); ok {
		t.Errorf("got %+v of a tool that is let through", got)
	}
}

func TestCheck(t *testing.T) {
	errs, warnings := Rule{NamePatterns: []string{"^a", "(", strings.Repeat("x", 300)}, IntegrationType: "SOAP"}.Check()
	if len(errs) != 3 || !strings.HasPrefix(errs[0].Error(), "name_patterns[1]: ") || len(warnings) != 1 {
		t.Errorf("errors %v, warnings %v", errs, warnings)
	}
	if _, warnings := (Rule{IncludeTags: []string{"a"}, ExcludeTags: []string{"A"}}).Check(); len(warnings) != 1 {
		t.Errorf("warnings %v, want one of the contradiction", warnings)
	}
}

// Every operation of an index within a view gives what it gives of a catalog
// that the view's tools alone make up: rows and counts, never scores, whose
// statistics are the whole catalog's.
func TestViewIsACatalogOfItsOwn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		tools := randomTools(r)
		rule := randomRule(r)
		v := Of(func(t *index.Tool) Labels { return Labels{Tags: t.Tags, Category: t.Category} }, rule)
		var kept []index.Tool
		for _, x := range tools {
			if passes(rule, x) {
				kept = append(kept, x)
			}
		}
		whole, part := fill(t, tools), fill(t, kept)
		if got, want := rowsOf(whole, v.Scope), rowsOf(part, nil); !slices.Equal(got, want) {
			t.Fatalf("%+v over %d tools\n got %v\nwant %v", rule, len(tools), got, want)
		}
	}
}

// rowsOf is what operations tell of a catalog, but for scores.
func rowsOf(ix *index.Index, scope *index.Scope) []string {
	var out []string
	hits, total := ix.List(index.Listing{Filter: index.Filter{Scope: scope}})
	out = append(out, fmt.Sprint("total ", total))
	for _, h := range hits {
		out = append(out, h.Tool.QualifiedName())
	}
	_, tags, servers, _ := ix.Categories(index.Filter{Scope: scope})
	out = append(out, fmt.Sprint(tags, servers))
	for _, name := range []string{"read_a", "alpha/read_a", "beta__send_b", "gamma", "send"} {
		out = append(out, "name "+name)
		for _, h := range ix.Resolve(name, scope) {
			out = append(out, h.Tool.QualifiedName())
		}
		out = append(out, "near")
		for _, h := range ix.Suggest(name, scope, 3) {
			out = append(out, h.Tool.QualifiedName())
		}
	}
	return out
}

func randomTools(r *rand.Rand) []index.Tool {
	var out []index.Tool
	for _, server := range []string{"alpha", "beta", "gamma"} {
		for _, verb := range []string{"read", "send"} {
			for _, noun := range []string{"a", "b", "c"} {
				x := index.Tool{Server: server, Name: verb + "_" + noun, Description: verb + " the " + noun}
				x.Tags = pick(r, "red", "green", "blue")
				x.Teams = pick(r, "ops", "dev")
				x.Visibility = []string{"", "team", "internal"}[r.IntN(3)]
				x.Category = []string{"One", "Two"}[r.IntN(2)]
				if r.IntN(3) > 0 {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

func pick(r *rand.Rand, of ...string) []string {
	var out []string
	for _, v := range of {
		if r.IntN(3) == 0 {
			out = append(out, v)
		}
	}
	return out
}

func randomRule(r *rand.Rand) Rule {
	return Rule{
		IncludeTags: pick(r, "Red", "blue"), IncludeServers: pick(r, "alpha", "beta", "nobody"), IncludeCategories: pick(r, "one"),
		IncludeVisibility: pick(r, "public", "team"), IncludeTeams: pick(r, "ops"), NamePatterns: pick(r, "^read", "c$"),
		ExcludeTags: pick(r, "green"), ExcludeServers: pick(r, "gamma"), ExcludeNamePatterns: pick(r, "_a$"),
	}
}

// passes is the rule written anew from its description.
func passes(r Rule, x index.Tool) bool {
	any := func(in []string, values ...string) bool {
		for _, v := range values {
			for _, i := range in {
				if strings.EqualFold(i, v) {
					return true
				}
			}
		}
		return false
	}
	named := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return regexp.MustCompile(p).MatchString(x.Name) })
	}
	visibility := x.Visibility
	if visibility == "" {
		visibility = "public"
	}
	team := len(r.IncludeTeams) == 0 || any(r.IncludeTeams, x.Teams...) || len(x.Teams) == 0 && any(r.IncludeVisibility, visibility)
	return !any(r.ExcludeTags, x.Tags...) && !any(r.ExcludeServers, x.Server) && !named(r.ExcludeNamePatterns) && team &&
		(len(r.IncludeTags) == 0 || any(r.IncludeTags, x.Tags...)) && (len(r.IncludeServers) == 0 || any(r.IncludeServers, x.Server)) &&
		(len(r.IncludeCategories) == 0 || any(r.IncludeCategories, x.Category)) &&
		(len(r.IncludeVisibility) == 0 || any(r.IncludeVisibility, visibility)) && (len(r.NamePatterns) == 0 || named(r.NamePatterns))
}

func fill(t *testing.T, tools []index.Tool) *index.Index {
	t.Helper()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, server := range []string{"alpha", "beta", "gamma"} {
		var of []index.Tool
		for _, x := range tools {
			if x.Server == server {
				of = append(of, x)
			}
		}
		if _, err := ix.Replace(t.Context(), server, of); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}
