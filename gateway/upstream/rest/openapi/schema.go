package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bounds of one schema, in bytes and about.
const (
	inlineInput  = 6 << 10  // until here what is referred to is put in place, then into $defs
	wholeInput   = 64 << 10 // from here on the rest is left open
	inlineOutput = 3 << 10
	wholeOutput  = 16 << 10

	deepest = 40   // levels of a schema
	maxEnum = 1000 // values of an enum
)

// A builder rewrites schemas of one tool as JSON Schema 2020-12: references
// are put in place up to a limit, then gathered in $defs; what only OpenAPI
// knows is left out.
type builder struct {
	r             *reader
	output        bool // a reply's, else a request's
	inline, whole int
	size          int
	names         map[string]string // of $defs, by key
	taken         map[string]bool
	defs          map[string]any
	queue         []pending
	stack         []string // keys that are being put in place
	cut           bool     // something was left open
}

// A pending definition is named, and not built yet.
type pending struct {
	name, key string
	target    place
}

func (r *reader) input() *builder {
	return &builder{r: r, inline: inlineInput, whole: wholeInput}
}

func (r *reader) output() *builder {
	return &builder{r: r, output: true, inline: inlineOutput, whole: wholeOutput}
}

// schema rewrites one schema.
func (b *builder) schema(p place, depth int) any {
	switch v := p.v.(type) {
	case bool:
		return v
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return b.reference(p.file, ref, text(v["description"]), depth)
		}
		if depth > deepest || b.size > b.whole {
			return b.open(v)
		}
		return b.object(p, depth)
	}
	return map[string]any{}
}

// open stands for a schema that is left out.
func (b *builder) open(v map[string]any) any {
	b.cut = true
	m := map[string]any{}
	if t := schemaType(v["type"]); t != nil && !truth(v["nullable"], false) {
		m["type"] = t
	}
	return m
}

func (b *builder) reference(f *file, ref, description string, depth int) any {
	target, key, err := b.r.follow(place{f, map[string]any{"$ref": ref}})
	if err != nil {
		b.r.warn("%v; anything is allowed there", err)
		return described(map[string]any{}, description)
	}
	if name := b.names[key]; name != "" {
		return described(map[string]any{"$ref": "#/$defs/" + name}, description)
	}
	if b.size > b.whole {
		return described(b.open(target.object()), description)
	}
	if b.size > b.inline || depth > deepest || slices.Contains(b.stack, key) {
		return described(map[string]any{"$ref": "#/$defs/" + b.define(key, target)}, description)
	}
	b.stack = append(b.stack, key)
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()
	return described(b.schema(target, depth+1), description)
}

// described gives a schema another description, which stands beside a
// reference and is closer to the matter.
func described(schema any, description string) any {
	m, ok := schema.(map[string]any)
	if !ok || description == "" {
		return schema
	}
	m = maps.Clone(m)
	m["description"] = description
	return m
}

// define gives what key names a place in $defs.
func (b *builder) define(key string, target place) string {
	name := key[strings.LastIndexAny(key, "/#")+1:]
	name = strings.Map(func(c rune) rune {
		if c < 0x80 && (c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-' || c == '.') {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		name = "schema"
	}
	if b.names == nil {
		b.names, b.taken, b.defs = map[string]string{}, map[string]bool{}, map[string]any{}
	}
	unique := name
	for n := 2; b.taken[unique]; n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	b.names[key], b.taken[unique] = unique, true
	b.queue = append(b.queue, pending{unique, key, target})
	return unique
}

// definitions are the $defs that the schemas built so far need; nil for none.
func (b *builder) definitions() map[string]any {
	for len(b.queue) > 0 {
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.stack = []string{next.key}
		b.defs[next.name] = b.schema(next.target, 1)
		b.stack = nil
	}
	return b.defs
}

// object rewrites the keywords of a schema.
func (b *builder) object(p place, depth int) any {
	in, out := p.object(), map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if v := b.keyword(p, key, depth); v != nil {
			out[key] = v
		}
	}
	b.bounds(in, out)
	b.examples(in, out)
	b.enum(in, out)
	if out["items"] == nil && out["type"] == "array" {
		out["items"] = map[string]any{}
	}
	if truth(in["nullable"], false) || truth(in["x-nullable"], false) {
		return nullable(out)
	}
	return out
}

// keyword is the value of one keyword; nil leaves it out.
func (b *builder) keyword(p place, key string, depth int) any {
	v := p.object()[key]
	switch key {
	case "properties":
		return b.properties(p, depth)
	case "patternProperties", "dependentSchemas":
		return b.each(p.at(key), depth)
	case "items":
		if _, tuple := v.([]any); tuple {
			return nil // prefixItems of old drafts
		}
		return b.under(p.at(key), depth)
	case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties":
		return b.under(p.at(key), depth)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return b.listed(p.at(key), depth)
	case "required":
		return b.required(p)
	case "type":
		return schemaType(v)
	case "title", "description", "pattern", "format":
		if s := text(v); s != "" {
			b.size += len(s) + len(key) + 6
			return s
		}
	case "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
		"minContains", "maxContains":
		if n, ok := v.(json.Number); ok {
			b.size += len(key) + 8
			return n
		}
	case "uniqueItems", "deprecated":
		if v == true {
			return v
		}
	case "default", "const":
		b.size += len(key) + size(v)
		return v
	}
	return nil
}

// under rewrites a schema that is the value of a keyword.
func (b *builder) under(p place, depth int) any {
	b.size += 12
	switch p.v.(type) {
	case bool, map[string]any:
		return b.schema(p, depth+1)
	}
	return nil
}

func (b *builder) each(p place, depth int) any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(p.object())) {
		b.size += len(name) + 6
		out[name] = b.schema(p.at(name), depth+1)
	}
	return out
}

func (b *builder) listed(p place, depth int) any {
	var out []any
	for _, v := range list(p.v) {
		out = append(out, b.schema(place{p.file, v}, depth+1))
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// properties are those that go in this direction.
func (b *builder) properties(p place, depth int) any {
	all := p.at("properties")
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all.object())) {
		if b.hidden(all.at(name)) {
			continue
		}
		b.size += len(name) + 6
		out[name] = b.schema(all.at(name), depth+1)
	}
	return out
}

// hidden reports a property that only the other direction has.
func (b *builder) hidden(p place) bool {
	target, _, err := b.r.follow(p)
	if err != nil {
		return false
	}
	key := "readOnly"
	if b.output {
		key = "writeOnly"
	}
	return truth(target.object()[key], false) || truth(p.object()[key], false)
}

func (b *builder) required(p place) any {
	properties := p.at("properties")
	var out []any
	seen := map[string]bool{}
	for _, v := range list(p.object()["required"]) {
		name, ok := v.(string)
		if !ok || seen[name] || b.hidden(properties.at(name)) {
			continue
		}
		seen[name] = true
		b.size += len(name) + 3
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// schemaType is the value of "type", nil for what is none.
func schemaType(v any) any {
	switch v := v.(type) {
	case string:
		switch {
		case v == "file":
			return "string"
		case slices.Contains(schemaTypes, v):
			return v
		}
	case []any:
		var out []any
		for _, t := range v {
			if s, ok := t.(string); ok && slices.Contains(schemaTypes, s) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// bounds are exclusive by a flag of their own in old drafts.
func (b *builder) bounds(in, out map[string]any) {
	for _, pair := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		switch v := in[pair[0]].(type) {
		case json.Number:
			out[pair[0]] = v
		case bool:
			if n, ok := out[pair[1]]; v && ok {
				out[pair[0]] = n
				delete(out, pair[1])
			}
		}
	}
}

// maxExample bounds an example that is kept, in bytes.
const maxExample = 300

func (b *builder) examples(in, out map[string]any) {
	var all []any
	if v, ok := in["example"]; ok {
		all = append(all, v)
	}
	all = append(all, list(in["examples"])...)
	all = slices.DeleteFunc(all, func(v any) bool { return size(v) > maxExample })
	if len(all) == 0 || b.output {
		return
	}
	all = all[:min(len(all), 3)]
	b.size += size(all) + 12
	out["examples"] = all
}

// enum keeps the values that are allowed unless they are too many to tell.
func (b *builder) enum(in, out map[string]any) {
	values := list(in["enum"])
	if len(values) == 0 {
		return
	}
	if n := len(values); n > maxEnum {
		b.r.warn("an enum has %d values; more than %d are not checked", n, maxEnum)
		note := fmt.Sprintf("One of %d values, such as %s.", n, brief(values[:5]))
		out["description"] = strings.TrimSpace(text(out["description"]) + " " + note)
		return
	}
	b.size += size(values)
	out["enum"] = values
}

// nullable also allows null.
func nullable(out map[string]any) any {
	if values, ok := out["enum"].([]any); ok && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
	}
	switch t := out["type"].(type) {
	case string:
		out["type"] = []any{t, "null"}
	case []any:
		if !slices.Contains(t, any("null")) {
			out["type"] = append(slices.Clone(t), "null")
		}
	case nil:
		if out["allOf"] != nil || out["oneOf"] != nil || out["anyOf"] != nil {
			return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
		}
	}
	return out
}

// size is about how many bytes a value has as JSON.
func size(v any) int {
	n := 2
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case json.Number:
		return len(v)
	case []any:
		for _, e := range v {
			n += size(e) + 1
		}
	case map[string]any:
		for key, e := range v {
			n += len(key) + size(e) + 4
		}
	default:
		return 5
	}
	return n
}

// brief lists values for people.
func brief(values []any) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, ", ")
}
