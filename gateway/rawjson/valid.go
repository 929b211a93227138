package rawjson

// maxDepth is how deep JSON may be nested for encoding/json, too.
const maxDepth = 10000

// inText are the bytes of a JSON string that need no second look.
var inText = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// Valid is json.Valid, several times as fast for large values.
func Valid(data []byte) bool {
	var open []byte // the brackets around i
	for i := skipSpace(data, 0); i < len(data); {
		switch c := data[i]; c {
		case '{', '[':
			if open = append(open, c); len(open) > maxDepth {
				return false
			}
			i = skipSpace(data, i+1)
			if i < len(data) && data[i] == c+2 {
				break // the loop below closes it
			}
			if c == '{' {
				i = keyEnd(data, i)
			}
			continue
		default:
			i = scalarEnd(data, i)
		}
		for more := true; more; {
			i = skipSpace(data, i)
			switch {
			case len(open) == 0:
				return i == len(data)
			case i >= len(data):
				return false
			case data[i] == open[len(open)-1]+2:
				open = open[:len(open)-1]
				i++
				continue
			case data[i] != ',':
				return false
			}
			i, more = skipSpace(data, i+1), false
			if open[len(open)-1] == '{' {
				i = keyEnd(data, i)
			}
		}
	}
	return false
}

// keyEnd is where the value of the key at i begins; past data for none.
func keyEnd(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return len(data) + 1
	}
	i = skipSpace(data, textEnd(data, i))
	if i >= len(data) || data[i] != ':' {
		return len(data) + 1
	}
	return skipSpace(data, i+1)
}

// scalarEnd is where the string, number or word at i ends; past data for none.
func scalarEnd(data []byte, i int) int {
	if data[i] == '"' {
		return textEnd(data, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if data[i] == word[0] {
			if len(data)-i >= len(word) && string(data[i:i+len(word)]) == word {
				return i + len(word)
			}
			return len(data) + 1
		}
	}
	return numberEnd(data, i)
}

func textEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		if inText[data[i]] {
			continue
		}
		switch {
		case data[i] == '"':
			return i + 1
		case data[i] < ' ' || i+1 == len(data):
			return len(data) + 1
		}
		i++ // past the backslash
		switch data[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if _, ok := hex4(data[i+1:]); !ok {
				return len(data) + 1
			}
			i += 4
		default:
			return len(data) + 1
		}
	}
	return len(data) + 1
}

func numberEnd(data []byte, i int) int {
	if data[i] == '-' {
		i++
	}
	first := i
	if i = digitsEnd(data, i); i == first || i > first+1 && data[first] == '0' {
		return len(data) + 1
	}
	if i < len(data) && data[i] == '.' {
		first = i + 1
		if i = digitsEnd(data, first); i == first {
			return len(data) + 1
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		first = i
		if i = digitsEnd(data, i); i == first {
			return len(data) + 1
		}
	}
	return i
}

func digitsEnd(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// hex4 is the number of four hexadecimal digits.
func hex4(data []byte) (r rune, ok bool) {
	if len(data) < 4 {
		return 0, false
	}
	for _, c := range data[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
