package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

// A Result is what a tool returned, nothing lost: its parts are the bytes that
// the server sent.
type Result struct {
	Content    []Block
	Structured json.RawMessage // nil for none
	IsError    bool
	Meta       []rawjson.Member // without the keys of the protocol

	NeedsInput    bool            // the tool asks its caller for input, with the two below
	InputRequests json.RawMessage // nil for none
	RequestState  json.RawMessage // nil for none
}

// A Block is one content block.
type Block struct {
	Type string
	Text string // of a block of type "text"
	Raw  json.RawMessage
}

// UnmarshalJSON reads a block and keeps its bytes.
func (b *Block) UnmarshalJSON(raw []byte) error {
	var known struct{ Type, Text string }
	if err := json.Unmarshal(raw, &known); err != nil {
		return err
	}
	*b = Block{Type: known.Type, Text: known.Text, Raw: append(json.RawMessage(nil), raw...)}
	return nil
}

// readResult reads a server's tools/call result.
func readResult(raw json.RawMessage) (Result, error) {
	var r struct {
		Content       []Block         `json:"content"`
		Structured    json.RawMessage `json:"structuredContent"`
		IsError       bool            `json:"isError"`
		Meta          json.RawMessage `json:"_meta"`
		ResultType    string          `json:"resultType"`
		InputRequests json.RawMessage `json:"inputRequests"`
		RequestState  json.RawMessage `json:"requestState"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Result{}, fmt.Errorf("result is not as the protocol has it: %w", err)
	}
	if r.ResultType == "input_required" {
		return Result{NeedsInput: true, InputRequests: r.InputRequests, RequestState: r.RequestState}, nil
	}
	if rawjson.Kind(r.Structured) == "null" {
		r.Structured = nil
	}
	meta, err := withoutProtocolKeys(r.Meta)
	return Result{Content: r.Content, Structured: r.Structured, IsError: r.IsError, Meta: meta}, err
}

// withoutProtocolKeys are the members of a server's _meta that may be handed
// on: its own serverInfo would pass for ours.
func withoutProtocolKeys(raw json.RawMessage) ([]rawjson.Member, error) {
	if rawjson.Kind(raw) != "object" {
		return nil, nil
	}
	all, err := rawjson.Members(raw)
	if err != nil {
		return nil, fmt.Errorf("result _meta: %w", err)
	}
	var kept []rawjson.Member
	for _, m := range all {
		if !strings.HasPrefix(m.Key, protocolPrefix) {
			kept = append(kept, m)
		}
	}
	return kept, nil
}
