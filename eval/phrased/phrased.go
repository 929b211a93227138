// Package phrased gives the tools of a labelled set the phrases that it is to
// be measured with.
package phrased

import (
	"slices"

	"github.com/tooldex/tooldex/eval/labels"
	"github.com/tooldex/tooldex/index"
	"github.com/tooldex/tooldex/index/pack"
	"github.com/tooldex/tooldex/index/phrase"
)

// From says which phrases of the tools are searched.
type From string

const (
	None From = "none" // neither the tools' own nor the pack's
	Pack From = "pack" // those that come with the binary
	All  From = "all"  // the tools' own and the pack's
	Own  From = "own"  // the tools' own alone, as a live catalog has them
)

// A Report says what phrases a set was searched with.
type Report struct {
	From    From `json:"from"`
	Tools   int  `json:"tools"`    // that have any
	Count   int  `json:"phrases"`  // of them together
	LeftOut int  `json:"left_out"` // being requests of the set
}

// Tools are the set's tools with the phrases asked for, and nil for none. A phrase
// that is a request of the set is left out, wherever it comes from: the figure
// would be the answer read back.
func Tools(s *labels.Set, from From) ([]index.Tool, *Report) {
	if from == None {
		return bare(s.Tools), nil
	}
	requests := map[string]bool{}
	for _, q := range s.Queries {
		requests[phrase.Key(q.Text)], requests[phrase.Key(phrase.Clip(q.Text))] = true, true
	}
	tools, ph := slices.Clone(s.Tools), &Report{From: from}
	for i := range tools {
		t := &tools[i]
		said := from.of(*t)
		n := len(said)
		fair := slices.DeleteFunc(said, func(text string) bool { return requests[phrase.Key(text)] })
		ph.LeftOut += n - len(fair)
		if t.Phrases = fair; len(fair) > 0 {
			ph.Tools++
			ph.Count += len(fair)
		}
	}
	return tools, ph
}

// of are the phrases of one tool in a slice of their own, the pack's
// first, as they count in that order.
func (from From) of(t index.Tool) (said []string) {
	if from == Pack || from == All {
		said = phrase.Texts(pack.Builtin().Find(t.Name, t.Description))
	}
	if from == All || from == Own {
		said = append(said, t.Phrases...)
	}
	return said
}

func bare(tools []index.Tool) []index.Tool {
	if !slices.ContainsFunc(tools, func(t index.Tool) bool { return t.Phrases != nil }) {
		return tools
	}
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Phrases = nil
	}
	return tools
}
