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
		return &Answer{NeedsInput: true, InputRequests: r.InputRequests, RequestState: r.RequestState, Meta: r.Meta, Other: r.Other}
	}
	a := &Answer{Structured: r.Structured, Meta: r.Meta, IsError: r.IsError}
	for _, m := range r.Other { // before StatelessEra structuredContent is an object
		if m.Key != "structuredContent" || protocol >= gateway.StatelessEra {
			a.Other = append(a.Other, m)
		}
	}
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
	var texts []gateway.Block
	for _, b := range r.Content {
		if b.Type == "text" {
			texts = append(texts, b)
		}
	}
	if len(texts) == 1 {
		if mayBeJSON(texts[0].Quoted) {
			if one := bytes.TrimSpace([]byte(texts[0].Text())); rawjson.Valid(one) {
				return one
			}
		}
		return quoted(texts[0])
	}
	all := make([]json.RawMessage, len(texts))
	for i, b := range texts {
		all[i] = quoted(b)
	}
	return rawjson.Array(all)
}

// quoted is the text of a block as a JSON string. The server's own is taken
// unless it escapes more than is needed, which would cost tokens.
func quoted(b gateway.Block) json.RawMessage {
	if len(b.Quoted) > 1 && b.Quoted[0] == '"' && !bytes.Contains(b.Quoted, []byte(`\u`)) && !bytes.Contains(b.Quoted, []byte(`\/`)) {
		return b.Quoted
	}
	return rawjson.Quote(b.Text())
}

// scalarBytes is more than a number, or a text in quotes that is the value of
// a text, ever has.
const scalarBytes = 64 << 10

// mayBeJSON says whether a text, given as JSON, is worth decoding to see
// whether it is JSON itself.
func mayBeJSON(quoted json.RawMessage) bool {
	if len(quoted) < scalarBytes {
		return true
	}
	text := bytes.TrimPrefix(quoted, []byte(`"`))
	for {
		before := len(text)
		text = bytes.TrimLeft(text, " ")
		for _, space := range []string{`\n`, `\r`, `\t`} {
			text = bytes.TrimPrefix(text, []byte(space))
		}
		if len(text) == before {
			break
		}
	}
	return text[0] == '{' || text[0] == '[' || bytes.HasPrefix(text, []byte(`\u`))
}
