package index_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/tooldex/tooldex/index"
)

// An index in memory that finds tools by their words.
func Example() {
	ctx := context.Background()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()

	var tools []index.Tool
	for _, raw := range []string{
		`{"name":"read_file","description":"Read a text file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`,
		`{"name":"send_mail","description":"Send an email message","inputSchema":{"type":"object"}}`,
	} {
		t, err := index.Decode("desk", json.RawMessage(raw))
		if err != nil {
			log.Fatal(err)
		}
		tools = append(tools, t)
	}
	if _, err := ix.Replace(ctx, "desk", tools); err != nil {
		log.Fatal(err)
	}
	found, err := ix.Search(ctx, index.Query{Text: "write an email to somebody", Mode: index.Keyword, Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Tool.QualifiedName(), hit.Category)
	}
	// Output: desk/send_mail Communication
}

// desk is an index in memory of one server with three tools.
func desk(ctx context.Context) (*index.Index, error) {
	ix, err := index.Open("", index.Options{})
	if err != nil {
		return nil, err
	}
	_, err = ix.Replace(ctx, "desk", []index.Tool{
		{Server: "desk", Name: "read_file", Description: "Read a text file.", Tags: []string{"safe"}},
		{Server: "desk", Name: "write_file", Description: "Write a text file."},
		{Server: "desk", Name: "send_mail", Description: "Send an e-mail message.", Tags: []string{"safe"}},
	})
	return ix, err
}

// A filter applies before ranking: a limit never hides what it allows.
func ExampleIndex_Search_filter() {
	ctx := context.Background()
	ix, err := desk(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	found, err := ix.Search(ctx, index.Query{Text: "text of a file", Mode: index.Keyword, Filter: index.Filter{Tags: []string{"safe"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Tool.QualifiedName())
	}
	// Output: desk/read_file
}

// What people say when they need a tool finds it, whatever its own text is.
func ExampleTool_phrases() {
	ctx := context.Background()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	tools := []index.Tool{{Name: "merge_request", Description: "Create a merge request.", Phrases: []string{"open a PR"}}}
	if _, err := ix.Replace(ctx, "forge", tools); err != nil {
		log.Fatal(err)
	}
	found, err := ix.Search(ctx, index.Query{Text: "please open a PR for me", Mode: index.Keyword})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Tool.QualifiedName())
	}
	// Output: forge/merge_request
}
