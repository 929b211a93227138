package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A SchemaFault is a part of an input schema that no meta-schema allows, so
// that the schema does not compile before the part is gone.
type SchemaFault struct {
	Path   []string // from the root
	Wanted string   // what would be allowed there
	Schema bool     // a schema belongs there: one that allows everything will do
}

// maxFaults bounds the faults of one schema that are told.
const maxFaults = 3

// faultWarning says what of a schema goes unchecked.
func faultWarning(schema json.RawMessage, faults []SchemaFault) string {
	var parts []string
	for _, f := range faults[:min(len(faults), maxFaults)] {
		parts = append(parts, fmt.Sprintf("%s is %s instead of %s", brief([]byte("/"+strings.Join(f.Path, "/"))), brief(valueAt(schema, f.Path)), f.Wanted))
	}
	if n := len(faults) - maxFaults; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return "its inputSchema is not valid, and these parts of it go unchecked: " + strings.Join(parts, "; ")
}

// valueAt is the value at a path, nil when there is none.
func valueAt(v json.RawMessage, path []string) json.RawMessage {
	for _, key := range path {
		if isObject(v) {
			v = member(v, key)
			continue
		}
		i, found := 0, json.RawMessage(nil)
		eachElement(v, func(e json.RawMessage) bool {
			if strconv.Itoa(i) == key {
				found = e
			}
			i++
			return found == nil
		})
		v = found
	}
	return v
}

const aSchema = "a schema"

// annotated looks at a keyword whose value is no schema: wanted is what it
// should be, "" for keywords that allow anything.
func (n *inspector) annotated(key string, v json.RawMessage) (wanted string, ok bool) {
	x, isNumber := numeral(v)
	switch key {
	case "title", "description", "$comment", "format", "pattern", "$id", "$schema", "$anchor", "contentEncoding", "contentMediaType":
		return "a text", v[0] == '"'
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		return "true or false", isBool(v)
	case "enum", "examples":
		return "a list", v[0] == '['
	case "type":
		return "a type or a list of types", isType(v)
	case "required":
		return "a list of different names", n.isRequired(v)
	case "$ref":
		return "a reference to a part of it", n.leads(v)
	case "minimum", "maximum":
		return "a number", isNumber
	case "exclusiveMinimum", "exclusiveMaximum": // flags of the other bounds, once
		return "a number", isNumber && !n.draft4 || isBool(v) && n.draft4
	case "multipleOf":
		return "a number above 0", isNumber && x > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return "a whole number from 0", isNumber && x >= 0 && x == math.Trunc(x)
	}
	return "", true
}

// applied looks at a keyword whose value is made of schemas, and into these.
func (n *inspector) applied(key string, v json.RawMessage) (wanted string, ok bool) {
	switch key {
	case "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
		"contentSchema", "additionalProperties", "additionalItems":
		return aSchema, n.schema(v)
	case "items":
		if n.arrays && v[0] == '[' {
			return aSchema, n.list(v) || !n.draft4
		}
		return aSchema, n.schema(v)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return "a list of schemas", n.list(v)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return "an object of schemas", n.object(v)
	}
	return "", true
}

// An inspector looks for faults without the cost of a validator: a catalog is
// read whenever a server lists its tools.
type inspector struct {
	root     json.RawMessage
	draft4   bool // booleans are no schemas, and make bounds exclusive
	arrays   bool // items may be a list
	embedded bool // references may be relative to a part
	path     []string
	faults   []SchemaFault
}

// faultsOf finds the parts of a schema that are not valid. What it does not
// know it leaves to the compiler.
func faultsOf(schema json.RawMessage) []SchemaFault {
	draft := unquote(member(schema, "$schema"))
	n := &inspector{root: schema, draft4: strings.Contains(draft, "draft-04")}
	for _, older := range []string{"draft-04", "draft-06", "draft-07", "2019-09"} {
		n.arrays = n.arrays || strings.Contains(draft, older)
	}
	n.embedded = bytes.Contains(schema, []byte(`id":`)) || bytes.Contains(schema, []byte(`\u`))
	n.schema(schema)
	return n.faults
}

func (n *inspector) in(key string, f func()) {
	n.path = append(n.path, key)
	f()
	n.path = n.path[:len(n.path)-1]
}

func (n *inspector) fault(wanted string, schema bool) {
	n.faults = append(n.faults, SchemaFault{Path: slices.Clone(n.path), Wanted: wanted, Schema: schema})
}

// schema looks at a schema and says whether it is one.
func (n *inspector) schema(v json.RawMessage) bool {
	if isBool(v) {
		return !n.draft4 || len(n.path) > 0 && strings.HasPrefix(n.path[len(n.path)-1], "additional")
	}
	if !isObject(v) {
		return false
	}
	eachMember(v, func(key string, v json.RawMessage) bool {
		n.in(key, func() {
			wanted, ok := n.annotated(key, v)
			if wanted == "" {
				wanted, ok = n.applied(key, v)
			}
			if !ok {
				n.fault(wanted, false)
			}
		})
		return true
	})
	return true
}

func (n *inspector) list(v json.RawMessage) bool {
	i := 0
	eachElement(v, func(e json.RawMessage) bool {
		n.part(strconv.Itoa(i), e)
		i++
		return true
	})
	return i > 0
}

func (n *inspector) object(v json.RawMessage) bool {
	eachMember(v, func(key string, v json.RawMessage) bool {
		n.part(key, v)
		return true
	})
	return isObject(v)
}

// part looks at a schema that stands in a list or an object of schemas.
func (n *inspector) part(key string, v json.RawMessage) {
	n.in(key, func() {
		if !n.schema(v) {
			n.fault(aSchema, true)
		}
	})
}

func (n *inspector) isRequired(v json.RawMessage) bool {
	seen := map[string]bool{}
	ok := v[0] == '['
	eachElement(v, func(e json.RawMessage) bool {
		name := unquote(e)
		ok = ok && e[0] == '"' && !seen[name]
		seen[name] = true
		return ok
	})
	return ok && (len(seen) > 0 || !n.draft4)
}

// leads says whether a reference leads to a part of the schema. Those to
// other documents have been looked at before.
func (n *inspector) leads(v json.RawMessage) bool {
	if v[0] != '"' {
		return false
	}
	ref := unquote(v)
	if n.embedded || !strings.HasPrefix(ref, "#") || ref == "#" {
		return true
	}
	pointer, err := url.PathUnescape(ref[1:])
	if err != nil {
		return false
	}
	if pointer[0] != '/' {
		return bytes.Contains(n.root, []byte(`"`+pointer+`"`)) // at an anchor
	}
	path := strings.Split(pointer[1:], "/")
	for i, key := range path {
		path[i] = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
	}
	target := valueAt(n.root, path)
	return isObject(target) || isBool(target)
}

func isBool(v []byte) bool { return string(v) == "true" || string(v) == "false" }

// numeral is the value of a JSON number, infinite for a huge one.
func numeral(v []byte) (float64, bool) {
	if v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	x, _ := strconv.ParseFloat(string(v), 64)
	return x, true
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func isType(v []byte) bool {
	if v[0] != '[' {
		return slices.Contains(schemaTypes, unquote(v))
	}
	var seen []string
	ok := true
	eachElement(v, func(e json.RawMessage) bool {
		t := unquote(e)
		ok = ok && slices.Contains(schemaTypes, t) && !slices.Contains(seen, t)
		seen = append(seen, t)
		return ok
	})
	return ok && len(seen) > 0
}
