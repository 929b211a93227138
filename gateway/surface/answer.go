package surface

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/tooldex/tooldex/gateway"
	"github.com/tooldex/tooldex/gateway/rawjson"
)

// An Answer is what a meta-tool returns: the parts of a tools/call result,
// each as the JSON that goes on the wire.
type Answer struct {
	// JSON is the meta-tool's own object, which is also the text of the first
	// content block. Nil when a tool's result is handed on untouched.
	JSON    json.RawMessage
	IsError bool

	Content    []json.RawMessage // all content blocks, the one of JSON included
	Structured json.RawMessage   // structuredContent; nil for none
	Meta       []rawjson.Member  // _meta of a tool's result, without the protocol's keys
	Other      []rawjson.Member  // members of a tool's result that the gateway does not know

	NeedsInput    bool            // the tool asks the caller for input, with the two below
	InputRequests json.RawMessage // nil for none
	RequestState  json.RawMessage // nil for none

	// Refused is a server's JSON-RPC error that concerns the client and not its
	// model, in place of all the above; nil for none. A surface that cannot pass
	// it on has the above.
	Refused *gateway.Refusal

	Release func() // makes room for other large results; nil for none was taken
}

// Done is called when the answer has been written, or as late as can be told.
func (a *Answer) Done() {
	if a.Release != nil {
		a.Release()
	}
}

// NewAnswer makes v the object of an answer.
func NewAnswer(v any) (*Answer, error) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Object(b), nil
}

// Text is an answer of plain text.
func Text(text string) *Answer {
	return &Answer{Content: []json.RawMessage{TextBlock(text)}}
}

// Failed is a failure of a call in plain text.
func Failed(text string) *Answer {
	a := Text(text)
	a.IsError = true
	return a
}

// Object is an answer whose object is o.
func Object(o json.RawMessage) *Answer {
	return &Answer{JSON: o, Content: []json.RawMessage{TextBlock(o)}}
}

// MarshalJSON gives the result object of tools/call without _meta keys of the
// protocol.
func (a *Answer) MarshalJSON() ([]byte, error) { return a.Result("", nil) }

// ResultType is that of the era without a handshake.
func (a *Answer) ResultType() string {
	if a.NeedsInput {
		return "input_required"
	}
	return "complete"
}

// Result builds the result object of tools/call. A resultType of "" is left
// out, and extra is appended to _meta. Values keep their bytes: callers must
// not pass the result through an encoder that escapes HTML.
func (a *Answer) Result(resultType string, extra []rawjson.Member) (json.RawMessage, error) {
	var o rawjson.Writer
	o.Grow(a.size())
	if meta := append(a.Meta[:len(a.Meta):len(a.Meta)], extra...); len(meta) > 0 {
		o.Add("_meta", rawjson.Object(meta))
	}
	if resultType != "" {
		o.Add("resultType", rawjson.Quote(resultType))
	}
	if a.NeedsInput {
		if a.InputRequests != nil {
			o.Add("inputRequests", a.InputRequests)
		}
		if a.RequestState != nil {
			o.Add("requestState", a.RequestState)
		}
		a.addOther(&o)
		return ValidText(o.Bytes()), nil
	}
	o.AddArray("content", a.Content)
	if a.Structured != nil {
		o.Add("structuredContent", a.Structured)
	}
	if a.IsError {
		o.Add("isError", json.RawMessage("true"))
	}
	a.addOther(&o)
	return ValidText(o.Bytes()), nil
}

func (a *Answer) addOther(o *rawjson.Writer) {
	for _, m := range a.Other {
		o.Add(m.Key, m.Value)
	}
}

// size is about how many bytes the result has.
func (a *Answer) size() int {
	n := len(a.Structured) + len(a.InputRequests) + 512
	for _, b := range a.Content {
		n += len(b) + 1
	}
	return n
}

// ValidText is b as UTF-8, which messages have to be: one other byte, of
// whatever an upstream said, would end the client's session.
func ValidText(b json.RawMessage) json.RawMessage {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// TextBlock is a content block of a text.
func TextBlock[T string | json.RawMessage](s T) json.RawMessage {
	text := rawjson.Quote(s)
	var o rawjson.Writer
	o.Grow(len(text) + 32)
	o.Add("type", json.RawMessage(`"text"`))
	o.Add("text", text)
	return o.Bytes()
}

// ErrorAnswer is an answer that says what is wrong with which thing, and what
// to do next.
func ErrorAnswer(msg, hint string) *Answer { return Failure(nil, msg, hint) }

// Failure is an ErrorAnswer about err, with what of it programs read.
func Failure(err error, msg, hint string) *Answer {
	var o rawjson.Writer
	o.Add("error", rawjson.Quote(msg))
	o.Add("hint", rawjson.Quote(hint))
	var failed *gateway.Error
	if errors.As(err, &failed) && failed.Again > 0 {
		o.Add("retry_after_ms", strconv.AppendInt(nil, max(failed.Again.Milliseconds(), 1), 10))
	}
	a := Object(o.Bytes())
	a.IsError = true
	return a
}
