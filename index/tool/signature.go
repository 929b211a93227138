package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
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

// A SchemaReader reads parts of an input schema for texts about it. It gives up
// on schemas that take long to read: their texts only get vaguer.
type SchemaReader struct {
	root json.RawMessage
	left int // bytes that may still be parsed
}

// maxRead is how many bytes are parsed for the signature of a tool that is
// indexed, and maxReread for all that is said to a caller about a schema.
const (
	maxRead   = 2 << 20
	maxReread = 16 << 20
)

// ReadSchema returns a reader of schema for one error.
func ReadSchema(schema json.RawMessage) *SchemaReader {
	return &SchemaReader{root: schema, left: maxReread}
}

func (r *SchemaReader) parse(raw json.RawMessage, into any) bool {
	if r.left -= len(raw); r.left < 0 {
		return false
	}
	return json.Unmarshal(raw, into) == nil
}

// maxRefs bounds the references followed from one node, as they may lead in
// circles.
const maxRefs = 8

// node reads raw, a part of the schema, and follows its references within the
// schema. A part that is not as expected only makes texts vaguer.
func (r *SchemaReader) node(raw json.RawMessage) schemaNode {
	for range maxRefs {
		var n schemaNode
		if !r.parse(raw, &n) || !strings.HasPrefix(n.Ref, "#") {
			return n
		}
		raw = r.pointed(strings.TrimPrefix(n.Ref, "#"))
	}
	return schemaNode{}
}

// pointed is the part of the schema at a JSON pointer, nil if there is none.
func (r *SchemaReader) pointed(pointer string) json.RawMessage {
	part := r.root
	if pointer == "" {
		return part
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		var object map[string]json.RawMessage
		if !r.parse(part, &object) {
			return nil
		}
		part = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return part
}

// A property is one of an object's, in the order in which they are written.
type property struct {
	key   string
	value json.RawMessage
}

func (r *SchemaReader) properties(n schemaNode) (all []property) {
	if r.left -= len(n.Properties); r.left < 0 {
		return nil
	}
	eachMember(n.Properties, func(key string, value json.RawMessage) bool {
		all = append(all, property{key, value})
		return true
	})
	return all
}

const (
	// maxParameters is how many parameters a signature shows, required ones
	// first.
	maxParameters = 40
	// maxValues is how many values of an enum a signature shows, maxWord how
	// many characters of each and of names.
	maxValues = 6
	maxWord   = 60
	// maxNesting is how many arrays deep a signature looks.
	maxNesting = 4
)

// maxSignature is how long the signature of a tool is that is indexed, in
// bytes and about.
const maxSignature = 300

// Signature is what a tool object takes on one line, required parameters first:
// (a: string, b?: number[]).
func Signature(tool json.RawMessage) string {
	r := SchemaReader{root: InputSchema(tool).JSON, left: maxRead}
	return r.Signature(maxSignature)
}

// Signature is as that of a tool, of at most about as many bytes.
func (r *SchemaReader) Signature(most int) string {
	n := r.node(r.root)
	required := map[string]bool{}
	for _, key := range n.Required {
		required[key] = true
	}
	params := r.properties(n)
	slices.SortStableFunc(params, func(a, b property) int {
		switch {
		case required[a.key] == required[b.key]:
			return 0
		case required[a.key]:
			return -1
		}
		return 1
	})
	var parts []string
	length := 0
	for _, p := range params {
		mark := "?"
		if required[p.key] {
			mark = ""
		}
		part := cut(p.key) + mark + ": " + r.typeName(p.value, 0)
		if length += len(part); len(parts) == maxParameters || length > most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// cut is s cut to maxWord characters.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxWord {
		return s
	}
	return string([]rune(s)[:maxWord-1]) + "…"
}

func (r *SchemaReader) typeName(raw json.RawMessage, depth int) string {
	n := r.node(raw)
	if len(n.Enum) > 0 {
		var values []string
		for i, v := range n.Enum {
			if i == maxValues {
				values = append(values, "…")
				break
			}
			values = append(values, cut(string(v)))
		}
		return strings.Join(values, "|")
	}
	var one string
	if json.Unmarshal(n.Type, &one) == nil && one != "" {
		if one == "array" && len(n.Items) > 0 && depth < maxNesting {
			return r.typeName(n.Items, depth+1) + "[]"
		}
		return cut(one)
	}
	var several []string
	if json.Unmarshal(n.Type, &several) == nil && len(several) > 0 {
		return cut(strings.Join(several, "|"))
	}
	return "any"
}

// ParameterNames are the property names of the object at path, as far as
// plain properties and items lead there.
func (r *SchemaReader) ParameterNames(path []string) []string {
	n := r.node(r.root)
	for _, step := range path {
		next := n.Items
		for _, p := range r.properties(n) {
			if p.key == step {
				next = p.value
			}
		}
		n = r.node(next)
	}
	var names []string
	for _, p := range r.properties(n) {
		names = append(names, p.key)
	}
	return names
}
