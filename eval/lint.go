package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/neardup"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/analysis"
)

// LintOptions say what Lint minds. The zero value is ready to use.
type LintOptions struct {
	Options
	First    int // rows within which a tool must find itself; 0 means 3
	MaxBytes int // of a tool object; 0 means 8,000, some 2,000 tokens
	MinWords int // that a description must add to the name; 0 means 2
}

func (o LintOptions) withDefaults() LintOptions {
	o.Options = o.Options.withDefaults()
	o.First, o.MaxBytes, o.MinWords = cmp.Or(o.First, 3), cmp.Or(o.MaxBytes, 8000), cmp.Or(o.MinWords, 2)
	o.Limit = max(o.Limit, 2*o.First)
	return o
}

// A Rule is what Lint looks for.
type Rule string

// The rules of Lint.
const (
	Unfindable Rule = "unfindable" // its own description does not find it
	Duplicate  Rule = "duplicate"  // says nearly the same as a tool of another server
	Collision  Rule = "collision"  // shares its name with a tool of another server
	Empty      Rule = "empty"      // its description says nothing that its name does not
	Oversize   Rule = "oversize"   // its object is too large
	Odd        Rule = "odd"        // reading it gave warnings
)

// Rules lists the rules in the order to report them.
var Rules = []Rule{Unfindable, Empty, Duplicate, Collision, Oversize, Odd}

// A Finding is one thing to change in a catalog.
type Finding struct {
	Rule   Rule     `json:"rule"`
	Tool   string   `json:"tool"` // qualified name
	Detail string   `json:"detail"`
	Change string   `json:"change"`           // what to do
	Gain   string   `json:"gain"`             // what that is worth, measured where it can be
	Others []string `json:"others,omitempty"` // tools that it is about as well
}

// A Lint is what is wrong with a catalog.
type Lint struct {
	Tools    int          `json:"tools"`
	Servers  int          `json:"servers"`
	Found    float64      `json:"found"` // share of tools with a description that it finds within the first rows
	Findings []Finding    `json:"findings"`
	Counts   map[Rule]int `json:"counts"`
}

// LintTools looks for what makes tools hard to find, and measures what
// changing it would gain by changing it in a copy of the catalog.
func LintTools(ctx context.Context, tools []index.Tool, o LintOptions) (*Lint, error) {
	o = o.withDefaults()
	l := &linter{o: o, tools: tools, words: words(tools), rank: make([]int, len(tools)), rows: make([][]string, len(tools))}
	if err := l.rankAll(ctx); err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	out := &Lint{Tools: len(tools), Servers: l.servers(), Counts: map[Rule]int{}, Findings: []Finding{}}
	out.Found = l.foundShare()
	for _, rule := range []func() []Finding{l.empty, l.duplicates, l.collisions, l.oversize, l.odd} {
		out.Findings = append(out.Findings, rule()...)
	}
	lost, err := l.unfindable(ctx)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	out.Findings = append(out.Findings, lost...)
	for _, r := range Rules {
		out.Counts[r] = 0
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(Rules, a.Rule), slices.Index(Rules, b.Rule)), cmp.Compare(a.Tool, b.Tool))
	})
	for _, f := range out.Findings {
		out.Counts[f.Rule]++
	}
	return out, nil
}

type linter struct {
	o     LintOptions
	tools []index.Tool
	words [][]string // terms of name and description, by tool
	rank  []int      // of the tool for its own description, 0 beyond the limit or without one
	rows  [][]string // qualified names that its description finds
}

func (l *linter) servers() int {
	seen := map[string]bool{}
	for _, t := range l.tools {
		seen[t.Server] = true
	}
	return len(seen)
}

// rankAll asks every tool's description for its tool.
func (l *linter) rankAll(ctx context.Context) error {
	ix, err := Open(ctx, l.tools, l.o.Options)
	if err != nil {
		return err
	}
	defer ix.Close()
	return each(ctx, len(l.tools), func(ctx context.Context, i int) (err error) {
		l.rank[i], l.rows[i], err = l.ask(ctx, ix, l.tools[i].Description, l.tools[i])
		return err
	}, func(done int) { l.o.Progress("descriptions", done, len(l.tools)) })
}

// ask returns a tool's rank for a request, and the rows there are.
func (l *linter) ask(ctx context.Context, ix searcher, text string, t index.Tool) (rank int, rows []string, err error) {
	if strings.TrimSpace(text) == "" {
		return 0, nil, nil
	}
	res, err := ix.Search(ctx, index.Query{Text: text, Mode: l.o.Mode, Limit: l.o.Limit})
	if err != nil {
		return 0, nil, fmt.Errorf("tool %s: %w", t.QualifiedName(), err)
	}
	for i, h := range res.Hits {
		if labels.Key(h.Tool) == labels.Key(t) {
			rank = i + 1
		}
		rows = append(rows, h.Tool.QualifiedName())
	}
	return rank, rows, nil
}

func (l *linter) foundShare() float64 {
	found, asked := 0, 0
	for i, t := range l.tools {
		if strings.TrimSpace(t.Description) == "" {
			continue
		}
		asked++
		if l.near(l.rank[i]) {
			found++
		}
	}
	return float64(found) / float64(max(1, asked))
}

// A rewrite is a change of a description that Lint tries out.
type rewrite struct {
	change string // completed by the new beginning
	apply  func(index.Tool) string
}

// keepBytes is what a shortened description keeps: the first sentences of
// most, without the examples and warnings behind them.
const keepBytes = 200

var rewrites = []rewrite{
	{"say in the first sentence what only this tool does, and for which product, for example %q", leading},
	{"say first what only this tool does, as in %q, and move examples and other tools' names out of the description",
		func(t index.Tool) string { return analysis.Bound(leading(t), keepBytes) }},
}

// leading begins a description with what sets a tool apart from tools of
// other servers and from its siblings.
func leading(t index.Tool) string { return lead(t) + ". " + t.Description }

func lead(t index.Tool) string {
	name := t.Title
	if name == "" {
		name = strings.Join(strings.FieldsFunc(t.Name, func(r rune) bool { return strings.ContainsRune("_-./", r) }), " ")
	}
	if t.Server != "" {
		return t.Server + ": " + name
	}
	return name
}

// unfindable changes the descriptions that do not find their tools, in a copy
// of the catalog, and asks again.
func (l *linter) unfindable(ctx context.Context) ([]Finding, error) {
	var lost []int
	for i, t := range l.tools {
		if strings.TrimSpace(t.Description) != "" && !l.near(l.rank[i]) {
			lost = append(lost, i)
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	after := make([][]int, len(rewrites))
	for n, r := range rewrites {
		var err error
		if after[n], err = l.tryOut(ctx, lost, r); err != nil {
			return nil, err
		}
	}
	out := make([]Finding, len(lost))
	for n, i := range lost {
		out[n] = l.lost(i, func(r int) int { return after[r][n] })
	}
	return out, nil
}

func (l *linter) near(rank int) bool { return rank > 0 && rank <= l.o.First }

// tryOut returns the ranks that lost tools reach with rewritten descriptions.
func (l *linter) tryOut(ctx context.Context, lost []int, r rewrite) ([]int, error) {
	changed := append([]index.Tool(nil), l.tools...)
	for _, i := range lost {
		changed[i].Description = r.apply(l.tools[i])
	}
	ix, err := Open(ctx, changed, l.o.Options)
	if err != nil {
		return nil, err
	}
	defer ix.Close()
	ranks := make([]int, len(lost))
	err = each(ctx, len(lost), func(ctx context.Context, n int) (err error) {
		t := changed[lost[n]]
		ranks[n], _, err = l.ask(ctx, ix, t.Description, t)
		return err
	}, func(done int) { l.o.Progress("rewritten descriptions", done, len(lost)) })
	return ranks, err
}

// lost describes a tool that its description does not find; after gives its
// rank after each rewrite.
func (l *linter) lost(i int, after func(rewrite int) int) Finding {
	t := l.tools[i]
	f := Finding{Rule: Unfindable, Tool: t.QualifiedName(), Others: head(l.rows[i], l.o.First)}
	f.Detail = fmt.Sprintf("its own description finds it at %s, behind %s", l.place(l.rank[i]), strings.Join(f.Others, ", "))
	if twins := l.sameText(i); len(twins) > 0 {
		f.Detail += "; the description is word for word that of " + strings.Join(head(twins, 3), ", ")
	}
	for r, w := range rewrites {
		if l.near(after(r)) {
			f.Change = fmt.Sprintf(w.change, lead(t))
			f.Gain = fmt.Sprintf("tried: %s instead of %s", l.place(after(r)), l.place(l.rank[i]))
			return f
		}
	}
	f.Change = "hide or merge it or one of those above it, or write what sets it apart"
	f.Gain = fmt.Sprintf("tried: naming server and tool in front leaves it at %s; those above say the same", l.place(after(0)))
	return f
}

func (l *linter) place(rank int) string {
	if rank == 0 {
		return fmt.Sprintf("no place within the first %d", l.o.Limit)
	}
	return fmt.Sprintf("place %d", rank)
}

func (l *linter) sameText(i int) []string {
	var out []string
	for j, t := range l.tools {
		if j != i && t.Description == l.tools[i].Description {
			out = append(out, t.QualifiedName())
		}
	}
	return out
}

// empty finds descriptions that add too few words to the name.
func (l *linter) empty() []Finding {
	var out []Finding
	var an analysis.Analyzer
	for i, t := range l.tools {
		added := map[string]bool{}
		for _, w := range l.words[i] {
			added[w] = true
		}
		for _, tok := range an.Tokens(t.Name) {
			delete(added, tok.Text)
		}
		if len(added) >= l.o.MinWords {
			continue
		}
		f := Finding{Rule: Empty, Tool: t.QualifiedName(),
			Change: "write one sentence: what it does, to what, and when to use it rather than its siblings"}
		if strings.TrimSpace(t.Description) == "" {
			f.Detail, f.Gain = "it has no description", "until then only its name and parameters can find it"
		} else {
			f.Detail = fmt.Sprintf("%q adds %d words to the name", t.Description, len(added))
			f.Gain = fmt.Sprintf("its own description finds it at %s; requests in other words cannot", l.place(l.rank[i]))
		}
		out = append(out, f)
	}
	return out
}

// duplicates groups tools of different servers that say nearly the same.
func (l *linter) duplicates() []Finding {
	others := map[int][]int{}
	for _, p := range neardup.Pairs(l.words, nearDuplicate) {
		if l.tools[p.A].Server != l.tools[p.B].Server {
			others[p.A] = append(others[p.A], p.B)
			others[p.B] = append(others[p.B], p.A)
		}
	}
	var out []Finding
	done := map[int]bool{}
	for i := range l.tools {
		if done[i] || len(others[i]) == 0 {
			continue
		}
		f := Finding{Rule: Duplicate, Tool: l.tools[i].QualifiedName()}
		freed := 0
		for _, j := range others[i] {
			done[j] = true
			name := l.tools[j].QualifiedName()
			f.Others = append(f.Others, name)
			if slices.Contains(l.rows[i], name) {
				freed++
			}
		}
		f.Detail = fmt.Sprintf("says nearly the same as %s", strings.Join(head(f.Others, 5), ", "))
		f.Change = "hide all but one of them, or say in each description what sets it apart"
		f.Gain = fmt.Sprintf("%d of the first %d rows that its description finds are copies", freed, len(l.rows[i]))
		out = append(out, f)
	}
	return out
}

// collisions groups tools of one name.
func (l *linter) collisions() []Finding {
	byName := map[string][]string{}
	for _, t := range l.tools {
		byName[t.Name] = append(byName[t.Name], t.QualifiedName())
	}
	var out []Finding
	for _, t := range l.tools {
		same := byName[t.Name]
		if len(same) < 2 || same[0] != t.QualifiedName() {
			continue
		}
		byName[t.Name] = nil
		out = append(out, Finding{Rule: Collision, Tool: same[0], Others: same[1:],
			Detail: fmt.Sprintf("%d tools are called %q", len(same), t.Name),
			Change: fmt.Sprintf("name what it works on, for example %q", strings.Trim(strings.ToLower(t.Server)+"_"+t.Name, "_")),
			Gain:   fmt.Sprintf("the bare name is refused as ambiguous; a name of its own is resolved, 1 candidate instead of %d", len(same))})
	}
	return out
}
