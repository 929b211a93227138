package arguments

import (
	"slices"
	"strconv"

	"github.com/tooldex/tooldex/index/tool"
)

// mend takes a fault out of a schema, so that the rest can be checked: a
// schema becomes one that allows everything, and a keyword goes, but for the
// names of a list of required ones.
func mend(schema any, f tool.SchemaFault) {
	last := len(f.Path) - 1
	if last < 0 {
		return
	}
	for _, key := range f.Path[:last] {
		schema = child(schema, key)
	}
	key := f.Path[last]
	switch v := schema.(type) {
	case map[string]any:
		switch required := namesOf(v[key]); {
		case f.Schema:
			v[key] = map[string]any{}
		case key == "required" && len(required) > 0:
			v[key] = required
		default:
			delete(v, key)
		}
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(v) && f.Schema {
			v[i] = map[string]any{}
		}
	}
}

func child(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// namesOf are the texts of a list, each once.
func namesOf(v any) []any {
	list, _ := v.([]any)
	var out []any
	for _, e := range list {
		if name, ok := e.(string); ok && !slices.Contains(out, any(name)) {
			out = append(out, name)
		}
	}
	return out
}
