package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tooldex/tooldex/gateway/view"
	"github.com/tooldex/tooldex/index"
)

// scopesAlone measures searches within scopes, and nothing else.
func scopesAlone(ctx context.Context, b *bench) error {
	for _, n := range b.o.sizes {
		b.step("%d tools: making the catalog", n)
		c, err := newCorpus(b.o.seed, n, b.o.queries+warmUp)
		if err != nil {
			return err
		}
		dir, err := b.folder(fmt.Sprintf("tooldex-%d", n))
		if err != nil {
			return err
		}
		ix, err := b.build(ctx, dir, c)
		if err != nil {
			return err
		}
		err = scopes(ctx, b, ix, c)
		if wrong := ix.Close(); err == nil {
			err = wrong
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scopes measures hybrid searches within views, each query beside the same one
// without a view.
func scopes(ctx context.Context, b *bench, ix *index.Index, c *corpus) error {
	servers := make([]string, len(c.servers))
	for i, s := range c.servers {
		servers[i] = s.name
	}
	labels := func(t *index.Tool) view.Labels { return view.Labels{Tags: t.Tags} }
	for _, scope := range []struct {
		share string
		rule  view.Rule
	}{
		{"almost all", view.Rule{ExcludeServers: servers[:1], ExcludeNamePatterns: []string{"^no_tool_"}}},
		{"half", view.Rule{IncludeServers: servers[:len(servers)/2]}},
		{"10%", view.Rule{IncludeTags: []string{tenthTag}}},
	} {
		b.step("%d tools: searching within %s", c.n, scope.share)
		without, within, err := beside(ctx, ix, view.Of(labels, scope.rule), c.queries)
		if err != nil {
			return err
		}
		r := row{Name: "search/hybrid/scope of " + scope.share, System: "tooldex", N: c.n, Note: "of a search without a scope:"}
		within.fill(&r)
		slices.Sort(without)
		r.Ratio = r.P50 / micros(without.at(.5))
		b.add(r)
	}
	return nil
}

// beside are the times of the queries without and within a view, which take
// turns at being first.
func beside(ctx context.Context, ix *index.Index, v view.View, queries []string) (without, within timings, err error) {
	for i, text := range queries {
		var took [2]time.Duration
		for j := range took {
			q := index.Query{Text: text, Limit: topK}
			scoped := (i+j)%2 == 0
			if scoped {
				q.Filter = v.Over(q.Filter)
			}
			d, err := timed(func() error { _, err := ix.Search(ctx, q); return err })
			if err != nil {
				return nil, nil, err
			}
			if scoped {
				took[1] = d
			} else {
				took[0] = d
			}
		}
		if i >= warmUp {
			without, within = append(without, took[0]), append(within, took[1])
		}
	}
	return without, within, nil
}
