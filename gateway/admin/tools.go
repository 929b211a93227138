package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/surface"
	"github.com/tooldex/tooldex/gateway/surface/meta"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/gateway/words"
	"github.com/tooldex/tooldex/index"
)

// Shown is what an endpoint, or a scope, shows and hides: one page of both.
type Shown struct {
	Tools       []Tool   `json:"tools" jsonschema:"those that it shows, by name"`
	Total       int      `json:"total" jsonschema:"how many it shows, on all pages"`
	Hidden      []Hidden `json:"hidden,omitempty" jsonschema:"with hidden=true: those that it does not show, by name"`
	HiddenTotal int      `json:"hidden_total" jsonschema:"how many it does not show, on all pages"`
	Page        int      `json:"page"`
	PageSize    int      `json:"page_size"`
	Warnings    []string `json:"warnings,omitempty" jsonschema:"what of the scope is probably not meant"`
}

// A Tool is one that is shown.
type Tool struct {
	Name        string   `json:"qualified_name"`
	Description string   `json:"description"`
	Category    string   `json:"category,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Hidden is a tool that is not shown.
type Hidden struct {
	Name string `json:"qualified_name"`
	By   string `json:"taken_by" jsonschema:"the key that takes it away, such as scope.exclude_tags, or scope[1].name_patterns of the second rule of a list"`
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// shown is one page of what rules show and hide.
func (c *call) shown(rules []view.Rule, readOnly bool) Shown {
	q := c.r.URL.Query()
	out := Shown{Tools: []Tool{}, Page: number(q.Get("page"), 1), PageSize: number(q.Get("page_size"), defaultPage)}
	refusal := view.Refusals(c.o.Gateway.Labels, rules...)
	hits, _ := c.o.Index.List(index.Listing{})
	within := func(n int) bool { return (n-1)/out.PageSize == out.Page-1 }
	for _, hit := range hits {
		r, away := refusal(&hit.Tool)
		switch {
		case away:
			out.HiddenTotal++
			if q.Get("hidden") == "true" && within(out.HiddenTotal) {
				out.Hidden = append(out.Hidden, Hidden{hit.Tool.QualifiedName(), place(r, len(rules), readOnly)})
			}
		default:
			out.Total++
			if within(out.Total) {
				out.Tools = append(out.Tools, Tool{
					hit.Tool.QualifiedName(), words.Shorten(hit.Tool.Description, words.MaxDescription), hit.Category, hit.Tool.Tags,
				})
			}
		}
	}
	return out
}

// place is where in a definition of n rules, of which the last is that of
// readOnly, the one stands that refuses.
func place(r view.Refusal, n int, readOnly bool) string {
	if readOnly {
		n--
	}
	switch {
	case r.Rule >= n:
		return "readonly"
	case n > 1:
		return fmt.Sprintf("scope[%d].%s", r.Rule, r.Key)
	}
	return "scope." + r.Key
}

// number is a parameter that has been checked.
func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

func toolsOfServer(c *call) (*reply, error) {
	s, err := c.served()
	if err != nil {
		return nil, err
	}
	out := c.shown(s.rules, s.ReadOnly)
	out.Warnings = c.counted(s).Warnings
	return &reply{body: out}, nil
}

// previewName stands for the name of an endpoint that has none yet.
const previewName = "preview"

func previewScope(c *call) (*reply, error) {
	members, err := c.object()
	if err != nil {
		return nil, err
	}
	text, err := definition(members)
	if err != nil {
		return nil, err
	}
	e, err := c.o.Definer.Define(previewName, text)
	if err != nil {
		return nil, unusable("the preview", err)
	}
	out := c.shown(e.Rules, e.ReadOnly)
	out.Warnings = c.counted(c.server(e)).Warnings
	return &reply{body: out}, nil
}

// operator is what an administrator's searches and lists are like.
var operator = surface.Options{}.WithDefaults()

func listTools(c *call) (*reply, error) {
	q := c.r.URL.Query()
	arguments := map[string]any{}
	for _, key := range []string{"sort_by", "sort_order"} {
		if q.Has(key) {
			arguments[key] = q.Get(key)
		}
	}
	for _, key := range []string{"page", "page_size"} {
		if q.Has(key) {
			arguments[key] = number(q.Get(key), 0)
		}
	}
	arguments["include_schemas"] = q.Get("include_schemas") == "true"
	arguments["filters"] = map[string]any{"servers": q["server"], "tags": q["tag"], "categories": q["category"]}
	raw, err := rawjson.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	r, err := meta.ListRequest("tools", raw, operator)
	if err != nil {
		return nil, asked(err)
	}
	res, err := c.o.Gateway.List(c.r.Context(), view.View{}, r)
	if err != nil {
		return nil, asked(err)
	}
	return &reply{body: meta.Listed(res, r)}, nil
}

// Explained is what the score of one row is made of.
type Explained struct {
	Tool string `json:"tool"`
	index.Explanation
}

func search(c *call) (*reply, error) {
	members, err := c.object()
	if err != nil {
		return nil, err
	}
	through, wordsOnly, explain, err := c.searchOptions(members)
	if err != nil {
		return nil, err
	}
	raw, err := rawjson.Marshal(members)
	if err != nil {
		return nil, err
	}
	r, err := meta.SearchRequest("search", raw, operator)
	if err != nil {
		return nil, asked(err)
	}
	r.WordsOnly = wordsOnly
	res, err := c.o.Gateway.Search(c.r.Context(), through, r)
	if err != nil {
		return nil, asked(err)
	}
	found, err := rawjson.Marshal(meta.Found(res, r))
	if err != nil || !explain {
		return &reply{body: found}, err
	}
	explained, err := c.explained(through, r, res.Hits)
	if err != nil {
		return nil, err
	}
	list, err := rawjson.Marshal(explained)
	if err != nil {
		return nil, err
	}
	whole := append(found[:len(found)-1:len(found)-1], `,"explanations":`...)
	return &reply{body: json.RawMessage(append(append(whole, list...), '}'))}, nil
}

// searchOptions takes out of a search's body what search_tools does not have.
func (c *call) searchOptions(members map[string]json.RawMessage) (through view.View, wordsOnly string, explain bool, err error) {
	if raw, ok := members["explain"]; ok && json.Unmarshal(raw, &explain) != nil {
		return through, "", false, problem(http.StatusUnprocessableEntity, "give true or false", "search: explain: expected true or false, got %s", words.Value(raw))
	}
	if raw, ok := members["endpoint"]; ok {
		if json.Unmarshal(raw, &c.name) != nil {
			return through, "", false, problem(http.StatusUnprocessableEntity, "GET /servers lists their names", "search: endpoint: expected the name of a virtual server, got %s", words.Value(raw))
		}
		s, err := c.served()
		if err != nil {
			return through, "", false, err
		}
		through, wordsOnly = c.viewOf(s.rules), s.wordsOnly
	}
	delete(members, "explain")
	delete(members, "endpoint")
	return through, wordsOnly, explain, nil
}

func (c *call) explained(through view.View, r gateway.SearchRequest, hits []index.Hit) ([]Explained, error) {
	out := []Explained{}
	q := index.Query{Text: r.Text, Mode: r.Mode, Filter: through.Over(r.Filter), Limit: r.Limit, MinScore: r.MinScore, WordsOnly: r.WordsOnly}
	for _, hit := range hits {
		x, err := c.o.Index.Explain(c.r.Context(), q, hit.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, Explained{hit.Tool.QualifiedName(), x})
	}
	return out, nil
}
