package gateway

import (
	"encoding/json"
	"slices"
	"strings"
)

// A schemaNode is what signatures show of a JSON Schema.
type schemaNode struct {
	Type       json.RawMessage   `json:"type"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Items      json.RawMessage   `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
}

func node(raw json.RawMessage) schemaNode {
	var n schemaNode
	// A part that is not as expected only makes the signature vaguer.
	_ = json.Unmarshal(raw, &n)
	return n
}

// signature is a tool on one line: name(a: string, b?: number[]).
func signature(name string, schema json.RawMessage) string {
	n := node(schema)
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
			mark := "?"
			if required {
				mark = ""
			}
			parts = append(parts, p.key+mark+": "+typeName(p.value))
		}
	}
	return name + "(" + join(parts) + ")"
}

// maxEnum is how many values of an enum a signature shows.
const maxEnum = 6

func typeName(raw json.RawMessage) string {
	n := node(raw)
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
		if one == "array" && len(n.Items) > 0 {
			return typeName(n.Items) + "[]"
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
	n := node(schema)
	for _, step := range path {
		next := n.Items
		if props, err := members(n.Properties); err == nil {
			for _, p := range props {
				if p.key == step {
					next = p.value
				}
			}
		}
		n = node(next)
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
