package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A member is one key of a JSON object with its value's bytes.
type member struct {
	key   string
	value json.RawMessage
}

// members reads a JSON object into its members, in order.
func members(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	start, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("read object: not an object")
	}
	var ms []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		m := member{key: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("read object: key %q: %w", m.key, err)
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return ms, nil
}

// An objectWriter writes a JSON object member by member, values as they are.
type objectWriter struct{ buf bytes.Buffer }

func (o *objectWriter) add(key string, value json.RawMessage) {
	if o.buf.Len() == 0 {
		o.buf.WriteByte('{')
	} else {
		o.buf.WriteByte(',')
	}
	o.buf.Write(quote(key))
	o.buf.WriteByte(':')
	o.buf.Write(value)
}

func (o *objectWriter) bytes() json.RawMessage {
	if o.buf.Len() == 0 {
		return json.RawMessage("{}")
	}
	o.buf.WriteByte('}')
	return o.buf.Bytes()
}

func object(ms []member) json.RawMessage {
	var o objectWriter
	for _, m := range ms {
		o.add(m.key, m.value)
	}
	return o.bytes()
}

func array(values []json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	buf.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(v)
	}
	buf.WriteByte(']')
	return buf.Bytes()
}

// jsonKind names the type of a JSON value: object, array, string, boolean,
// number or null; "" for what is no JSON value.
func jsonKind(raw json.RawMessage) string {
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
