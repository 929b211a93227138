package tool

import "encoding/json"

// eachMember calls f for the members of a JSON object in the order they are
// written, until f returns false; of anything else it calls nothing. data
// must be valid JSON. It exists because the order of a schema's parameters
// matters and maps lose it.
func eachMember(data []byte, f func(key string, value json.RawMessage) bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return
	}
	i++
	for {
		i = skipSpace(data, i)
		if i >= len(data) || data[i] != '"' {
			return
		}
		end := skipValue(data, i)
		key := unquote(data[i:end])
		i = skipSpace(data, skipSpace(data, end)+1) // past the colon
		end = skipValue(data, i)
		if i > len(data) || !f(key, data[i:end]) {
			return
		}
		i = skipSpace(data, end) + 1 // past the comma
	}
}

// eachElement calls f for the elements of a JSON array, as eachMember does.
func eachElement(data []byte, f func(value json.RawMessage) bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return
	}
	i++
	for {
		i = skipSpace(data, i)
		if i >= len(data) || data[i] == ']' {
			return
		}
		end := skipValue(data, i)
		if !f(data[i:end]) {
			return
		}
		i = skipSpace(data, end) + 1
	}
}

// member returns the last member of that key, as JSON decoders take it.
func member(data []byte, key string) (value json.RawMessage) {
	eachMember(data, func(k string, v json.RawMessage) bool {
		if k == key {
			value = v
		}
		return true
	})
	return value
}

// unquote decodes a JSON string; anything else gives "".
func unquote(data []byte) string {
	if len(data) < 2 || data[0] != '"' {
		return ""
	}
	plain := data[1 : len(data)-1]
	for _, c := range plain {
		if c == '\\' || c >= 0x80 {
			var s string
			if json.Unmarshal(data, &s) != nil {
				return ""
			}
			return s
		}
	}
	return string(plain)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth // a closing bracket of the parent is not ours
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(data)
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
