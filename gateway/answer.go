package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// statelessEra is the first protocol version without a handshake. Versions
// are dates and compare as text.
const statelessEra = "2026-07-28"

// A caller is what is known of whoever called a meta-tool.
type caller struct {
	protocol    string          // protocol version the caller speaks
	elicitation json.RawMessage // its elicitation capability; nil when it has none
	meta        map[string]any  // _meta of the call
	responses   json.RawMessage // inputResponses of the call
	state       json.RawMessage // requestState of the call
	progress    func(progress, total float64, message string)
}

// An Answer is what a meta-tool returns: the parts of a tools/call result,
// each as the JSON that goes on the wire.
type Answer struct {
	// JSON is the meta-tool's own object, which is also the text of the first
	// content block. Nil when a tool's result is handed on untouched.
	JSON    json.RawMessage
	IsError bool

	content    []json.RawMessage // all content blocks, the one of JSON included
	structured json.RawMessage   // structuredContent; nil for none
	meta       []member          // _meta of a tool's result, without the protocol's keys

	needsInput    bool            // the tool asks the caller for input, with the two below
	inputRequests json.RawMessage // nil for none
	requestState  json.RawMessage // nil for none

	release func() // makes room for other large results; nil for none was taken
}

// done is called when the answer has been written, or as late as can be told.
func (a *Answer) done() {
	if a.release != nil {
		a.release()
	}
}

// newAnswer makes v the object of an answer.
func newAnswer(v any) (*Answer, error) {
	b, err := marshal(v)
	if err != nil {
		return nil, err
	}
	return &Answer{JSON: b, content: []json.RawMessage{textBlock(string(b))}}, nil
}

// MarshalJSON gives the result object of tools/call without _meta keys of the
// protocol.
func (a *Answer) MarshalJSON() ([]byte, error) { return a.result("", nil) }

// resultType is that of the era without a handshake.
func (a *Answer) resultType() string {
	if a.needsInput {
		return "input_required"
	}
	return "complete"
}

// result builds the result object of tools/call. A resultType of "" is left
// out, and extra is appended to _meta. Values keep their bytes: callers must
// not pass the result through an encoder that escapes HTML.
func (a *Answer) result(resultType string, extra []member) (json.RawMessage, error) {
	var o objectWriter
	if meta := append(a.meta[:len(a.meta):len(a.meta)], extra...); len(meta) > 0 {
		o.add("_meta", object(meta))
	}
	if resultType != "" {
		o.add("resultType", quote(resultType))
	}
	if a.needsInput {
		if a.inputRequests != nil {
			o.add("inputRequests", a.inputRequests)
		}
		if a.requestState != nil {
			o.add("requestState", a.requestState)
		}
		return validText(o.bytes()), nil
	}
	o.add("content", array(a.content))
	if a.structured != nil {
		o.add("structuredContent", a.structured)
	}
	if a.IsError {
		o.add("isError", json.RawMessage("true"))
	}
	return validText(o.bytes()), nil
}

// validText is b as UTF-8, which messages have to be: one other byte, of
// whatever an upstream said, would end the client's session.
func validText(b json.RawMessage) json.RawMessage {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// A callError is a failure told to the caller: what is wrong with which
// thing, and what to do next.
type callError struct{ msg, hint string }

func (e *callError) Error() string { return e.msg }

func errorAnswer(e *callError) *Answer {
	var o objectWriter
	o.add("error", quote(e.msg))
	o.add("hint", quote(e.hint))
	a := &Answer{JSON: o.bytes(), IsError: true}
	a.content = []json.RawMessage{textBlock(string(a.JSON))}
	return a
}

// marshal is json.Marshal without escaping of HTML, which costs tokens and
// changes bytes.
func marshal(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func quote(s string) json.RawMessage {
	b, err := marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return b
}

func textBlock(s string) json.RawMessage {
	var o objectWriter
	o.add("type", json.RawMessage(`"text"`))
	o.add("text", quote(s))
	return o.bytes()
}
