package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tooldex/tooldex/index/bm25"
	"github.com/tooldex/tooldex/index/snapshot"
	"github.com/tooldex/tooldex/index/vector"
)

// A synthetic catalog has words by Zipf's law, descriptions of some 30 words
// with a long tail, a few parameters a tool, and 20 tools a server.
type synthetic struct {
	r     *rand.Rand
	words *rand.Zipf
}

func newSynthetic() *synthetic {
	r := rand.New(rand.NewPCG(1, 2))
	return &synthetic{r, rand.NewZipf(r, 1.1, 8, 20_000)}
}

func (s *synthetic) text(n int, sep string) string {
	words := make([]string, n)
	for i := range words {
		k := s.words.Uint64()
		words[i] = fmt.Sprint("w", strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(k*7919)))
	}
	return strings.Join(words, sep)
}

func (s *synthetic) tool(i int) Tool {
	n := 10 + int(s.r.ExpFloat64()*20)
	var params []string
	for range s.r.IntN(8) {
		params = append(params, s.text(1+s.r.IntN(2), "_"))
	}
	name := fmt.Sprint(s.text(1+s.r.IntN(3), "_"), i)
	t, err := Decode(fmt.Sprint("server", i/20), rawTool(name, s.text(n, " "), params...))
	if err != nil {
		panic(err)
	}
	return t
}

// fixed gives the same vector for every query.
type fixed struct {
	wordEmbedder
	vec []float32
}

func (f fixed) Model() string { return "fixed" }

func (f fixed) EmbedQuery(context.Context, string) ([]float32, error) { return f.vec, nil }

const benchDims = 256

var catalogs sync.Map // of sync.OnceValue, by size: catalogs are slow to make

// benchIndex holds n synthetic tools, with vectors near those of their server.
func benchIndex(b *testing.B, n int) *Index {
	b.Helper()
	made, _ := catalogs.LoadOrStore(n, sync.OnceValue(func() *Index { return makeBenchIndex(b, n) }))
	return made.(func() *Index)()
}

func makeBenchIndex(b *testing.B, n int) *Index {
	ix, err := Open("", Options{Offline: true}) // shared between benchmarks, closed by none
	if err != nil {
		b.Fatal(err)
	}
	gen := newSynthetic()
	var docs []*snapshot.Document
	var lexicon bm25.Lexicon
	for i := range n {
		docs = append(docs, snapshot.NewDocument(gen.tool(i), [16]byte{}, &lexicon))
	}
	s := snapshot.New(snapshot.Corpus{Docs: docs, Lexicon: lexicon.View(), Params: DefaultParams()})
	rows := vector.NewCodes(n, benchDims)
	var query []float32
	servers := map[string]uint64{}
	for i, d := range s.Docs() {
		number, ok := servers[d.Tool.Server]
		if !ok {
			number = uint64(len(servers))
			servers[d.Tool.Server] = number
		}
		server := rand.New(rand.NewPCG(number, 1))
		v := make([]float32, benchDims)
		for j := range v {
			v[j] = float32(server.NormFloat64() + gen.r.NormFloat64())
		}
		u, _ := vector.Unit(v)
		rows.Set(i, vector.Encode(u))
		if i == n/2 {
			query = u
		}
	}
	e := fixed{wordEmbedder{benchDims}, query}
	ix.current.Store(s.WithSpaces("", snapshot.NewSpace(s, "fixed", e, rows, rows)))
	return ix
}

var benchSizes = []int{1_000, 10_000, 100_000}

func BenchmarkSearch(b *testing.B) {
	for _, n := range benchSizes {
		gen := newSynthetic()
		var queries []string
		for range 100 {
			queries = append(queries, gen.text(6, " "))
		}
		for _, c := range []struct {
			name string
			q    Query
		}{
			{"keyword", Query{Mode: Keyword}},
			{"semantic", Query{Mode: Semantic}},
			{"hybrid", Query{Mode: Hybrid}},
			{"hybrid/scope", Query{Filter: Filter{Scope: NewScope(func(t *Tool) bool { return len(t.Name)%10 > 0 })}}},
			{"hybrid/server", Query{Filter: Filter{Servers: []string{"server7", "server8"}}}},
			{"hybrid/name_pattern", Query{Filter: Filter{NamePattern: regexp.MustCompile("w.*b1")}}},
			{"hybrid/name_pattern_alternation", Query{Filter: Filter{NamePattern: regexp.MustCompile("^(wb|wcd)|(?i:E_W)[f-h]|77$")}}},
			{"hybrid/name_pattern_no_literal", Query{Filter: Filter{NamePattern: regexp.MustCompile(`^[a-e]*w[a-z]{3,6}_\w+\d{2,4}$`)}}},
			{"hybrid/description_contains", Query{Filter: Filter{DescriptionContains: "WBCF"}}},
			{"hybrid/description_contains_often", Query{Filter: Filter{DescriptionContains: "WH"}}},
			{"hybrid/description_contains_never", Query{Filter: Filter{DescriptionContains: "wbcfzz unheard-of"}}},
		} {
			b.Run(fmt.Sprintf("%s/tools=%d", c.name, n), func(b *testing.B) {
				ix := benchIndex(b, n)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.q.Text = queries[i%len(queries)]
					res, err := ix.Search(b.Context(), c.q)
					if err != nil || res.Degraded {
						b.Fatal(err, res.Reason)
					}
				}
			})
		}
	}
}

func BenchmarkSimilar(b *testing.B) {
	ix := benchIndex(b, 10_000)
	docs := ix.snapshot().Docs()
	for i := 0; b.Loop(); i++ {
		if _, err := ix.Similar(b.Context(), docs[i*37%len(docs)].ID, Filter{}, 5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot measures what a changed server costs beside its own
// tools' analysis: the swap.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint("tools=", n), func(b *testing.B) {
			gen := newSynthetic()
			var lexicon bm25.Lexicon
			shuffled := make([]*snapshot.Document, n)
			for i := range shuffled {
				shuffled[i] = snapshot.NewDocument(gen.tool(i), [16]byte{}, &lexicon)
			}
			rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for b.Loop() {
				docs := slices.Clone(shuffled)
				snapshot.New(snapshot.Corpus{Docs: docs, Lexicon: lexicon.View(), Params: DefaultParams()})
			}
		})
	}
}

func BenchmarkAnalyseTool(b *testing.B) {
	gen := newSynthetic()
	var tools []Tool
	for i := range 1000 {
		tools = append(tools, gen.tool(i))
	}
	var lex bm25.Lexicon
	for i := 0; b.Loop(); i++ {
		snapshot.NewDocument(tools[i%len(tools)], [16]byte{}, &lex)
	}
}
