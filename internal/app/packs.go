package app

import (
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/pack"
	"github.com/tooldex/tooldex/index/phrase"
	"github.com/tooldex/tooldex/internal/config"
)

// phrasePacks opens the packs that a configuration asks for, the operator's
// first; nil without any.
func phrasePacks(c config.Phrases) (index.Packer, error) {
	var packs pack.Packs
	for _, path := range c.Packs {
		p, err := pack.Load(path)
		if err != nil {
			return nil, err
		}
		packs = append(packs, p)
	}
	if c.Pack != "off" {
		packs = append(packs, pack.Builtin())
	}
	if len(packs) == 0 {
		return nil, nil
	}
	return packs, nil
}

// sharedBy is how many principals must have confirmed a phrase of use where
// several share what is learned.
const sharedBy = 3

// confirmers is how many must have confirmed a phrase of use before it counts.
func confirmers(c config.Phrases) int {
	if c.Learn == "shared" {
		return sharedBy
	}
	return 0
}

// Phrased says how many tools have phrases.
type Phrased struct {
	Tools    int                   `json:"tools"`     // that have any that count
	BySource map[phrase.Source]int `json:"by_source"` // that have any of the source
	Stale    int                   `json:"stale"`     // that have some written for another text than theirs
}

// phrased counts the tools of the catalog that have phrases.
func phrased(ix *index.Index) Phrased {
	p := Phrased{BySource: map[phrase.Source]int{}}
	for _, t := range ix.Phrases().List() {
		if t.Counted > 0 {
			p.Tools++
		}
		sources, stale := map[phrase.Source]bool{}, false
		for _, f := range t.Phrases {
			sources[f.Source] = true
			stale = stale || f.Stale
		}
		for s := range sources {
			p.BySource[s]++
		}
		if stale {
			p.Stale++
		}
	}
	return p
}
