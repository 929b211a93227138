package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/tooldex/tooldex/gateway/view"
)

// check walks the file beside the type that it is decoded into and reports
// each unknown key with its line and the nearest known one. Keys of other
// clients in a server's entry are returned as foreign instead.
func check(n *yaml.Node, t reflect.Type, path string) (foreign []string, errs []error) {
	n = resolve(n)
	if t == reflect.TypeFor[entry]() {
		return nil, nil // read by itself
	}
	switch t {
	case reflect.TypeFor[endpointNode]():
		t = reflect.TypeFor[endpointFile]()
	case reflect.TypeFor[loginNode]():
		if foreignLogin(n) {
			return []string{path}, nil
		}
		t = reflect.TypeFor[loginFile]()
	case reflect.TypeFor[scopeNode]():
		return checkScope(n, path)
	}
	if n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice {
		for i, item := range n.Content {
			f, e := check(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			foreign, errs = append(foreign, f...), append(errs, e...)
		}
		return foreign, errs
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind != yaml.MappingNode || t.Kind() != reflect.Map && t.Kind() != reflect.Struct {
		return nil, nil // a scalar, or a wrong type, which decoding reports
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		elem, known := elemType(t, key.Value)
		switch {
		case known:
			f, e := check(value, elem, at)
			foreign, errs = append(foreign, f...), append(errs, e...)
		case t == reflect.TypeFor[serverFile]() && foreignKeys[key.Value]:
			foreign = append(foreign, at)
		default:
			errs = append(errs, fmt.Errorf("line %d: unknown key %q%s", key.Line, at, suggestion(key.Value, keysOf(t))))
		}
	}
	return foreign, errs
}

// checkScope is check for a rule, or each of a list.
func checkScope(n *yaml.Node, path string) (foreign []string, errs []error) {
	if n.Kind != yaml.SequenceNode {
		return check(n, reflect.TypeFor[view.Rule](), path)
	}
	for i, item := range n.Content {
		_, wrong := checkScope(resolve(item), fmt.Sprintf("%s[%d]", path, i))
		errs = append(errs, wrong...)
	}
	return nil, errs
}

// resolve follows documents and aliases to the node that holds the value.
func resolve(n *yaml.Node) *yaml.Node {
	for n != nil {
		switch {
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		default:
			return n
		}
	}
	return &yaml.Node{}
}

// elemType is the type that key's value has in the map or struct t, and
// whether t knows key.
func elemType(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if elem, ok := elemType(f.Type, key); ok {
				return elem, true
			}
		} else if key != "-" && f.Tag.Get("yaml") == key {
			return f.Type, true
		}
	}
	return nil, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			keys = append(keys, keysOf(f.Type)...)
		} else if key := f.Tag.Get("yaml"); key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// suggestion names the nearest key, or all of them when none is near.
func suggestion(key string, known []string) string {
	distance := func(k string) int { return levenshtein.ComputeDistance(strings.ToLower(key), strings.ToLower(k)) }
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(a) - distance(b) })
	if distance(nearest) <= max(2, len(key)/3) {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return "; known are " + strings.Join(known, ", ")
}
