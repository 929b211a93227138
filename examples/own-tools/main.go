// Command own-tools indexes the tools of a program of your own and finds those
// that serve a need: a search engine for tools as a library, without servers,
// network or files.
//
//	go run ./examples/own-tools "how warm is it outside"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/tooldex/tooldex/embed"
	"github.com/tooldex/tooldex/index"
)

// tools are objects as MCP's tools/list has them; whatever calls them is the
// program's own business.
var tools = []string{
	`{"name":"get_forecast","description":"Weather of the next days at a place",
	  "inputSchema":{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place"]}}`,
	`{"name":"get_conditions","description":"Current temperature, wind and humidity at a place",
	  "inputSchema":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}}`,
	`{"name":"book_room","description":"Reserve a meeting room for a time",
	  "inputSchema":{"type":"object","properties":{"room":{"type":"string"},"from":{"type":"string"},"to":{"type":"string"}}}}`,
	`{"name":"send_invoice","description":"Send a customer an invoice as PDF",
	  "inputSchema":{"type":"object","properties":{"customer":{"type":"string"},"amount":{"type":"number"}}}}`,
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Stdout, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

// run prints the three tools that serve the need best.
func run(ctx context.Context, w io.Writer, need string) error {
	model, err := embed.New(embed.Config{}) // the one inside the binary
	if err != nil {
		return err
	}
	ix, err := index.Open("", index.Options{Embedder: model}) // a folder in place of "" keeps it
	if err != nil {
		return err
	}
	defer ix.Close()
	var decoded []index.Tool
	for _, raw := range tools {
		t, err := index.Decode("office", json.RawMessage(raw))
		if err != nil {
			return err
		}
		decoded = append(decoded, t)
	}
	// Replace is how a catalog changes, too: what is equal costs nothing.
	if _, err := ix.Replace(ctx, "office", decoded); err != nil {
		return err
	}
	if err := ix.Wait(ctx); err != nil { // vectors are made in the background
		return err
	}
	found, err := ix.Search(ctx, index.Query{Text: need, Limit: 3})
	if err != nil {
		return err
	}
	for _, hit := range found.Hits {
		fmt.Fprintf(w, "%.2f  %s: %s\n", hit.Score, hit.Tool.Name, hit.Tool.Description)
	}
	return nil
}
