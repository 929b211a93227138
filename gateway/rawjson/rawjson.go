// Package rawjson reads and writes JSON objects without touching their values:
// numbers keep their digits, keys their order, and HTML is not escaped.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A Member is one key of a JSON object with its value's bytes.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members reads a JSON object into its members, in order.
func Members(raw json.RawMessage) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	start, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("read object: not an object")
	}
	var ms []Member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		m := Member{Key: key.(string)}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, fmt.Errorf("read object: key %q: %w", m.Key, err)
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return ms, nil
}

// A Writer writes a JSON object member by member, values as they are.
type Writer struct{ buf bytes.Buffer }

// Add writes one member.
func (o *Writer) Add(key string, value json.RawMessage) {
	if o.buf.Len() == 0 {
		o.buf.WriteByte('{')
	} else {
		o.buf.WriteByte(',')
	}
	o.buf.Write(Quote(key))
	o.buf.WriteByte(':')
	o.buf.Write(value)
}

// Grow makes room for n bytes.
func (o *Writer) Grow(n int) { o.buf.Grow(n) }

// AddArray writes one member, an array of the values.
func (o *Writer) AddArray(key string, values []json.RawMessage) {
	o.Add(key, nil)
	writeArray(&o.buf, values)
}

// Bytes is the whole object.
func (o *Writer) Bytes() json.RawMessage {
	if o.buf.Len() == 0 {
		return json.RawMessage("{}")
	}
	o.buf.WriteByte('}')
	return o.buf.Bytes()
}

// Object is a JSON object of the members.
func Object(ms []Member) json.RawMessage {
	var o Writer
	for _, m := range ms {
		o.Add(m.Key, m.Value)
	}
	return o.Bytes()
}

// Edit is the object raw with the value that edit gives in place of each
// member's, and without the members for which it gives nil. Everything else
// keeps its bytes. raw has to be valid JSON.
func Edit(raw json.RawMessage, edit func(key string, value json.RawMessage) json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(raw)+64)
	end, kept := skipSpace(raw, 0)+1, false // of what was read
	out = append(out, raw[:end]...)
	for i := skipSpace(raw, end); i < len(raw) && raw[i] == '"'; {
		keyEnd := skipValue(raw, i)
		begin := skipSpace(raw, skipSpace(raw, keyEnd)+1) // past the colon
		stop := skipValue(raw, begin)
		if value := edit(Text(raw[i:keyEnd]), raw[begin:stop:stop]); value != nil {
			before := raw[end:i]
			if !kept {
				before = bytes.Replace(before, []byte(","), nil, 1)
			}
			out = append(append(append(out, before...), raw[i:begin]...), value...)
			kept = true
		}
		end = stop
		i = skipSpace(raw, skipSpace(raw, stop)+1) // past the comma
	}
	return append(out, raw[end:]...)
}

// Array is a JSON array of the values.
func Array(values []json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	writeArray(&buf, values)
	return buf.Bytes()
}

func writeArray(buf *bytes.Buffer, values []json.RawMessage) {
	buf.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(v)
	}
	buf.WriteByte(']')
}

// Kind names the type of a JSON value: object, array, string, boolean,
// number or null; "" for what is no JSON value.
func Kind(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// Marshal is json.Marshal without escaping of HTML, which costs tokens and
// changes bytes.
func Marshal(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
