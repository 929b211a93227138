package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

type jsonValueIn struct {
	JSON    string `json:"json" jsonschema:"the JSON text"`
	Pointer string `json:"pointer" jsonschema:"JSON Pointer (RFC 6901) such as /items/0/name; empty for the whole document"`
}

type jsonValueOut struct {
	Value any    `json:"value"`
	Type  string `json:"type"`
}

type mergeJSONIn struct {
	Target string `json:"target" jsonschema:"the JSON text to change"`
	Patch  string `json:"patch" jsonschema:"JSON Merge Patch (RFC 7396): null removes a key"`
	Indent bool   `json:"indent,omitempty" jsonschema:"write the result on several lines"`
}

type jsonOut struct {
	JSON string `json:"json"`
}

func (s *Server) addJSON(category string) {
	add(s, category, tool{
		name: "get_json_value", title: "Get a value from JSON", description: "Read one value out of a JSON document by its path.",
		tags: []string{"json", "query"}, examples: []map[string]any{{"json": `{"items":[{"name":"pen"}]}`, "pointer": "/items/0/name"}},
	}, jsonValue)
	add(s, category, tool{
		name: "merge_json", title: "Merge JSON", description: "Merge changes into a JSON document.",
		tags: []string{"json", "edit"}, examples: []map[string]any{{"target": `{"a":1,"b":2}`, "patch": `{"b":null,"c":3}`}},
	}, mergeJSON)
}

func jsonValue(_ context.Context, in jsonValueIn) (jsonValueOut, error) {
	var v any
	if err := json.Unmarshal([]byte(in.JSON), &v); err != nil {
		return jsonValueOut{}, fmt.Errorf("read json: %w", err)
	}
	if in.Pointer != "" && !strings.HasPrefix(in.Pointer, "/") {
		return jsonValueOut{}, fmt.Errorf("pointer %q: must be empty or begin with /", in.Pointer)
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, token := range strings.Split(in.Pointer, "/")[1:] {
		next, ok := step(v, unescape.Replace(token))
		if !ok {
			return jsonValueOut{}, fmt.Errorf("pointer %q: nothing at step %d (%q)", in.Pointer, i+1, token)
		}
		v = next
	}
	return jsonValueOut{Value: v, Type: jsonType(v)}, nil
}

func step(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[token]
		return next, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || token != strconv.Itoa(i) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func mergeJSON(_ context.Context, in mergeJSONIn) (jsonOut, error) {
	var target, patch any
	if err := json.Unmarshal([]byte(in.Target), &target); err != nil {
		return jsonOut{}, fmt.Errorf("read target: %w", err)
	}
	if err := json.Unmarshal([]byte(in.Patch), &patch); err != nil {
		return jsonOut{}, fmt.Errorf("read patch: %w", err)
	}
	marshal := json.Marshal
	if in.Indent {
		marshal = func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
	}
	b, err := marshal(mergePatch(target, patch))
	return jsonOut{string(b)}, err
}

// mergePatch is MergePatch of RFC 7396, section 2.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for key, v := range changes {
		if v == nil {
			delete(object, key)
			continue
		}
		object[key] = mergePatch(object[key], v)
	}
	return object
}
