package eval_test

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/embed/static"
	"github.com/tooldex/tooldex/eval"
	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/index"
)

// set is two requests over three tools; [labels.Load] reads such sets from a
// folder.
func set() *labels.Set {
	return &labels.Set{
		Name: "mine",
		Tools: []index.Tool{
			{Server: "mail", Name: "send", Description: "Send an e-mail message to a person."},
			{Server: "money", Name: "convert", Description: "Convert an amount between currencies."},
			{Server: "disk", Name: "list_files", Description: "List the files in a folder."},
		},
		Queries: []labels.Query{
			{ID: "q1", Text: "which files are in this folder", Relevant: map[string]int{"disk/list_files": 1}},
			{ID: "q2", Text: "exchange euros for dollars", Relevant: map[string]int{"money/convert": 1}},
		},
	}
}

// Run measures a ranking on labelled sets.
func ExampleRun() {
	res, err := eval.Run(context.Background(), []*labels.Set{set()}, eval.Options{Mode: index.Keyword})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range res.Sets[0].PerQuery {
		fmt.Printf("%s: hit@1 %.0f\n", q.Text, q.Metrics["hit@1"])
	}
	fmt.Printf("recall@5 %.2f\n", res.Mean["recall@5"])
	// Output:
	// which files are in this folder: hit@1 1
	// exchange euros for dollars: hit@1 0
	// recall@5 0.50
}

// Compare tells two rankings apart query by query: here words alone, and words
// with the vectors of the model inside the binary. Two queries are too few for
// a significant difference.
func ExampleCompare() {
	model, err := static.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	measure := func(o eval.Options) []eval.QueryResult {
		res, err := eval.Run(context.Background(), []*labels.Set{set()}, o)
		if err != nil {
			fmt.Println(err)
			return nil
		}
		return res.Sets[0].PerQuery
	}
	c, err := eval.Compare(measure(eval.Options{Mode: index.Keyword}), measure(eval.Options{Embedder: model}),
		eval.CompareOptions{Metrics: []string{"recall@5"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range c.Tests {
		fmt.Printf("%s %s: %.2f, then %.2f: %s\n", t.Set, t.Metric, t.A, t.B, t.Verdict)
	}
	for _, m := range c.Moved {
		fmt.Printf("%q finds %s\n", m.Text, m.B[0])
	}
	// Output:
	// mine recall@5: 0.50, then 1.00: no significant difference
	// "exchange euros for dollars" finds money/convert
}

// LintTools looks for what makes tools hard to find.
func ExampleLintTools() {
	tools := append(set().Tools, index.Tool{Server: "post", Name: "send"})
	l, err := eval.LintTools(context.Background(), tools, eval.LintOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range l.Findings {
		fmt.Printf("%s %s: %s\n", f.Rule, f.Tool, f.Detail)
	}
	// Output:
	// empty disk/list_files: "List the files in a folder." adds 1 words to the name
	// empty post/send: it has no description
	// collision mail/send: 2 tools are called "send"
}
