package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
)

const (
	maxTitle = 200
	maxAbout = 8 << 10 // bytes of a description
)

// object is the tool object, its name apart.
func (t *toolBuilder) object(defs map[string]any) json.RawMessage {
	op := t.op
	var w rawjson.Writer
	if title := cut(oneLine(text(t.p.object()["summary"])), maxTitle); title != "" {
		w.Add("title", encode(title))
	}
	w.Add("description", encode(t.description()))
	w.Add("inputSchema", t.inputSchema(defs))
	if t.out != nil {
		w.Add("outputSchema", encode(t.out))
	}
	w.Add("annotations", encode(annotations(op.Method)))
	meta := map[string]any{"tags": t.tags()}
	if len(op.Tags) > 0 {
		meta["group"] = op.Tags[0]
	}
	w.Add("_meta", encode(meta))
	return w.Bytes()
}

// named puts the name before the rest of a tool object.
func named(name string, rest json.RawMessage) json.RawMessage {
	return append(append([]byte(`{"name":`), encode(name)...), append([]byte(","), rest[1:]...)...)
}

// encode writes what was read from a document, which always encodes.
func encode(v any) json.RawMessage {
	data, err := rawjson.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return data
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// description is summary and description, and the request's line, which has
// the words of the path.
func (t *toolBuilder) description() string {
	summary, about := oneLine(text(t.p.object()["summary"])), strings.TrimSpace(text(t.p.object()["description"]))
	about = cut(about, maxAbout)
	if summary != "" && !strings.HasPrefix(strings.ToLower(about), strings.ToLower(strings.TrimRight(summary, "."))) {
		if !strings.ContainsAny(summary[len(summary)-1:], ".!?") {
			summary += "."
		}
		about = strings.TrimSpace(summary + " " + about)
	}
	if t.op.Deprecated {
		about = "Deprecated. " + about
	}
	if about != "" {
		about += "\n\n"
	}
	return about + t.op.label()
}

func (t *toolBuilder) tags() []string {
	tags := append([]string{}, t.op.Tags...)
	if t.op.Deprecated && !slices.Contains(tags, "deprecated") {
		tags = append(tags, "deprecated")
	}
	return tags
}

// annotations say what an operation does by its method. POST is taken to add
// something; PUT and PATCH change what there is, which the protocol's default
// says.
func annotations(method string) map[string]bool {
	a := map[string]bool{"openWorldHint": true}
	switch method {
	case "GET", "HEAD", "OPTIONS":
		a["readOnlyHint"] = true
	case "PUT":
		a["idempotentHint"] = true
	case "DELETE":
		a["idempotentHint"], a["destructiveHint"] = true, true
	case "POST":
		a["destructiveHint"] = false
	}
	return a
}

// inputSchema is the schema of the arguments: those of the path first, then
// others that are required, then the rest.
func (t *toolBuilder) inputSchema(defs map[string]any) json.RawMessage {
	order := func(a argument) int {
		switch {
		case a.required && strings.Contains(t.op.Path, "{"+a.name+"}"):
			return 0
		case a.required:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(t.arguments, func(a, b argument) int { return order(a) - order(b) })
	var properties, w rawjson.Writer
	required := []string{}
	for _, a := range t.arguments {
		properties.Add(a.name, encode(a.schema))
		if a.required {
			required = append(required, a.name)
		}
	}
	w.Add("type", encode("object"))
	w.Add("properties", properties.Bytes())
	if len(required) > 0 {
		w.Add("required", encode(required))
	}
	switch {
	case t.extra != nil:
		w.Add("additionalProperties", encode(t.extra))
	case t.op.Body == nil || !t.op.Body.Open:
		w.Add("additionalProperties", encode(false))
	}
	if len(defs) > 0 {
		w.Add("$defs", encode(defs))
	}
	return w.Bytes()
}
