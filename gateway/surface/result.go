package surface

import (
	"bytes"
	"encoding/json"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
)

// Untouched is a tool's result without an object of ours.
func Untouched(r gateway.Result, protocol string) *Answer {
	if r.NeedsInput {
		return &Answer{NeedsInput: true, InputRequests: r.InputRequests, RequestState: r.RequestState}
	}
	a := &Answer{Structured: r.Structured, Meta: r.Meta, IsError: r.IsError}
	for _, b := range r.Content {
		a.Content = append(a.Content, b.Raw)
	}
	if r.Structured != nil && rawjson.Kind(r.Structured) != "object" && protocol < gateway.StatelessEra {
		a.Structured = nil
		a.Content = append(a.Content, TextBlock(string(r.Structured)))
	}
	return a
}

// Attached are the content blocks of a result that are no text.
func Attached(r gateway.Result) []json.RawMessage {
	var out []json.RawMessage
	for _, b := range r.Content {
		if b.Type != "text" {
			out = append(out, b.Raw)
		}
	}
	return out
}

// Value is what a result says: its structured content; else the one text,
// parsed when it is JSON; else all texts.
func Value(r gateway.Result) json.RawMessage {
	if r.Structured != nil {
		return r.Structured
	}
	var texts []string
	for _, b := range r.Content {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	if len(texts) == 1 {
		if one := bytes.TrimSpace([]byte(texts[0])); json.Valid(one) {
			return one
		}
		return rawjson.Quote(texts[0])
	}
	all := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		all[i] = rawjson.Quote(t)
	}
	return rawjson.Array(all)
}
