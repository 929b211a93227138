package index

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// catalogOf makes n tools on servers of 100 each, like those of real servers:
// objects of 2.5 KB with some 65 distinct terms.
func catalogOf(n int) map[string][]Tool {
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 6000)
	for i := range words {
		b := make([]byte, 3+r.IntN(8))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	zipf := rand.NewZipf(r, 1.4, 10, uint64(len(words)-1))
	word := func() string { return words[zipf.Uint64()] }
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(word() + " ")
		}
		return b.String()
	}
	params := make([]string, 300)
	for i := range params {
		params[i] = words[i] + "_" + words[i*3]
	}
	tools := map[string][]Tool{}
	for i := range n {
		props := map[string]any{}
		for range 8 {
			name := params[r.IntN(len(params))]
			props[name] = map[string]any{
				"anyOf": []any{map[string]any{"type": "string", "maxLength": 10000}, map[string]any{"type": "null"}},
				"title": name, "default": nil, "x-order": 1, "description": text(60),
			}
		}
		raw, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("%s_%s_%d", word(), word(), i), "description": text(100 + r.IntN(200)),
			"inputSchema": map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": props},
			"annotations": map[string]any{"readOnlyHint": true, "openWorldHint": false},
		})
		if err != nil {
			panic(err)
		}
		server := fmt.Sprintf("server-%d", i/100)
		t, err := Decode(server, raw)
		if err != nil {
			panic(err)
		}
		tools[server] = append(tools[server], t)
	}
	return tools
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	ix := openDir(b, dir, Options{})
	if _, err := ix.ReplaceAll(b.Context(), catalogOf(10_000)); err != nil {
		b.Fatal(err)
	}
	closeIndex(b, ix)
	for b.Loop() {
		ix, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ix.Search(b.Context(), Query{Text: "anything at all", Mode: Keyword}); err != nil {
			b.Fatal(err)
		}
		closeIndex(b, ix)
	}
}

// BenchmarkReplace changes one tool of one server of a hundred.
func BenchmarkReplace(b *testing.B) {
	ix := openDir(b, b.TempDir(), Options{})
	tools := catalogOf(10_000)
	if _, err := ix.ReplaceAll(b.Context(), tools); err != nil {
		b.Fatal(err)
	}
	list := tools["server-7"]
	for i := 0; b.Loop(); i++ {
		list[3].Description = fmt.Sprint("changed for the time ", i)
		if _, err := ix.Replace(b.Context(), "server-7", list); err != nil {
			b.Fatal(err)
		}
	}
}
