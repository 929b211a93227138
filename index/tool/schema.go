package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// MaxSchemaBytes and MaxSchemaDepth bound an input schema that may be
	// used: past them its tool must not be called. The largest schema of the
	// real servers looked at has 80 KB.
	MaxSchemaBytes = 512 << 10
	MaxSchemaDepth = 64
)

var emptySchema = json.RawMessage(`{"type":"object"}`)

// A Schema is a tool's input schema, made fit for use.
type Schema struct {
	JSON     json.RawMessage // an object schema; what the upstream sent where it could be kept
	Warnings []string        // what had to be changed, one sentence each
	Faults   []SchemaFault   // what of it cannot be checked
	Unusable string          // why the tool must not be called; "" when it may be
}

// InputSchema reads the inputSchema of a tool object: a missing, null, true
// or otherwise useless one becomes a schema that takes any object; one that
// is too large or deep, or needs another document, is unusable.
func InputSchema(tool json.RawMessage) Schema {
	raw := member(tool, "inputSchema")
	switch s := bytes.TrimSpace(raw); {
	case len(s) == 0:
		return lenient("it has no inputSchema")
	case s[0] != '{':
		return lenient("its inputSchema is " + brief(s) + " instead of an object")
	}
	s := Schema{JSON: raw}
	if len(raw) > MaxSchemaBytes {
		return Schema{JSON: emptySchema, Unusable: fmt.Sprintf("its inputSchema has %d bytes, the limit is %d", len(raw), MaxSchemaBytes)}
	}
	if d := depthOf(raw); d > MaxSchemaDepth {
		return Schema{JSON: emptySchema, Unusable: fmt.Sprintf("its inputSchema is nested %d deep, the limit is %d", d, MaxSchemaDepth)}
	}
	if ref := remoteRef(raw); ref != "" {
		s.Unusable = fmt.Sprintf("its inputSchema refers to another document (%s), which is never fetched", brief([]byte(ref)))
	}
	if s = s.objectType(); s.Unusable == "" {
		if s.Faults = faultsOf(s.JSON); len(s.Faults) > 0 {
			s.Warnings = append(s.Warnings, faultWarning(s.JSON, s.Faults))
		}
	}
	return s
}

func lenient(why string) Schema {
	return Schema{JSON: emptySchema, Warnings: []string{why + "; any object is taken as arguments"}}
}

// objectType makes sure of "type": "object", which arguments always are.
func (s Schema) objectType() Schema {
	switch t := member(s.JSON, "type"); {
	case string(t) == `"object"`:
	case t == nil:
		s.Warnings = append(s.Warnings, `its inputSchema has no "type"; "object" is assumed`)
		s.JSON = withObjectType(s.JSON)
	default:
		s.Warnings = append(s.Warnings, `its inputSchema has "type": `+brief(t)+`; "object" is assumed`)
		s.JSON = withObjectType(s.JSON)
	}
	return s
}

func withObjectType(schema json.RawMessage) json.RawMessage {
	out := []byte(`{"type":"object"`)
	eachMember(schema, func(k string, v json.RawMessage) bool {
		if k != "type" {
			key, _ := json.Marshal(k) // a string always encodes
			out = append(append(append(append(out, ','), key...), ':'), v...)
		}
		return true
	})
	return append(out, '}')
}

// brief shortens a value for a message.
func brief(data []byte) string {
	if len(data) > 60 {
		return strings.ToValidUTF8(string(data[:60]), "") + "…"
	}
	return string(data)
}

func depthOf(data []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// remoteRef returns a reference of the schema that leads out of it, or "".
func remoteRef(schema []byte) string {
	if !bytes.Contains(schema, []byte("ef\"")) && !bytes.Contains(schema, []byte(`\u`)) {
		return ""
	}
	ids := map[string]bool{}
	var refs []string
	collectRefs(schema, ids, &refs)
	for _, r := range refs {
		doc, _, _ := strings.Cut(r, "#")
		if doc != "" && !ids[doc] {
			return r
		}
	}
	return ""
}

// collectRefs gathers the ids and references of a schema. The values of the
// keywords that hold plain data are not schemas.
func collectRefs(schema []byte, ids map[string]bool, refs *[]string) {
	eachMember(schema, func(k string, v json.RawMessage) bool {
		switch k {
		case "enum", "const", "default", "examples", "example":
			return true
		case "$id", "id":
			if s := unquote(v); s != "" {
				ids[strings.TrimSuffix(s, "#")] = true
				return true
			}
		case "$ref", "$dynamicRef", "$recursiveRef":
			if s := unquote(v); s != "" {
				*refs = append(*refs, s)
				return true
			}
		}
		collectRefs(v, ids, refs)
		return true
	})
	eachElement(schema, func(v json.RawMessage) bool {
		collectRefs(v, ids, refs)
		return true
	})
}
