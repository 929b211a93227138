package snapshot

import (
	"encoding/json"
	"fmt"
	"io"
	"math/bits"

	"github.com/tooldex/tooldex/index/phrase"
)

// A dumpFile is what Dump writes: see the members' names.
type dumpFile struct {
	Generation uint64             `json:"generation"`
	Params     Params             `json:"params"`
	N          int                `json:"n"`
	AvgLen     map[string]float64 `json:"avglen"`
	DF         map[string]uint32  `json:"df"` // after the cap on one server's share
	Tools      []dumpTool         `json:"tools"`
}

type dumpTool struct {
	ID       string                    `json:"id"`
	Tool     string                    `json:"tool"` // qualified name
	Category string                    `json:"category"`
	Lengths  map[string]uint32         `json:"lengths"`
	Phrases  []phrase.Phrase           `json:"phrases,omitempty"` // that count
	Terms    map[string]map[string]int `json:"terms"`             // by field, by term
}

// Dump writes what the lexical arm holds as JSON: each tool's terms by field
// and lengths, document frequencies, average lengths and parameters, enough
// to recompute any score.
func (s *Snapshot) Dump(w io.Writer) error {
	stats := s.lexical.Stats()
	d := dumpFile{
		Generation: s.generation,
		Params:     s.params,
		N:          stats.N,
		AvgLen:     map[string]float64{},
		DF:         map[string]uint32{},
	}
	for f, name := range fieldNames {
		d.AvgLen[name] = stats.AvgLen[f]
	}
	for t, n := range stats.DF {
		if n > 0 {
			d.DF[s.lexicon.Term(uint32(t))] = n
		}
	}
	for _, doc := range s.docs {
		d.Tools = append(d.Tools, s.dumped(doc))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("dump index: %w", err)
	}
	return nil
}

func (s *Snapshot) dumped(doc *Document) dumpTool {
	t := dumpTool{
		ID:       doc.ID,
		Tool:     doc.Qualified,
		Category: doc.Category,
		Phrases:  doc.Phrases(),
		Lengths:  map[string]uint32{},
		Terms:    map[string]map[string]int{},
	}
	for f, name := range fieldNames {
		t.Lengths[name] = doc.Terms.Lengths[f]
	}
	c := 0
	for i, id := range doc.Terms.Terms {
		term := s.lexicon.Term(id)
		for mask := doc.Terms.Masks[i]; mask != 0; mask &= mask - 1 {
			name := fieldNames[bits.TrailingZeros8(mask)]
			if t.Terms[name] == nil {
				t.Terms[name] = map[string]int{}
			}
			t.Terms[name][term] = int(doc.Terms.Counts[c])
			c++
		}
	}
	return t
}
