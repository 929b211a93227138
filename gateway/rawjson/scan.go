package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Each calls f with the key and the value of each member of an object, in
// order, without decoding or copying them: a value is part of raw. Of what is
// no object it calls nothing. raw has to be valid JSON.
func Each(raw json.RawMessage, f func(key string, value json.RawMessage)) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return
	}
	for i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; {
		end := skipValue(raw, i)
		key := Text(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // past the colon
		end = skipValue(raw, i)
		if i >= end {
			return
		}
		f(key, raw[i:end:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // past the comma
	}
}

// Elements are the elements of an array as parts of raw, which has to be valid
// JSON; ok is false for what is no array.
func Elements(raw json.RawMessage) (elements []json.RawMessage, ok bool) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, false
	}
	for i = skipSpace(raw, i+1); i < len(raw) && raw[i] != ']'; {
		end := skipValue(raw, i)
		elements = append(elements, raw[i:end:end])
		i = skipSpace(raw, skipSpace(raw, end)+1)
	}
	return elements, true
}

// Text decodes a JSON string; anything else gives "".
func Text(raw json.RawMessage) (s string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if !utf8.Valid(raw) {
		_ = json.Unmarshal(raw, &s) // a string of valid JSON decodes
		return s
	}
	raw = raw[1 : len(raw)-1]
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for ; n >= 0 && n+1 < len(raw); n = bytes.IndexByte(raw, '\\') {
		out = append(out, raw[:n]...)
		if raw[n+1] == 'u' {
			r, size := unescapedRune(raw[n:])
			out, raw = utf8.AppendRune(out, r), raw[n+size:]
			continue
		}
		out, raw = append(out, unescaped(raw[n+1])), raw[n+2:]
	}
	return string(append(out, raw...))
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unescapedRune decodes the escaped unit that raw begins with, or two of them that
// are one character.
func unescapedRune(raw []byte) (r rune, size int) {
	const one = len(`\u0000`)
	first, ok := hex4(raw[2:])
	if !ok {
		return utf8.RuneError, min(2, len(raw))
	}
	if utf16.IsSurrogate(first) {
		if bytes.HasPrefix(raw[one:], []byte(`\u`)) {
			if second, ok := hex4(raw[one+2:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
				return utf16.DecodeRune(first, second), 2 * one
			}
		}
		return utf8.RuneError, one
	}
	return first, one
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = skipString(data, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth // a bracket of the parent is not ours
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

// skipString looks for quotes, which are far between in long texts.
func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for data[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(data)
}
