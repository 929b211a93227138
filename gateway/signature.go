package gateway

import (
	"encoding/json"
	"slices"
	"strings"
)

// A schemaNode is what signatures show of a JSON Schema.
type schemaNode struct {
	Ref        string            `json:"$ref"`
	Type       json.RawMessage   `json:"type"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Items      json.RawMessage   `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
}

// maxRefs bounds the references followed from one node, as they may lead in
// circles.
const maxRefs = 8

// node reads raw, a part of the schema root, and follows its references
// within root. A part that is not as expected only makes texts vaguer.
func node(root, raw json.RawMessage) schemaNode {
	for range maxRefs {
		var n schemaNode
		if json.Unmarshal(raw, &n) != nil || !strings.HasPrefix(n.Ref, "#") {
			return n
		}
		raw = pointed(root, strings.TrimPrefix(n.Ref, "#"))
	}
	return schemaNode{}
}

// pointed is the part of root at a JSON pointer, nil if there is none.
func pointed(root json.RawMessage, pointer string) json.RawMessage {
	if pointer == "" {
		return root
	}
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		var object map[string]json.RawMessage
		if json.Unmarshal(root, &object) != nil {
			return nil
		}
		root = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return root
}

// maxParameters is how many parameters a signature shows, required ones first.
const maxParameters = 40

// signature is a tool on one line: name(a: string, b?: number[]).
func signature(name string, schema json.RawMessage) string {
	n := node(schema, schema)
	params, err := members(n.Properties)
	if err != nil {
		return name + "()"
	}
	var parts []string
	for _, required := range []bool{true, false} {
		for _, p := range params {
			if slices.Contains(n.Required, p.key) != required {
				continue
			}
			if len(parts) == maxParameters {
				return name + "(" + join(append(parts, "…")) + ")"
			}
			mark := "?"
			if required {
				mark = ""
			}
			parts = append(parts, p.key+mark+": "+typeName(schema, p.value, 0))
		}
	}
	return name + "(" + join(parts) + ")"
}

// maxEnum is how many values of an enum a signature shows.
const maxEnum = 6

// maxNesting is how many arrays deep a signature looks.
const maxNesting = 4

func typeName(root, raw json.RawMessage, depth int) string {
	n := node(root, raw)
	if len(n.Enum) > 0 {
		var values []string
		for i, v := range n.Enum {
			if i == maxEnum {
				values = append(values, "…")
				break
			}
			values = append(values, string(v))
		}
		return strings.Join(values, "|")
	}
	var one string
	if json.Unmarshal(n.Type, &one) == nil && one != "" {
		if one == "array" && len(n.Items) > 0 && depth < maxNesting {
			return typeName(root, n.Items, depth+1) + "[]"
		}
		return one
	}
	var several []string
	if json.Unmarshal(n.Type, &several) == nil && len(several) > 0 {
		return strings.Join(several, "|")
	}
	return "any"
}

// parameterNames are the property names of the object at path, as far as
// plain properties and items lead there.
func parameterNames(schema json.RawMessage, path []string) []string {
	n := node(schema, schema)
	for _, step := range path {
		next := n.Items
		if props, err := members(n.Properties); err == nil {
			for _, p := range props {
				if p.key == step {
					next = p.value
				}
			}
		}
		n = node(schema, next)
	}
	props, err := members(n.Properties)
	if err != nil {
		return nil
	}
	names := make([]string, len(props))
	for i, p := range props {
		names[i] = p.key
	}
	return names
}
