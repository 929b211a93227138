package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/eval/rescore"
	"github.com/tooldex/tooldex/eval/stat"
	"github.com/tooldex/tooldex/index"
)

// An Ablation is the ranking with one part taken out or replaced.
type Ablation struct {
	Name  string             `json:"name"`
	Gain  Gain               `json:"gain"` // against the ranking as it is; negative is what the part is worth
	BySet map[string]float64 `json:"by_set"`
}

// Ablations are what each part of the ranking is worth.
type Ablations struct {
	Metrics []string           `json:"metrics"`
	Mode    index.Mode         `json:"mode"`
	Before  float64            `json:"before"` // the ranking as it is, mean over sets
	BySet   map[string]float64 `json:"by_set"`
	Rows    []Ablation         `json:"rows"`
}

// A variant is a ranking to try on collected candidates.
type variant struct {
	name   string
	change func(*index.Params) // nil changes nothing
	mode   index.Mode          // "" means the mode collected
	fusion rescore.Fusion      // nil means the index's
}

// variants take out each part in turn.
func variants(mode index.Mode, model string) []variant {
	var out []variant
	for _, field := range []string{"name", "title", "description", "server", "params", "param_text"} {
		out = append(out, variant{name: "without " + field, change: func(p *index.Params) {
			p.Fields[field] = index.FieldParams{B: p.Fields[field].B}
		}})
	}
	out = append(out,
		variant{name: "fields as equals", change: func(p *index.Params) {
			for f, v := range p.Fields {
				v.Weight = 1
				p.Fields[f] = v
			}
		}},
		variant{name: "without length normalisation", change: func(p *index.Params) {
			for f, v := range p.Fields {
				v.B = 0
				p.Fields[f] = v
			}
		}},
		variant{name: "without the exact-name rule", change: func(p *index.Params) { p.ExactNames = false }})
	if mode == index.Hybrid && model != "" {
		out = append(out, fusionVariants(model)...)
	}
	return out
}

func fusionVariants(model string) []variant {
	fusion := func(f func(*index.Fusion)) func(*index.Params) {
		return func(p *index.Params) {
			key := fusionKey(*p, model)
			entry := p.Fusion[key]
			f(&entry)
			p.Fusion[key] = entry
		}
	}
	return []variant{
		{name: "without vectors", mode: index.Keyword},
		{name: "vectors alone", mode: index.Semantic},
		{name: "without the server prior", change: fusion(func(f *index.Fusion) { f.Gamma = 0 })},
		{name: "reciprocal ranks, k 60", fusion: rescore.ReciprocalRanks(60)},
		{name: "reciprocal ranks, k 10", fusion: rescore.ReciprocalRanks(10)},
		{name: "min-max, lambda .5", fusion: rescore.Normalised(rescore.MinMax, .5, .2)},
		{name: "min-max, lambda .3", fusion: rescore.Normalised(rescore.MinMax, .3, .2)},
		{name: "z-score, lambda .5", fusion: rescore.Normalised(rescore.ZScore, .5, .2)},
		{name: "z-score, lambda .3", fusion: rescore.Normalised(rescore.ZScore, .3, .2)},
	}
}

// Ablate measures what each part of the ranking is worth by taking it out, on
// the queries that Tune would search with.
func Ablate(ctx context.Context, sets []*labels.Set, o TuneOptions) (*Ablations, error) {
	if len(sets) == 0 {
		return nil, errors.New("ablate: no sets")
	}
	o = o.withDefaults()
	o.Folds = 1
	l, err := newLandscape(ctx, sets, o)
	if err != nil {
		return nil, err
	}
	defer l.close()
	base := l.variantValues(ctx, variant{})
	out := &Ablations{Metrics: o.Metrics, Mode: l.mode, BySet: l.means(base), Rows: []Ablation{}}
	vs := variants(l.mode, l.model)
	for i, v := range vs {
		values := l.variantValues(ctx, v)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("ablate: %w", err)
		}
		row := Ablation{Name: v.name, Gain: gain(base, values, permutations, o.Seed), BySet: l.means(values)}
		out.Before = row.Gain.Before
		out.Rows = append(out.Rows, row)
		o.Progress("parts", i+1, len(vs))
	}
	return out, nil
}

func (l *landscape) means(values [][]float64) map[string]float64 {
	out := map[string]float64{}
	for s, set := range l.sets {
		out[set.Title()] = stat.Mean(values[s])
	}
	return out
}

// variantValues are those of the ranking that a variant makes of the shipped.
func (l *landscape) variantValues(ctx context.Context, v variant) [][]float64 {
	p := clone(*l.o.Params)
	if v.change != nil {
		v.change(&p)
	}
	return l.valuesOf(ctx, p, cmp.Or(v.mode, l.mode), v.fusion)
}
