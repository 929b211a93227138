package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of one tool, and of a message that is handed to
// the SDK, which decodes none that is deeper.
const MaxDepth = 1000

var (
	ErrDeep  = fmt.Errorf("nested deeper than %d", MaxDepth)
	errSplit = errors.New("neither an object nor an array")
)

// Split yields the members of an object, `"key": value`, or the elements of
// an array, without decoding any, and how deep each is nested. It bounds what
// a decoder would build before anyone could count, and reads past what is
// nested too deep to decode. Its parts need not be valid JSON.
func Split(data []byte, yield func(part []byte, depth int) bool) error {
	data = bytes.TrimSpace(data)
	if len(data) < 2 || data[0] != '{' && data[0] != '[' || data[len(data)-1] != data[0]+2 {
		return errSplit
	}
	body := data[1 : len(data)-1]
	depth, deepest, start, inString := 0, 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		case c == ',' && depth == 0:
			if !yield(bytes.TrimSpace(body[start:i]), deepest) {
				return nil
			}
			start, deepest = i+1, 0
		}
	}
	if last := bytes.TrimSpace(body[start:]); len(last) > 0 {
		yield(last, deepest)
	}
	return nil
}

// Members returns the members of an object as they came.
func Members(data []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return nil, errSplit
	}
	var bad error
	err := Split(data, func(part []byte, _ int) bool {
		var key string
		dec := json.NewDecoder(bytes.NewReader(part))
		if bad = dec.Decode(&key); bad != nil {
			return false
		}
		value, ok := bytes.CutPrefix(bytes.TrimLeft(part[dec.InputOffset():], " \t\r\n"), []byte(":"))
		if !ok {
			bad = errors.New("a member without a value")
		}
		fields[key] = bytes.TrimSpace(value)
		return ok
	})
	return fields, errors.Join(err, bad)
}
