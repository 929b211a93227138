package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/serve"
	"github.com/tooldex/tooldex/gateway/upstream"
	"github.com/tooldex/tooldex/index"
)

// A client of the official SDK connects over HTTP and sees the meta-tools of a
// surface, whatever stands behind them. ServeStdio serves the same over a pipe.
func Example() {
	ctx := context.Background()
	ix, err := index.Open("", index.Options{}) // in memory, words only
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	g := gateway.New(ix, nil, gateway.Options{}) // nil: tools are found, none is run
	_, err = g.Sync(ctx, "files", upstream.Listing{Tools: []json.RawMessage{
		json.RawMessage(`{"name":"read_file","description":"Read a text file.","inputSchema":{"type":"object"}}`),
	}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := serve.New(g, serve.Options{Surface: "discover"})
	if err != nil {
		log.Fatal(err)
	}
	h := serve.NewHost(serve.HostOptions{})
	h.Put(serve.Default, s)
	server := httptest.NewServer(h.Handler())
	defer server.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name)
	}
	// Output:
	// discover_tools
	// execute_tool
	// get_tool_schema
}

// Call answers in process, as a client would be answered.
func ExampleServer_Call() {
	ix, err := index.Open("", index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	s, err := serve.New(gateway.New(ix, nil, gateway.Options{}), serve.Options{})
	if err != nil {
		log.Fatal(err)
	}
	a := s.Call(context.Background(), "describe_tool", json.RawMessage(`{"tool_name":"files/read_file"}`))
	fmt.Println(a.IsError, string(a.JSON))
	// Output:
	// true {"error":"describe_tool: there is no tool \"files/read_file\"","hint":"find tools with search_tools"}
}
