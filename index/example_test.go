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
