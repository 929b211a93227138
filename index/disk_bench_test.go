package index

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// catalogOf makes n tools on servers of 100 each, with schemas of about size
// bytes.
func catalogOf(n, size int) map[string][]Tool {
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 4000)
	for i := range words {
		b := make([]byte, 3+r.IntN(8))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	word := func() string { return words[int(float64(len(words))*r.Float64()*r.Float64())] }
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(word() + " ")
		}
		return b.String()
	}
	tools := map[string][]Tool{}
	for i := range n {
		props := map[string]any{}
		for k := 0; k*150 < size; k++ {
			props[word()+"_"+word()] = map[string]any{"type": "string", "description": text(80)}
		}
		raw, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("%s_%s_%d", word(), word(), i), "description": text(100 + r.IntN(200)),
			"inputSchema": map[string]any{"type": "object", "properties": props},
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
	if _, err := ix.ReplaceAll(b.Context(), catalogOf(10_000, 2200)); err != nil {
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
	tools := catalogOf(10_000, 2200)
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
