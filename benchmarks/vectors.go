package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/tooldex/tooldex/benchmarks/rivals"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/hnsw"
	"github.com/tooldex/tooldex/index/rank"
	"github.com/tooldex/tooldex/index/vector"
)

// data is the catalog as vector and text engines see it, in order of key.
type data struct {
	n       int
	keys    []uint64
	docs    []rivals.Doc // by row
	rows    *vector.Codes
	queries []rivals.Query
	exact   []answer // the best rows for each query by cosine
	keyword []answer // by our BM25F
}

// data embeds the catalog by names, servers and descriptions.
func (b *bench) data(ctx context.Context, c *corpus) (*data, error) {
	b.step("%d tools: embedding", c.n)
	var tools []index.Tool
	for _, s := range c.servers {
		tools = append(tools, s.tools...)
	}
	slices.SortFunc(tools, func(a, b index.Tool) int { return strings.Compare(a.ID(), b.ID()) })
	d := &data{n: c.n, rows: vector.NewCodes(c.n, b.model.Dims())}
	for i, t := range tools {
		v, err := b.model.EmbedFields(ctx, []map[string]string{{"name": t.Name, "server": t.Server, "desc": t.Description}})
		if err != nil {
			return nil, err
		}
		var key uint64
		if _, err := fmt.Sscanf(t.ID(), "%x", &key); err != nil {
			return nil, err
		}
		d.keys = append(d.keys, key)
		d.rows.Set(i, vector.Encode(v[0]))
		text := strings.Join([]string{t.Server, t.Name, t.Description, string(t.Raw)}, " ")
		d.docs = append(d.docs, rivals.Doc{ID: t.ID(), Text: text, Vector: v[0]})
	}
	for _, q := range c.queries {
		v, err := b.model.EmbedQuery(ctx, q)
		if err != nil {
			return nil, err
		}
		d.queries = append(d.queries, rivals.Query{Text: q, Vector: v})
	}
	return d, nil
}

// answerOf names the documents of hits; the least of their cosines is by
// vectors that are not coded, as an exact answer's is.
func (d *data) answerOf(query []float32, hits []rank.Hit) answer {
	a := answer{floor: math.Inf(1)}
	for _, h := range hits {
		doc := d.docs[h.Doc]
		a.ids = append(a.ids, doc.ID)
		a.floor = min(a.floor, cosine(query, doc.Vector))
	}
	return a
}

func cosine(a, b []float32) float64 {
	sum := float32(0)
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}

// A searcher finds the documents nearest to a query.
type searcher interface {
	Near(q *vector.Query, allowed *bitset.BitSet, k int) []rank.Hit
}

// vectors measures our two searchers alone: what the choice between them, and
// the threshold, rest on.
func (b *bench) vectors(ctx context.Context, d *data) error {
	b.step("%d tools: scanning", d.n)
	for _, q := range d.queries {
		d.exact = append(d.exact, d.nearest(q.Vector))
	}
	b.searcher("vector/scan", d, d.rows)

	b.step("%d tools: building the graph", d.n)
	var x *hnsw.Index
	took, err := timed(func() error {
		g, err := hnsw.Build(ctx, d.keys, d.rows, hnsw.BuildOptions{})
		if err != nil {
			return err
		}
		x, err = g.Bind(d.keys, d.rows, hnsw.IndexOptions{})
		return err
	})
	if err != nil {
		return err
	}
	b.add(row{Name: "vector/graph/build", System: "tooldex", N: d.n, P50: micros(took), P99: micros(took),
		Note: fmt.Sprintf("beam %d", x.Graph().EF())})
	b.searcher("vector/graph", d, x)
	b.filtered(d, x)
	return nil
}

// nearest is the exact answer, by vectors that are not coded.
func (d *data) nearest(query []float32) answer {
	var top rank.Top
	top.Reset(topK)
	for i, doc := range d.docs {
		top.Offer(rank.Hit{Doc: uint32(i), Score: cosine(query, doc.Vector)})
	}
	return d.answerOf(query, top.Hits)
}

// ask is one search, from the query's vector on.
func ask(s searcher, query []float32, allowed *bitset.BitSet) []rank.Hit {
	var q vector.Query
	q.Set(vector.Encode(query))
	return s.Near(&q, allowed, topK)
}

func (b *bench) searcher(name string, d *data, s searcher) {
	var times timings
	var got []answer
	for i, q := range d.queries {
		var hits []rank.Hit
		took, _ := timed(func() error { hits = ask(s, q.Vector, nil); return nil })
		got = append(got, d.answerOf(q.Vector, hits))
		if i >= warmUp {
			times = append(times, took)
		}
	}
	r := row{Name: name, System: "tooldex", N: d.n, Recall: recallOf(d.exact, got)}
	times.fill(&r)
	b.add(r)
}

// filtered measures walks with a tenth and a hundredth allowed.
func (b *bench) filtered(d *data, x *hnsw.Index) {
	for _, every := range []uint{10, 100} {
		allowed := bitset.New(uint(d.n))
		for i := uint(0); i < uint(d.n); i += every {
			allowed.Set(i)
		}
		var exact, walked []answer
		var times timings
		for i, q := range d.queries {
			exact = append(exact, d.answerOf(q.Vector, ask(d.rows, q.Vector, allowed)))
			took, _ := timed(func() error {
				walked = append(walked, d.answerOf(q.Vector, ask(x, q.Vector, allowed)))
				return nil
			})
			if i >= warmUp {
				times = append(times, took)
			}
		}
		r := row{Name: fmt.Sprintf("vector/graph/%d%%", 100/every), System: "tooldex", N: d.n, Recall: recallOf(exact, walked)}
		if !x.Walks(int(allowed.Count())) {
			r.Note = "scans"
		}
		times.fill(&r)
		b.add(r)
	}
}

// rivals measures the others, each alone in memory.
func (b *bench) rivals(ctx context.Context, d *data) error {
	for _, e := range rivals.All() {
		if b.o.quick && !e.Quick && d.n > 1_000 {
			continue
		}
		runtime.GC()
		if err := b.rival(ctx, e, d); err != nil {
			b.add(row{Name: "search/" + string(e.Kind), System: e.Name, N: d.n, Note: err.Error()})
			if ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) rival(ctx context.Context, e rivals.Entry, d *data) (err error) {
	b.step("%d tools: building %s", d.n, e.Name)
	dir, err := b.folder(fmt.Sprintf("rival-%d-%x", d.n, e.Name))
	if err != nil {
		return err
	}
	rival := e.New(dir)
	defer func() {
		if closed := rival.Close(); err == nil {
			err = closed
		}
	}()
	took, err := timed(func() error { return rival.Build(ctx, d.docs) })
	if err != nil {
		return err
	}
	built := row{Name: "build", System: e.Name, N: d.n, P50: micros(took), P99: micros(took)}
	if built.Bytes, err = diskBytes(dir); err != nil {
		return err
	}
	b.add(built)
	b.step("%d tools: searching %s", d.n, e.Name)
	return b.rivalSearch(ctx, e, rival, d)
}

const rivalQueries = 200

// rivalSearch asks a rival fewer queries than ours: some take long.
func (b *bench) rivalSearch(ctx context.Context, e rivals.Entry, rival rivals.Rival, d *data) error {
	want := d.exact
	if e.Kind == rivals.Words {
		want = d.keyword
	}
	n := min(len(d.queries), rivalQueries+warmUp)
	if b.o.quick {
		n = min(n, 50+warmUp)
	}
	var times timings
	var got []answer
	for i, q := range d.queries[:n] {
		var ids []string
		took, err := timed(func() (err error) { ids, err = rival.Search(ctx, q, topK); return err })
		if err != nil {
			return err
		}
		got = append(got, answer{ids: ids})
		if i >= warmUp {
			times = append(times, took)
		}
	}
	for i := range got {
		got[i].floor = -1 // by their own scores, which are not ours
	}
	r := row{Name: "search/" + string(e.Kind), System: e.Name, N: d.n, Recall: recallOf(want[:n], got)}
	times.fill(&r)
	b.add(r)
	return nil
}
