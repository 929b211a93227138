package embed_test

import (
	"context"
	"fmt"

	"github.com/tooldex/tooldex/embed"
)

// The zero configuration is the model inside the binary: no server, no key,
// no download.
func ExampleNew() {
	e, err := embed.New(embed.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	texts := []string{"Send an e-mail message to a person", "Convert an amount between currencies", "List the files in a folder"}
	documents, err := e.EmbedDocuments(context.Background(), texts)
	if err != nil {
		fmt.Println(err)
		return
	}
	query, err := e.EmbedQuery(context.Background(), "how many euros are ten dollars")
	if err != nil {
		fmt.Println(err)
		return
	}
	nearest, best := "", 0.0
	for i, d := range documents {
		if c := cosine(query, d); c > best {
			nearest, best = texts[i], c
		}
	}
	fmt.Println(nearest)
	// Output: Convert an amount between currencies
}

// cosine is the product of two vectors of length 1, as the model inside the
// binary gives them.
func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// New makes no request, so that a server may be down and come later: until it
// was reached, the identity of its vectors is pending.
func ExampleNew_server() {
	e, err := embed.New(embed.Config{Provider: embed.Ollama, Model: "nomic-embed-text", URL: "http://127.0.0.1:11434"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.(*embed.Remote).Close()
	fmt.Println(e.Model())
	// Output: ollama/nomic-embed-text@pending
}

// Models that were trained with prefixes are known by name; Config's own
// settings come first.
func ExamplePrefixes() {
	p := embed.Prefixes("nomic-embed-text:v1.5")
	fmt.Printf("%q %q\n", p.Query, p.Document)
	// Output: "search_query: " "search_document: "
}
