package call

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/upstream/rest/openapi"
)

const (
	unreserved = "-._~"
	reserved   = ":/?@!$'()*,;[]" // those that end no part of a query
)

// escape writes what is neither a letter, a digit nor unreserved as %XX;
// keep leaves reserved characters, too.
func escape(s string, keep bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', strings.IndexByte(unreserved, c) >= 0,
			keep && strings.IndexByte(reserved, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// plainText is a value as one text; objects and lists are JSON.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	data, err := rawjson.Marshal(v)
	if err != nil { // it was read from JSON
		panic(err)
	}
	return string(data)
}

// An escaper writes one text.
type escaper func(string) string

func escaped(s string) string { return escape(s, false) }
func kept(s string) string    { return escape(s, true) }
func asItIs(s string) string  { return s }

// items are the texts of a list, keys and values of an object in turn, or the
// one text; equals joins a key to its value.
func items(v any, esc escaper, equals bool) []string {
	switch v := v.(type) {
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			out = append(out, esc(plainText(e)))
		}
		return out
	case map[string]any:
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			key, value := esc(key), esc(plainText(v[key]))
			if equals {
				out = append(out, key+"="+value)
			} else {
				out = append(out, key, value)
			}
		}
		return out
	}
	return []string{esc(plainText(v))}
}

// joined is a value in style simple.
func joined(p openapi.Param, v any, esc escaper) string {
	return strings.Join(items(v, esc, p.Explode), ",")
}

// inStyle is a value as a part of a path.
func inStyle(p openapi.Param, v any) string {
	list := items(v, escaped, p.Explode)
	switch p.Style {
	case "label":
		if p.Explode {
			return "." + strings.Join(list, ".")
		}
		return "." + strings.Join(list, ",")
	case "matrix":
		return matrix(p, v, list)
	}
	return strings.Join(list, ",")
}

func matrix(p openapi.Param, v any, list []string) string {
	name := escaped(p.Name)
	_, object := v.(map[string]any)
	switch {
	case object && p.Explode:
		return ";" + strings.Join(list, ";")
	case p.Explode:
		return ";" + name + "=" + strings.Join(list, ";"+name+"=")
	}
	return ";" + name + "=" + strings.Join(list, ",")
}

// separators join the items of a list in one pair.
var separators = map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}

// pairs are the escaped pairs of a query, a form or cookies for one value.
func pairs(p openapi.Param, v any) []string {
	esc := escaped
	if p.Reserved {
		esc = kept
	}
	name := escaped(p.Name)
	object, isObject := v.(map[string]any)
	_, isList := v.([]any)
	switch {
	case p.Style == "deepObject":
		return deep(name, v, esc)
	case p.Explode && isObject:
		return items(object, esc, true)
	case p.Explode && isList:
		var out []string
		for _, item := range items(v, esc, false) {
			out = append(out, name+"="+item)
		}
		return out
	}
	sep := separators[p.Style]
	if sep == "" {
		sep = ","
	}
	return []string{name + "=" + strings.Join(items(v, esc, false), sep)}
}

// deep writes name[key]=value, at every depth.
func deep(name string, v any, esc escaper) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, deep(name+"%5B"+escaped(key)+"%5D", v[key], esc)...)
		}
	case []any:
		for i, e := range v {
			out = append(out, deep(name+"%5B"+strconv.Itoa(i)+"%5D", e, esc)...)
		}
	default:
		out = []string{name + "=" + esc(plainText(v))}
	}
	return out
}
