package eval

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// A knob is one parameter of the ranking that tuning may turn.
type knob struct {
	name   string
	coarse []float64 // values of the first pass
	step   float64   // of the second pass; values are multiples of it
	hi     float64   // greatest value; the least is 0
	get    func(*index.Params) float64
	set    func(*index.Params, float64)
}

// knobs lists what may be turned in a mode. The weight of the description
// stays 1: scores depend on weights relative to each other and to k1. Fields
// of running text share one b, as they hold the same sort of text.
func knobs(mode index.Mode, model string) []knob {
	weights := []float64{0, .25, .5, 1, 1.5, 2, 3}
	light := []float64{0, .1, .2, .3, .5, .75, 1}
	bs := []float64{0, .3, .5, .75, 1}
	ks := []knob{
		weightKnob("name", weights, .25), weightKnob("title", weights, .25), weightKnob("server", weights, .25),
		weightKnob("params", light, .1), weightKnob("param_text", light, .1), weightKnob("phrases", light, .1),
		bKnob("name", bs, "name"), bKnob("text", bs, "description", "title", "params", "param_text"), bKnob("phrases", bs, "phrases"),
		{"k1", []float64{.6, .9, 1.2, 1.6, 2}, .1, 3,
			func(p *index.Params) float64 { return p.K1 }, func(p *index.Params, v float64) { p.K1 = v }},
	}
	if mode == index.Hybrid && model != "" {
		ks = append(ks, fusionKnobs(model)...)
	}
	return ks
}

func weightKnob(field string, coarse []float64, step float64) knob {
	return knob{field + " weight", coarse, step, 5,
		func(p *index.Params) float64 { return p.Fields[field].Weight },
		func(p *index.Params, v float64) {
			f := p.Fields[field]
			f.Weight = v
			p.Fields[field] = f
		}}
}

func bKnob(name string, coarse []float64, fields ...string) knob {
	return knob{name + " b", coarse, .05, 1,
		func(p *index.Params) float64 { return p.Fields[fields[0]].B },
		func(p *index.Params, v float64) {
			for _, field := range fields {
				f := p.Fields[field]
				f.B = v
				p.Fields[field] = f
			}
		}}
}

func fusionKnobs(model string) []knob {
	change := func(p *index.Params, f func(*index.Fusion)) {
		key := fusionKey(*p, model)
		entry := p.Fusion[key]
		f(&entry)
		p.Fusion[key] = entry
	}
	return []knob{
		{"lambda", []float64{.2, .3, .4, .5, .6, .7}, .05, 1,
			func(p *index.Params) float64 { return p.Fusion[fusionKey(*p, model)].Lambda },
			func(p *index.Params, v float64) { change(p, func(f *index.Fusion) { f.Lambda = v }) }},
		{"gamma", []float64{0, .1, .2, .3, .5}, .05, 2,
			func(p *index.Params) float64 { return p.Fusion[fusionKey(*p, model)].Gamma },
			func(p *index.Params, v float64) { change(p, func(f *index.Fusion) { f.Gamma = v }) }},
	}
}

// fusionKey is the entry of Params.Fusion that serves a model: the longest
// prefix of its identity.
func fusionKey(p index.Params, model string) string {
	best := ""
	for key := range p.Fusion {
		if strings.HasPrefix(model, key) && len(key) > len(best) {
			best = key
		}
	}
	return best
}

func clone(p index.Params) index.Params {
	p.Fields, p.Fusion, p.Confidence = maps.Clone(p.Fields), maps.Clone(p.Fusion), maps.Clone(p.Confidence)
	return p
}

// A point holds one value a knob.
type point []float64

func (pt point) key() string { return fmt.Sprint([]float64(pt)) }

func (pt point) with(i int, v float64) point {
	out := append(point(nil), pt...)
	out[i] = v
	return out
}

// place reads the knobs' values from parameters.
func place(ks []knob, p *index.Params) point {
	pt := make(point, len(ks))
	for i, k := range ks {
		pt[i] = k.get(p)
	}
	return pt
}

// params turns the knobs of base to a point.
func (pt point) params(ks []knob, base index.Params) index.Params {
	p := clone(base)
	for i, k := range ks {
		if k.get(&p) != pt[i] {
			k.set(&p, pt[i])
		}
	}
	return p
}

// climb searches from a start point: the coarse values of each knob in turn
// until none helps, then steps around the best, then each changed knob back to
// its start where that costs nothing. A change must gain more than least: a
// plateau is no reason to leave a round value.
func climb(ks []knob, start point, least float64, score func(point) (float64, error)) (point, error) {
	at := append(point(nil), start...)
	best, err := score(at)
	if err != nil {
		return nil, err
	}
	sweep := func(values func(i int) []float64) (moved bool, err error) {
		for i := range ks {
			top, topAt := best+least, at
			for _, v := range values(i) {
				s, err := score(at.with(i, v))
				if err != nil {
					return false, err
				}
				if s > top {
					top, topAt = s, at.with(i, v)
				}
			}
			if topAt[i] != at[i] {
				at, best, moved = topAt, top, true
			}
		}
		return moved, nil
	}
	fine := func(i int) []float64 { return ks[i].around(at[i]) }
	for _, values := range []func(int) []float64{func(i int) []float64 { return ks[i].coarse }, fine} {
		for range 3 {
			if moved, err := sweep(values); err != nil || !moved {
				if err != nil {
					return nil, err
				}
				break
			}
		}
	}
	for i := range ks {
		back, err := score(at.with(i, start[i]))
		if err != nil {
			return nil, err
		}
		if back >= best-least {
			at, best = at.with(i, start[i]), back
		}
	}
	return at, nil
}

// around gives the round values next to v.
func (k knob) around(v float64) []float64 {
	var out []float64
	for d := -2.; d <= 2; d++ {
		n := (math.Round(v/k.step) + d) * k.step
		n = math.Round(n*1e6) / 1e6
		if n >= 0 && n <= k.hi && n != v {
			out = append(out, n)
		}
	}
	return out
}
