package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/index"
)

func tool(t *testing.T, server, name, description, schema string) index.Tool {
	t.Helper()
	if schema == "" {
		schema = `{"type":"object"}`
	}
	raw := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, name, description, schema)
	out, err := index.Decode(server, json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// faulty is a catalog with one fault of each kind.
func faulty(t *testing.T) []index.Tool {
	big := `{"type":"object","properties":{"small":{"type":"string"},"huge":{"type":"string","description":"` + strings.Repeat("word ", 2000) + `"}}}`
	tools := []index.Tool{
		tool(t, "git", "open_branch", "Create a branch from a commit in a repository and push it to the remote.", ""),
		tool(t, "hub", "branch_create", "Create a branch from a commit in a repository and push it to the remote.", ""),
		tool(t, "git", "search", "Search commits by author, message or changed file.", ""),
		tool(t, "mail", "search", "Search letters by sender, subject or date.", ""),
		tool(t, "mail", "send_letter", "Send letter", ""),
		tool(t, "mail", "nothing", "", ""),
		tool(t, "calc", "plot", "Draw a curve of numbers as a picture.", big),
	}
	for _, at := range []string{"north", "south", "east", "west", "hill", "valley"} { // whose description cannot find each of them
		tools = append(tools, tool(t, "farm", "plough_"+at, "Plough the field before sowing wheat.", ""))
	}
	return tools
}

func TestLint(t *testing.T) {
	l, err := LintTools(t.Context(), faulty(t), LintOptions{Options: Options{Embedder: builtin(t)}})
	if err != nil {
		t.Fatal(err)
	}
	byRule := map[Rule][]string{}
	for _, f := range l.Findings {
		byRule[f.Rule] = append(byRule[f.Rule], f.Tool)
		if f.Detail == "" || f.Change == "" || f.Gain == "" {
			t.Errorf("%s %s: want what is wrong, what to change and what it gains, got %+v", f.Rule, f.Tool, f)
		}
	}
	for rule, want := range map[Rule][]string{
		Duplicate: {"git/open_branch"}, Collision: {"git/search"}, Oversize: {"calc/plot"},
		Empty: {"mail/nothing", "mail/send_letter"}, Odd: nil,
	} {
		if !slices.Equal(byRule[rule], want) || l.Counts[rule] != len(want) {
			t.Errorf("%s: got %v, want %v", rule, byRule[rule], want)
		}
	}
	if n := l.Counts[Unfindable]; n != 3 {
		t.Errorf("unfindable: got %v, want three of six equals beyond the third row", byRule[Unfindable])
	}
	if want := 9. / 12; l.Found != want || l.Tools != 13 || l.Servers != 5 {
		t.Errorf("got %.3f of %d tools of %d servers found, want %.3f", l.Found, l.Tools, l.Servers, want)
	}
}

func TestLintTriesItsAdviceOut(t *testing.T) {
	l, err := LintTools(t.Context(), faulty(t), LintOptions{Options: Options{Embedder: builtin(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range l.Findings {
		switch f.Rule {
		case Unfindable:
			if !strings.Contains(f.Gain, "tried: place 1 ") || !strings.Contains(f.Change, "farm: plough") {
				t.Errorf("%s: got change %q and gain %q, want that its name in front puts it first", f.Tool, f.Change, f.Gain)
			}
		case Oversize:
			if !strings.Contains(f.Change, `parameter "huge"`) {
				t.Errorf("%s: got %q, want the largest parameter named", f.Tool, f.Change)
			}
		case Duplicate:
			if !strings.HasPrefix(f.Gain, "1 of the first") {
				t.Errorf("%s: got gain %q, want the one copy counted", f.Tool, f.Gain)
			}
		}
	}
}

func TestReportHasItsPartsAndEscapes(t *testing.T) {
	sets := halves(t)
	sets[0].Queries[0].Text = `<script>alert("x")</script> open a file`
	sets[0].Queries[0].Relevant = map[string]int{sets[0].Tools[0].Key: 1}
	page, err := Report(t.Context(), sets, ReportOptions{Options: Options{Embedder: builtin(t)}, Sample: 20, Worst: 200})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{"fifteen.even", "keyword", "semantic", "hybrid", "Recall@k by mode", "Recall@k by set", "Reliability of the score",
		"Saying that nothing fits", "Recall@5 against catalog size", "Latency", "Worst queries", "prefers-color-scheme:dark", "&lt;script&gt;alert"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"<script", "http://", "https://", "NaN", "Inf", "url(", "@import", "src="} {
		if strings.Contains(html, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	if n := len(page.Charts); n != 5 {
		t.Errorf("got %d charts, want 5", n)
	}
}

func TestCatalogSizes(t *testing.T) {
	for _, c := range []struct {
		own, all, needed int
		want             []int
	}{
		{100, 100, 10, []int{25, 50, 100}},
		{100, 100, 60, []int{100}},
		{100, 1000, 30, []int{50, 100, 200, 400, 800, 1000}},
		{100, 200, 100, []int{100, 200}},
	} {
		if got := catalogSizes(c.own, c.all, c.needed); !slices.Equal(got, c.want) {
			t.Errorf("catalogSizes(%d, %d, %d) = %v, want %v", c.own, c.all, c.needed, got, c.want)
		}
	}
}

func TestWhy(t *testing.T) {
	e := func(keyword, cosine float64) *index.Explanation {
		return &index.Explanation{Keyword: keyword, Cosine: cosine, HasVector: true}
	}
	for _, c := range []struct {
		first, right *index.Explanation
		want         string
	}{
		{nil, nil, "Nothing was found"}, {e(1, 1), nil, "not in the catalog"},
		{e(.5, .1), e(0, .2), "shares no word with the request; the first row does"}, {e(0, .2), e(0, .1), "shares no word"},
		{e(.5, .1), e(.4, .2), "By meaning the right tool is nearer"}, {e(.4, .3), e(.5, .2), "By words the right tool is nearer"},
		{e(.3, .1), e(.4, .2), "server fits"}, {e(.5, .3), e(.4, .2), "Both words and meaning"},
	} {
		if got := why(c.first, c.right); !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
