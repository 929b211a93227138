package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/tooldex/tooldex/index"
)

// filters allow shares of the catalog.
var filters = []struct {
	suffix string
	filter index.Filter
}{
	{"", index.Filter{}},
	{"/10%", index.Filter{Tags: []string{tenthTag}}},
	{"/1%", index.Filter{Tags: []string{hundredthTag}}},
}

var modes = []index.Mode{index.Keyword, index.Semantic, index.Hybrid}

// An answer is the best ten of one query: what each scored, and from which
// score on a tool is as good as the tenth.
type answer struct {
	ids   []string
	floor float64
}

func answerOf(hits []index.Hit) answer {
	var a answer
	for _, h := range hits[:min(topK, len(hits))] {
		a.ids = append(a.ids, h.ID)
		a.floor = h.Score
	}
	return a
}

// ours measures the index as an application uses it, on disk, and returns its
// keyword answers.
func (b *bench) ours(ctx context.Context, c *corpus) ([]answer, error) {
	dir, err := b.folder(fmt.Sprintf("tooldex-%d", c.n))
	if err != nil {
		return nil, err
	}
	ix, err := b.build(ctx, dir, c)
	if err != nil {
		return nil, err
	}
	defer func() { ix.Close() }() // ix changes; an error of the last use was returned
	if err := b.searches(ctx, ix, c, dir); err != nil {
		return nil, err
	}
	if err := scopes(ctx, b, ix, c); err != nil {
		return nil, err
	}
	keyword, err := b.keyword(ctx, ix, c)
	if err != nil {
		return nil, err
	}
	if err := b.similar(ctx, ix, c); err != nil {
		return nil, err
	}
	if err := b.replace(ctx, ix, c); err != nil {
		return nil, err
	}
	if err := ix.Close(); err != nil {
		return nil, err
	}
	if ix, err = b.open(ctx, dir, c); err != nil {
		return nil, err
	}
	if err := ix.Close(); err != nil {
		return nil, err
	}
	return keyword, b.memory(ctx, dir, c)
}

// build fills an index in dir and waits for its vectors and graph.
func (b *bench) build(ctx context.Context, dir string, c *corpus) (*index.Index, error) {
	b.step("%d tools: building the index", c.n)
	tools := map[string][]index.Tool{}
	for _, s := range c.servers {
		tools[s.name] = s.tools
	}
	var ix *index.Index
	took, err := timed(func() (err error) {
		if ix, err = index.Open(dir, index.Options{Embedder: b.model}); err != nil {
			return err
		}
		if _, err := ix.ReplaceAll(ctx, tools); err != nil {
			return err
		}
		return ix.Wait(ctx)
	})
	if err != nil {
		return nil, err
	}
	r := row{Name: "build", System: "tooldex", N: c.n, P50: micros(took), P99: micros(took)}
	if r.Bytes, err = diskBytes(dir); err != nil {
		return nil, err
	}
	b.add(r)
	return ix, nil
}

// searches measures all modes under all filters. Above the threshold recall
// is against an index of the same folder that never leaves out a tool.
func (b *bench) searches(ctx context.Context, ix *index.Index, c *corpus, dir string) error {
	exact, err := index.Open(dir, index.Options{Embedder: b.model, HNSWThreshold: c.n + 1, Offline: true})
	if err != nil {
		return err
	}
	defer func() { exact.Close() }() // it wrote nothing
	for _, mode := range modes {
		for _, f := range filters {
			b.step("%d tools: searching %s%s", c.n, mode, f.suffix)
			q := index.Query{Mode: mode, Filter: f.filter, Limit: topK}
			times, got, err := search(ctx, ix, q, c.queries)
			if err != nil {
				return err
			}
			r := row{Name: fmt.Sprintf("search/%s%s", mode, f.suffix), System: "tooldex", N: c.n}
			times.fill(&r)
			if mode != index.Keyword {
				// A sample is enough: exact answers to everything take minutes.
				n := min(len(c.queries), 200)
				_, want, err := search(ctx, exact, q, c.queries[:n])
				if err != nil {
					return err
				}
				r.Recall = recallOf(want, got[:n])
			}
			b.add(r)
		}
	}
	return nil
}

// keyword returns the answers by BM25F alone, without the rules that move rows
// for other reasons, and compares them with the oracle's.
func (b *bench) keyword(ctx context.Context, ix *index.Index, c *corpus) ([]answer, error) {
	plain := index.DefaultParams()
	plain.Diversity, plain.ExactNames = 0, false
	if err := ix.SetParams(plain); err != nil {
		return nil, err
	}
	_, got, err := search(ctx, ix, index.Query{Mode: index.Keyword, Limit: topK}, c.queries[:min(len(c.queries), rivalQueries+warmUp)])
	if err != nil {
		return nil, err
	}
	recall, err := b.oracle(ix, c.queries, got)
	if err != nil {
		return nil, err
	}
	for i := range b.rows {
		if b.rows[i].N == c.n && b.rows[i].Name == "search/keyword" {
			b.rows[i].Recall = recall
		}
	}
	return got, ix.SetParams(index.DefaultParams())
}

// search asks every query and returns the times of all but the first.
func search(ctx context.Context, ix *index.Index, q index.Query, queries []string) (times timings, got []answer, err error) {
	for i, text := range queries {
		q.Text = text
		var res *index.Results
		took, err := timed(func() (err error) { res, err = ix.Search(ctx, q); return err })
		if err != nil {
			return nil, nil, err
		}
		if res.Degraded {
			return nil, nil, fmt.Errorf("search %q was degraded to %s: %s", text, res.Mode, res.Reason)
		}
		if i >= warmUp {
			times = append(times, took)
		}
		got = append(got, answerOf(res.Hits))
	}
	return times, got, nil
}

// recallOf is the share of want's ids that are in got.
func recallOf(want, got []answer) *float64 {
	found, wanted := 0, 0
	for i, w := range want {
		wanted += len(w.ids)
		// A tool of the tenth's own score that takes another's place is right too.
		found += max(shared(w.ids, got[i].ids), asGood(w, got[i]))
	}
	share := 1.0
	if wanted > 0 {
		share = float64(found) / float64(wanted)
	}
	return &share
}

func shared(want, got []string) (n int) {
	for _, id := range want {
		if slices.Contains(got, id) {
			n++
		}
	}
	return n
}

// asGood is all of want when got has as many and ends on no lower score.
func asGood(want, got answer) int {
	const rounding = 1e-6
	if len(got.ids) == len(want.ids) && got.floor >= want.floor-rounding {
		return len(want.ids)
	}
	return 0
}

func (b *bench) similar(ctx context.Context, ix *index.Index, c *corpus) error {
	b.step("%d tools: similar tools", c.n)
	var times timings
	for i := range min(b.o.queries, 300) + warmUp {
		s := c.servers[i%len(c.servers)]
		id := s.tools[i%len(s.tools)].ID()
		took, err := timed(func() error {
			_, err := ix.Similar(ctx, id, index.Filter{}, topK)
			return err
		})
		if err != nil {
			return err
		}
		if i >= warmUp {
			times = append(times, took)
		}
	}
	r := row{Name: "similar", System: "tooldex", N: c.n}
	times.fill(&r)
	b.add(r)
	return nil
}

// replace changes all tools of one server after another, until the change is
// searchable; its vectors may follow.
func (b *bench) replace(ctx context.Context, ix *index.Index, c *corpus) error {
	b.step("%d tools: replacing servers", c.n)
	var times timings
	changed := 0
	for i := range 20 {
		s := c.servers[i*len(c.servers)/20]
		tools := slices.Clone(s.tools)
		for j := range tools {
			tools[j].Description += " changed"
		}
		changed += len(tools)
		took, err := timed(func() error { _, err := ix.Replace(ctx, s.name, tools); return err })
		if err != nil {
			return err
		}
		times = append(times, took)
		if err := ix.Wait(ctx); err != nil {
			return err
		}
	}
	r := row{Name: "replace", System: "tooldex", N: c.n, Note: fmt.Sprintf("%d tools each", changed/20)}
	times.fill(&r)
	b.add(r)
	return nil
}

// open measures from the folder to the first answer.
func (b *bench) open(ctx context.Context, dir string, c *corpus) (ix *index.Index, err error) {
	b.step("%d tools: opening", c.n)
	var times timings
	for i := range 5 {
		if ix != nil {
			if err := ix.Close(); err != nil {
				return nil, err
			}
		}
		took, err := timed(func() (err error) {
			if ix, err = index.Open(dir, index.Options{Embedder: b.model}); err != nil {
				return err
			}
			_, err = ix.Search(ctx, index.Query{Text: c.queries[i], Mode: index.Hybrid})
			return err
		})
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	r := row{Name: "open", System: "tooldex", N: c.n}
	times.fill(&r)
	b.add(r)
	return ix, nil
}
