package snapshot

import (
	"fmt"
	"slices"

	"github.com/tooldex/tooldex/index/rank"
)

// Params are the ranking's parameters. They are applied when searching, so a
// change of them never invalidates what is stored. Use [DefaultParams] and
// change what you mean to.
type Params struct {
	K1     float64                `json:"k1"`
	Fields map[string]FieldParams `json:"fields"` // by field name: name, title, description, server, params, param_text, phrases
	// Fusion is keyed by the identity of the vectors (a prefix of
	// Embedder.Model() is enough, the longest wins); "" is the default.
	Fusion map[string]Fusion `json:"fusion"`
	// PhraseVectors is the weight v of a tool's phrases in its vector, the
	// unit vector of its own and v times the mean of theirs; 0 leaves them out.
	PhraseVectors float64 `json:"phrase_vectors"`
	Floor         float64 `json:"floor"` // score that counts towards Results.Total
	// Confidence is keyed by mode and identity, "hybrid builtin/static-v1"
	// (prefixes again); without an entry neither confidence nor weak match
	// is reported.
	Confidence map[string]Thresholds `json:"confidence,omitempty"`
	// Diversity is the share of rows one server may fill before its further
	// rows move behind close rows of others; 0 or ≥ 1 turns the rule off.
	Diversity float64 `json:"diversity"`
	// DiversityWithin is the share of a score that another server's row must
	// reach to move ahead.
	DiversityWithin float64 `json:"diversity_within"`
	ExactNames      bool    `json:"exact_names"` // the exact-name rule
}

// FieldParams weigh one field in BM25F.
type FieldParams struct {
	Weight float64 `json:"weight"`
	B      float64 `json:"b"` // length normalisation, 0 none to 1 full
}

// Fusion weighs the two arms and the server prior.
type Fusion = rank.Fusion

// Thresholds cut the first row's score into claims about it.
type Thresholds struct {
	High float64 `json:"high,omitempty"` // at or above: confidence "high"; 0 never claims it
	Weak float64 `json:"weak,omitempty"` // below: a weak match; 0 never claims it
}

// DefaultParams are the shipped parameters; docs/decisions says where each
// comes from.
func DefaultParams() Params {
	return Params{
		K1: .9,
		Fields: map[string]FieldParams{
			"name":        {Weight: 2, B: .3},
			"title":       {Weight: 1, B: .75},
			"description": {Weight: 1, B: .75},
			"server":      {Weight: 1, B: 0},
			"params":      {Weight: .5, B: .75},
			"param_text":  {Weight: .5, B: .75},
			"phrases":     {Weight: .6, B: 0}, // few tools have any: by length, those few would count for nothing
		},
		Fusion:          map[string]Fusion{"": {Lambda: .5, Gamma: .2}},
		PhraseVectors:   1,
		Floor:           .1,
		Confidence:      map[string]Thresholds{"hybrid builtin/static-v1": {Weak: .24}},
		Diversity:       .6,
		DiversityWithin: .8,
		ExactNames:      true,
	}
}

// Check reports the first parameter that no score could be computed with.
func (p *Params) Check() error {
	if !(p.PhraseVectors >= 0) {
		return fmt.Errorf("ranking parameters: phrase_vectors %v is negative", p.PhraseVectors)
	}
	if !(p.K1 >= 0) {
		return fmt.Errorf("ranking parameters: k1 %v is negative", p.K1)
	}
	for name, f := range p.Fields {
		if !slices.Contains(fieldNames[:], name) {
			return fmt.Errorf("ranking parameters: unknown field %q: use one of %v", name, fieldNames)
		}
		if !(f.Weight >= 0) || !(f.B >= 0 && f.B <= 1) {
			return fmt.Errorf("ranking parameters: field %s: weight %v and b %v must be at least 0, b at most 1", name, f.Weight, f.B)
		}
	}
	for model, f := range p.Fusion {
		if !(f.Lambda >= 0 && f.Lambda <= 1) || !(f.Gamma >= 0) {
			return fmt.Errorf("ranking parameters: fusion %q: lambda %v must be in [0, 1], gamma %v at least 0", model, f.Lambda, f.Gamma)
		}
	}
	return nil
}
