package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// A gateway in process: what a server lists is stored, found by what it does,
// and hidden from those whose view leaves it out.
func Example() {
	ctx := context.Background()
	ix, err := index.Open("", index.Options{}) // in memory, words only
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	g := gateway.New(ix, nil, gateway.Options{})
	_, err = g.Sync(ctx, "files", upstream.Listing{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"read_file","description":"Read a text file.","inputSchema":{"type":"object"}}`),
		json.RawMessage(`{"name":"delete_file","description":"Delete a file.","inputSchema":{"type":"object"}}`),
	}})
	if err != nil {
		log.Fatal(err)
	}

	careful := view.View{Scope: index.NewScope(func(t *index.Tool) bool { return t.Name != "delete_file" })}
	found, err := g.Search(ctx, careful, gateway.SearchRequest{Text: "read what is in a file"})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range found.Tools {
		fmt.Println(t.Tool.QualifiedName())
	}

	_, err = g.Describe(ctx, careful, gateway.DescribeRequest{Name: "files/delete_file"})
	var failure *gateway.Error
	if errors.As(err, &failure) {
		fmt.Println(failure)
		fmt.Println(failure.Next.In(gateway.Vocabulary{Search: "Search"}))
	}
	// Output:
	// files/read_file
	// there is no tool "files/delete_file"
	// nearest names: files/read_file; or find tools with Search
}
