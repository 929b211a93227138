package prism

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// invent makes arguments that a schema allows: those that must be given, or
// all of them. Examples, defaults and enums are taken first, and of several forms
// the one that is picked.
func invent(schema json.RawMessage, all bool, pick int) json.RawMessage {
	var root map[string]any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		return json.RawMessage("{}")
	}
	defs, _ := root["$defs"].(map[string]any)
	v := inventor{defs, all, pick % everyForm, pick == everyForm}.value(root, 0)
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

type inventor struct {
	defs map[string]any
	all  bool
	pick int  // of several forms
	fill bool // it, too, with what need not be given
}

// everyForm is how many forms are tried, and then the first one filled.
const everyForm = 3

// maxInvented bounds the levels of what need not be given.
const maxInvented = 3

func (in inventor) value(schema any, depth int) any {
	s := in.joined(schema, 0)
	if v, ok := s["const"]; ok {
		return v
	}
	for _, key := range []string{"examples", "enum"} {
		if l, _ := s[key].([]any); len(l) > 0 {
			if key == "enum" || in.fits(s, l[0]) {
				return l[0]
			}
		}
	}
	switch kindOf(s) {
	case "object":
		return in.object(s, depth)
	case "array":
		return in.list(s, depth)
	case "integer", "number":
		return number(s)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return text(s)
}

// fits keeps examples of the wrong kind out: documents have many.
func (in inventor) fits(s map[string]any, v any) bool {
	_, isText := v.(string)
	return isText && kindOf(s) == "string" && s["pattern"] == nil && s["enum"] == nil && s["format"] == nil
}

// joined is a schema with what it refers to, all of allOf and one of anyOf and
// oneOf in it.
func (in inventor) joined(schema any, hops int) map[string]any {
	s, _ := schema.(map[string]any)
	if hops > 20 {
		return s
	}
	out := map[string]any{}
	add := func(other map[string]any) {
		for key, v := range other {
			switch have := out[key].(type) {
			case map[string]any:
				if m, ok := v.(map[string]any); ok && key == "properties" {
					m = maps.Clone(m)
					maps.Copy(m, have)
					v = m
				}
			case []any:
				if l, ok := v.([]any); ok && key == "required" {
					v = append(slices.Clone(have), l...)
				}
			}
			out[key] = v
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		add(in.joined(in.defs[strings.TrimPrefix(ref, "#/$defs/")], hops+1))
	}
	if parts, _ := s["allOf"].([]any); len(parts) > 0 {
		for _, part := range parts {
			add(in.joined(part, hops+1))
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if parts, _ := s[key].([]any); len(parts) > 0 {
			add(in.joined(parts[min(in.pick, len(parts)-1)], hops+1))
			out["alternatives"] = true
		}
	}
	own := maps.Clone(s)
	for _, key := range []string{"$ref", "allOf", "oneOf", "anyOf"} {
		delete(own, key)
	}
	add(own)
	return out
}

func kindOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return one.(string)
			}
		}
		return "null"
	}
	if s["properties"] != nil {
		return "object"
	}
	return ""
}

func (in inventor) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		out[name.(string)] = in.value(properties[name.(string)], depth+1)
	}
	if in.all && depth < maxInvented && (in.fill || s["alternatives"] == nil) { // all fields would fit several
		for name, p := range properties {
			if _, has := out[name]; !has {
				out[name] = in.value(p, depth+1)
			}
		}
	}
	for n := 0; len(out) < whole(s["minProperties"]); n++ {
		out[fmt.Sprint("key", n)] = in.value(s["additionalProperties"], depth+1)
	}
	return out
}

func (in inventor) list(s map[string]any, depth int) any {
	n := whole(s["minItems"])
	if in.all && n == 0 && depth < maxInvented {
		n = 1
	}
	out := []any{}
	for range n {
		out = append(out, in.value(s["items"], depth+1))
	}
	return out
}

func whole(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64() // 0 for none
	return int(i)
}

func number(s map[string]any) any {
	for _, key := range []string{"minimum", "maximum"} {
		if n, ok := s[key].(json.Number); ok {
			return n
		}
	}
	if s["exclusiveMinimum"] != nil {
		return whole(s["exclusiveMinimum"]) + 1
	}
	return max(1, whole(s["multipleOf"]))
}

var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "email": "a@example.com", "uri": "https://example.com/a",
	"uuid": "9b2f5a4e-6c1d-4b6a-8e0f-1a2b3c4d5e6f", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "a.example.com", "repo.nwo": "a/b",
}

// tried are texts for the patterns of the documents, the first that fits.
var tried = []string{
	"abc", "abcd", "1.2.3", "refs/heads/main", "https://example.com", "pkg:npm/a@1", "sha256:" + strings.Repeat("a", 64), strings.Repeat("a", 40),
	"ssh-ed25519 AAAA", "github", "issue", "a_token_1", "prefix_" + strings.Repeat("a", 32), "updated_secret_" + strings.Repeat("A", 16), "/v1/refunds",
}

func matching(pattern string) string {
	re, err := regexp.Compile(pattern)
	if i := slices.IndexFunc(tried, func(s string) bool { return err == nil && re.MatchString(s) }); i >= 0 {
		return tried[i]
	}
	return tried[0]
}

func text(s map[string]any) string {
	if f, ok := s["format"].(string); ok && formats[f] != "" {
		return formats[f]
	}
	if p, ok := s["pattern"].(string); ok {
		return matching(p)
	}
	t := "abc"
	if n := whole(s["minLength"]); n > len(t) {
		t = strings.Repeat("a", n)
	}
	if n := whole(s["maxLength"]); n > 0 && n < len(t) {
		t = t[:n]
	}
	return t
}
