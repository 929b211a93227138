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

// hello is where tools run; package upstream/mcp has what MCP servers need.
type hello struct{}

func (hello) Call(context.Context, upstream.Request) (upstream.Result, error) {
	return upstream.Result{Raw: json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`), Sent: true}, nil
}

// Arguments are checked against the tool's own schema before anything is sent,
// and a refusal says what would be right.
func ExampleGateway_Execute() {
	ctx := context.Background()
	ix, err := index.Open("", index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	g := gateway.New(ix, hello{}, gateway.Options{})
	_, err = g.Sync(ctx, "files", upstream.Listing{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false,"required":["path"]}}`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, arguments := range []string{`{"paht":"notes.txt"}`, `{"path":"notes.txt"}`} {
		ran, err := g.Execute(ctx, view.View{}, gateway.ExecuteRequest{Name: "files/read", Arguments: json.RawMessage(arguments)})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s\n", ran.Result.Content[0].Raw)
		ran.Release()
	}
	// Output:
	// files/read: arguments: "path" missing; arguments: unknown "paht"; did you mean "path"?
	// {"type":"text","text":"hello"}
}
