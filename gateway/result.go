package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
)

// A Result is what a tool returned, nothing lost: its parts are the bytes that
// the server sent.
type Result struct {
	Content    []Block
	Structured json.RawMessage // nil for none, and for null
	IsError    bool
	Meta       []rawjson.Member // without the keys of the protocol
	Other      []rawjson.Member // members that say nothing to the gateway, isError: false among them

	NeedsInput    bool            // the tool asks its caller for input, with the two below
	InputRequests json.RawMessage // nil for none
	RequestState  json.RawMessage // nil for none
}

// A Block is one content block.
type Block struct {
	Type   string
	Quoted json.RawMessage // the text of a block of type "text", as JSON
	Raw    json.RawMessage
}

// Text is that of a block of type "text".
func (b Block) Text() string { return rawjson.Text(b.Quoted) }

// readResult reads a server's tools/call result. It copies no byte of it.
func readResult(raw json.RawMessage) (Result, error) {
	var r Result
	wrong := ""
	expect := func(what string, value json.RawMessage, kinds ...string) bool {
		ok := slices.Contains(kinds, rawjson.Kind(value))
		if !ok && wrong == "" {
			wrong = fmt.Sprintf("%s is %s", what, words.Article(rawjson.Kind(value)))
		}
		return ok
	}
	if !rawjson.Valid(raw) {
		wrong = "it is no JSON"
	}
	if wrong != "" || !expect("it", raw, "object") {
		return Result{}, fmt.Errorf("result is not as the protocol has it: %s", wrong)
	}
	var meta json.RawMessage
	var saysNot bool // isError is there, and false
	rawjson.Each(raw, func(key string, value json.RawMessage) {
		switch key {
		case "content":
			if expect(key, value, "array", "null") {
				r.Content, wrong = blocks(value)
			}
		case "structuredContent":
			r.Structured = value
		case "isError":
			r.IsError, saysNot = expect(key, value, "boolean", "null") && string(value) == "true", string(value) == "false"
		case "_meta":
			meta = value
		case "resultType":
			r.NeedsInput = expect(key, value, "string", "null") && rawjson.Text(value) == "input_required"
		case "inputRequests":
			r.InputRequests = value
		case "requestState":
			r.RequestState = value
		default:
			r.Other = append(r.Other, rawjson.Member{Key: key, Value: value})
		}
	})
	if wrong != "" {
		return Result{}, fmt.Errorf("result is not as the protocol has it: %s", wrong)
	}
	if rawjson.Kind(r.Structured) == "null" {
		r.Other = append(r.Other, rawjson.Member{Key: "structuredContent", Value: r.Structured})
		r.Structured = nil
	}
	if saysNot {
		r.Other = append(r.Other, rawjson.Member{Key: "isError", Value: json.RawMessage("false")})
	}
	r.Meta = withoutProtocolKeys(meta)
	return r, nil
}

// blocks reads content; wrong says what of it is not as the protocol has it.
func blocks(content json.RawMessage) (out []Block, wrong string) {
	elements, _ := rawjson.Elements(content)
	for _, raw := range elements {
		b := Block{Raw: raw}
		if kind := rawjson.Kind(raw); kind != "object" && kind != "null" {
			return nil, "a block of content is " + words.Article(kind)
		}
		rawjson.Each(raw, func(key string, value json.RawMessage) {
			if key != "type" && key != "text" {
				return
			}
			if kind := rawjson.Kind(value); kind != "string" && kind != "null" {
				wrong = fmt.Sprintf("%s of a block of content is %s", key, words.Article(kind))
			}
			if key == "type" {
				b.Type = rawjson.Text(value)
			} else {
				b.Quoted = value
			}
		})
		out = append(out, b)
	}
	return out, wrong
}

// withoutProtocolKeys are the members of a server's _meta that may be handed
// on: its own serverInfo would pass for ours.
func withoutProtocolKeys(raw json.RawMessage) []rawjson.Member {
	if rawjson.Kind(raw) != "object" {
		return nil
	}
	var kept []rawjson.Member
	rawjson.Each(raw, func(key string, value json.RawMessage) {
		if !strings.HasPrefix(key, protocolPrefix) {
			kept = append(kept, rawjson.Member{Key: key, Value: value})
		}
	})
	return kept
}
