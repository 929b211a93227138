package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A content is the media types of a body with their schemas.
type content struct {
	types    map[string]place // Media Type Objects
	required bool
	about    string
}

// rank orders media types by how well a caller's arguments fit them.
func rank(mediaType string) int {
	t := bare(mediaType)
	switch {
	case t == "application/json":
		return 0
	case t == "application/json-patch+json":
		return 3
	case t == "application/merge-patch+json":
		return 1
	case strings.HasSuffix(t, "+json") || t == "text/json":
		return 2
	case t == "application/x-www-form-urlencoded":
		return 4
	case t == "multipart/form-data":
		return 5
	case t == "*/*" || t == "application/*":
		return 6
	case strings.HasPrefix(t, "text/"):
		return 7
	case strings.HasSuffix(t, "/xml") || strings.HasSuffix(t, "+xml"):
		return 8
	}
	return 9
}

// bare is a media type without parameters, in lower case.
func bare(mediaType string) string {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// IsJSON reports a media type whose texts are JSON.
func IsJSON(mediaType string) bool {
	t := bare(mediaType)
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")
}

// choose is the media type in which a body is sent.
func (c content) choose() string {
	return slices.MinFunc(slices.Sorted(maps.Keys(c.types)), func(a, b string) int { return rank(a) - rank(b) })
}

// kind is how a body of that type is written.
func kind(mediaType string, schema map[string]any) Kind {
	switch n := rank(mediaType); {
	case n <= 3:
		return JSON
	case n == 4:
		return Form
	case n == 5:
		return Multipart
	case n == 6 && (schema == nil || schema["format"] != "binary"):
		return JSON
	case n == 7 || n == 8:
		return Text
	}
	return Binary
}

// body adds the arguments of a request's body to the input.
func (t *toolBuilder) body(c content) {
	if len(c.types) == 0 {
		return
	}
	mediaType := c.choose()
	if form, multi := "application/x-www-form-urlencoded", "multipart/form-data"; mediaType == form {
		if p, ok := c.types[multi]; ok && t.hasFiles(p.at("schema")) {
			mediaType = multi
		}
	}
	media := c.types[mediaType]
	target, _, err := t.r.follow(media.at("schema"))
	if err != nil {
		t.r.warn("%s: body: %v", t.op.label(), err)
	}
	body := &Body{Kind: kind(mediaType, target.object()), Type: mediaType, Required: c.required}
	if body.Kind == JSON && !IsJSON(mediaType) {
		body.Type = "application/json"
	}
	t.op.Body = body
	switch body.Kind {
	case Text:
		t.whole(map[string]any{"type": "string"}, sentence(c.about, "The body, as "+mediaType+"."))
	case Binary:
		t.whole(map[string]any{"type": "string"}, sentence(c.about, "The body ("+mediaType+"): a data: URL, or text as it is."))
	default:
		t.fields(media, target, c)
	}
}

func sentence(parts ...string) string {
	return strings.TrimSpace(strings.Join(parts, " "))
}

// whole makes the body one argument.
func (t *toolBuilder) whole(schema any, about string) {
	name := "body"
	for n := 0; t.taken(name); n++ {
		name = []string{"request_body", "http_request_body"}[min(n, 1)]
	}
	t.op.Body.Argument = name
	t.add(name, described(schema, about), t.op.Body.Required)
}

// fields makes the fields of a body arguments when they are an object's, known
// and not named like parameters.
func (t *toolBuilder) fields(media, target place, c content) {
	body := t.op.Body
	if body.Kind != JSON {
		t.parts(media, target)
	}
	schema := t.in.schema(media.at("schema"), 2)
	flat, ok := flatten(schema)
	if ok {
		for name := range object(flat["properties"]) {
			ok = ok && !t.taken(name)
		}
	}
	required := texts(flat["required"])
	if !ok || !body.Required && len(required) > 0 {
		if body.Kind != JSON {
			schema = t.filesIn(schema)
		}
		about := c.about
		if description := text(object(schema)["description"]); about == "" {
			about = description
		}
		t.whole(schema, about)
		return
	}
	properties := object(flat["properties"])
	body.Fields = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		body.Fields[name] = true
		p := properties[name]
		if body.Binary[name] {
			p = asFile(p)
		}
		t.add(name, p, slices.Contains(required, name))
	}
	switch extra := flat["additionalProperties"].(type) {
	case bool:
		body.Open = extra
	case map[string]any:
		body.Open = true
		t.extra = extra
	}
}

// flatten is the one object schema that a schema amounts to, with allOf
// joined; false when it is none, or more than its properties.
func flatten(schema any) (map[string]any, bool) {
	m, ok := schema.(map[string]any)
	if !ok {
		return nil, false
	}
	for key := range m {
		switch key {
		case "type", "properties", "required", "additionalProperties", "description", "title", "examples", "allOf", "default", "deprecated":
		default:
			return nil, false
		}
	}
	if t := m["type"]; t != nil && t != "object" {
		return nil, false
	}
	parts := []map[string]any{m}
	for _, part := range list(m["allOf"]) {
		flat, ok := flatten(part)
		if !ok {
			return nil, false
		}
		parts = append(parts, flat)
	}
	return joined(parts)
}

// joined is one object of the properties of all parts; false when two have
// one of the same name that is not the same, or when there is none.
func joined(parts []map[string]any) (map[string]any, bool) {
	properties, required, out := map[string]any{}, []any{}, map[string]any{}
	for _, part := range parts {
		for name, schema := range object(part["properties"]) {
			if before, twice := properties[name]; twice && fmt.Sprint(before) != fmt.Sprint(schema) {
				return nil, false
			}
			properties[name] = schema
		}
		for _, name := range list(part["required"]) {
			if !slices.Contains(required, name) {
				required = append(required, name)
			}
		}
		if extra, has := part["additionalProperties"]; has && out["additionalProperties"] == nil {
			out["additionalProperties"] = extra
		}
	}
	for _, name := range texts(required) { // one that must be there need not be described
		if properties[name] == nil {
			properties[name] = map[string]any{}
		}
	}
	out["properties"], out["required"] = properties, required
	return out, len(properties) > 0
}

// hasFiles reports a form with a field that is a file.
func (t *toolBuilder) hasFiles(schema place) bool {
	target, _, err := t.r.follow(schema)
	if err != nil {
		return false
	}
	properties := target.at("properties")
	for name := range properties.object() {
		if t.isFile(properties.at(name)) {
			return true
		}
	}
	return false
}

// isFile reports a field of a form that is a file, or a list of them.
func (t *toolBuilder) isFile(p place) bool {
	target, _, err := t.r.follow(p)
	if err != nil {
		return false
	}
	m := target.object()
	if m["type"] == "array" {
		return t.isFile(target.at("items"))
	}
	return m["type"] == "file" || m["format"] == "binary" || m["type"] == "string" && m["contentMediaType"] != nil && m["contentEncoding"] == nil
}

// parts notes which fields of a form are files, and how others are written.
func (t *toolBuilder) parts(media, target place) {
	body := t.op.Body
	body.Binary, body.Parts = map[string]bool{}, map[string]Part{}
	properties := target.at("properties")
	for name := range properties.object() {
		if body.Kind == Multipart && t.isFile(properties.at(name)) {
			body.Binary[name] = true
		}
	}
	for name, v := range object(media.object()["encoding"]) {
		e := object(v)
		style := text(e["style"])
		body.Parts[name] = Part{Type: text(e["contentType"]), Style: style, Explode: truth(e["explode"], style == "form" || style == "")}
	}
}

// filesIn describes the files among the fields of a form that is one argument.
func (t *toolBuilder) filesIn(schema any) any {
	m := maps.Clone(object(schema))
	properties := maps.Clone(object(m["properties"]))
	for name := range t.op.Body.Binary {
		if p, ok := properties[name]; ok {
			properties[name] = asFile(p)
		}
	}
	if len(properties) > 0 {
		m["properties"] = properties
	}
	return m
}

// asFile tells how a file is given.
func asFile(schema any) any {
	m := maps.Clone(object(schema))
	if items := object(m["items"]); items != nil {
		m["items"] = asFile(items)
		return m
	}
	delete(m, "format")
	m["type"] = "string"
	return described(m, sentence(text(m["description"]), "A file: a data: URL, or its text."))
}
