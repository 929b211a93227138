package index

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/index/pack"
)

// catalogOf makes n tools on servers of 100 each, like those of real servers:
// objects of 2.5 KB with some 65 distinct terms.
func catalogOf(n int) map[string][]Tool { return wordyCatalog(n, 60) }

// wordyCatalog is catalogOf with texts of that many bytes to a parameter.
func wordyCatalog(n, wordy int) map[string][]Tool {
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
				"title": name, "default": nil, "x-order": 1, "description": text(wordy),
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
	benchmarkOpen(b, Options{}, catalogOf(10_000))
}

// BenchmarkOpenVectors opens a catalog of some 90 distinct terms a tool with
// the vectors of its tools.
func BenchmarkOpenVectors(b *testing.B) {
	benchmarkOpen(b, Options{Embedder: hashEmbedder{}}, wordyCatalog(10_000, 85))
}

// BenchmarkOpenPhrases is BenchmarkOpenVectors with five phrases to each tool.
func BenchmarkOpenPhrases(b *testing.B) {
	benchmarkOpen(b, Options{Embedder: hashEmbedder{}, Pack: &knowing{}}, wordyCatalog(10_000, 85))
}

// BenchmarkOpenPack opens a catalog of which the pack knows nothing.
func BenchmarkOpenPack(b *testing.B) {
	benchmarkOpen(b, Options{Pack: pack.Builtin()}, catalogOf(10_000))
}

func benchmarkOpen(b *testing.B, o Options, tools map[string][]Tool) {
	dir := b.TempDir()
	ix := openDir(b, dir, o)
	if _, err := ix.ReplaceAll(b.Context(), tools); err != nil {
		b.Fatal(err)
	}
	if err := ix.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	closeIndex(b, ix)
	tools, ix = nil, nil
	for b.Loop() {
		ix, err := Open(dir, o)
		if err != nil {
			b.Fatal(err)
		}
		res, err := ix.Search(b.Context(), Query{Text: "anything at all"})
		if err != nil || o.Embedder != nil && res.Degraded {
			b.Fatal(err, res.Reason)
		}
		b.StopTimer()
		closeIndex(b, ix)
		b.StartTimer()
	}
}

// A hashEmbedder gives vectors that look random, at next to no cost.
type hashEmbedder struct{}

func (hashEmbedder) Model() string { return "hash" }

func (hashEmbedder) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	r := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(text))), 1))
	v := make([]float32, benchDims)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v, nil
}

func (e hashEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i], _ = e.EmbedQuery(ctx, t)
	}
	return out, nil
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
