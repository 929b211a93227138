package enrich

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/index/phrase"
)

// parse reads what a model answered, with or without prose, thoughts and code
// fences around it: an object of texts (or lists of texts) by kind, or a list
// of objects with kind and text, alone or as "phrases".
func parse(text string) ([]phrase.Phrase, error) {
	if _, after, ok := strings.Cut(text, "</think>"); ok {
		text = after
	}
	tried := 0
	for i, r := range text {
		if r != '{' && r != '[' {
			continue
		}
		if tried++; tried > mostTried {
			break
		}
		var v any
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&v) != nil {
			continue
		}
		if said := phrases(v); len(said) > 0 {
			return said, nil
		}
	}
	return nil, errors.New("the answer has no phrases in JSON")
}

// mostTried bounds where in an answer JSON is looked for.
const mostTried = 40

// mostRead bounds how many phrases of an answer are looked at.
const mostRead = 30

func phrases(v any) (out []phrase.Phrase) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				kind, _ := o["kind"].(string)
				text, _ := o["text"].(string)
				out = add(out, kind, text)
			}
		}
	case map[string]any:
		if inner, ok := v["phrases"]; ok {
			return phrases(inner)
		}
		for _, kind := range phrase.Kinds { // in their order
			switch said := v[kind].(type) {
			case string:
				out = add(out, kind, said)
			case []any:
				for _, e := range said {
					text, _ := e.(string)
					out = add(out, kind, text)
				}
			}
		}
	}
	return out
}

func add(out []phrase.Phrase, kind, text string) []phrase.Phrase {
	if !slices.Contains(phrase.Kinds, kind) || len(out) >= mostRead {
		return out
	}
	return append(out, phrase.Phrase{Kind: kind, Text: text})
}
