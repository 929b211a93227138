package arguments

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/gateway/words"
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

// A schemaReader reads parts of a schema for texts about it. It gives up on
// schemas that take long to read: their texts only get vaguer.
type schemaReader struct {
	root json.RawMessage
	left int // bytes that may still be parsed
}

func newSchemaReader(schema json.RawMessage) *schemaReader {
	return &schemaReader{root: schema, left: 16 << 20}
}

func (r *schemaReader) parse(raw json.RawMessage, into any) bool {
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
func (r *schemaReader) node(raw json.RawMessage) schemaNode {
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
func (r *schemaReader) pointed(pointer string) json.RawMessage {
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

func (r *schemaReader) properties(n schemaNode) []rawjson.Member {
	if r.left -= len(n.Properties); r.left < 0 {
		return nil
	}
	params, err := rawjson.Members(n.Properties)
	if err != nil {
		return nil
	}
	return params
}

const (
	// maxParameters is how many parameters a signature shows, required ones
	// first, maxSignature how many characters.
	maxParameters = 40
	maxSignature  = 1000
	// maxEnum is how many values of an enum a signature shows, maxWord how
	// many characters of each and of names.
	maxEnum = 6
	maxWord = 60
	// maxNesting is how many arrays deep a signature looks.
	maxNesting = 4
)

// signature is a tool on one line: name(a: string, b?: number[]).
func signature(name string, schema json.RawMessage) string {
	r := newSchemaReader(schema)
	n := r.node(schema)
	required := map[string]bool{}
	for _, key := range n.Required {
		required[key] = true
	}
	params := r.properties(n)
	slices.SortStableFunc(params, func(a, b rawjson.Member) int {
		switch {
		case required[a.Key] == required[b.Key]:
			return 0
		case required[a.Key]:
			return -1
		}
		return 1
	})
	var parts []string
	length := 0
	for _, p := range params {
		mark := "?"
		if required[p.Key] {
			mark = ""
		}
		part := words.Cut(p.Key, maxWord) + mark + ": " + r.typeName(p.Value, 0)
		if length += len(part); len(parts) == maxParameters || length > maxSignature {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	return name + "(" + words.Join(parts) + ")"
}

func (r *schemaReader) typeName(raw json.RawMessage, depth int) string {
	n := r.node(raw)
	if len(n.Enum) > 0 {
		var values []string
		for i, v := range n.Enum {
			if i == maxEnum {
				values = append(values, "…")
				break
			}
			values = append(values, words.Cut(string(v), maxWord))
		}
		return strings.Join(values, "|")
	}
	var one string
	if json.Unmarshal(n.Type, &one) == nil && one != "" {
		if one == "array" && len(n.Items) > 0 && depth < maxNesting {
			return r.typeName(n.Items, depth+1) + "[]"
		}
		return words.Cut(one, maxWord)
	}
	var several []string
	if json.Unmarshal(n.Type, &several) == nil && len(several) > 0 {
		return words.Cut(strings.Join(several, "|"), maxWord)
	}
	return "any"
}

// parameterNames are the property names of the object at path, as far as
// plain properties and items lead there.
func (r *schemaReader) parameterNames(path []string) []string {
	n := r.node(r.root)
	for _, step := range path {
		next := n.Items
		for _, p := range r.properties(n) {
			if p.Key == step {
				next = p.Value
			}
		}
		n = r.node(next)
	}
	props := r.properties(n)
	names := make([]string, len(props))
	for i, p := range props {
		names[i] = p.Key
	}
	return names
}
