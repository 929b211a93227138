package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse reads a document as a tree of maps by text, lists and scalars; numbers
// of JSON keep their digits.
func parse(data []byte) (map[string]any, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it has %d MiB, the limit is %d MiB", len(data)>>20, MaxBytes>>20)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	var v any
	var err error
	switch {
	case len(data) == 0:
		return nil, errors.New("it is empty")
	case !utf8.Valid(data):
		return nil, errors.New("it is neither JSON nor YAML: it is no UTF-8 text")
	case data[0] == '{':
		if v, err = parseJSON(data); err != nil && len(data) <= MaxYAML {
			if y, other := parseYAML(data); other == nil { // YAML's own braces
				v, err = y, nil
			}
		}
	case len(data) > MaxYAML:
		return nil, fmt.Errorf("it has %d MiB of YAML, the limit is %d MiB: convert it to JSON", len(data)>>20, MaxYAML>>20)
	default:
		v, err = parseYAML(data)
	}
	if err != nil {
		return nil, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is neither a JSON object nor a YAML map: it begins %q", string(data[:min(len(data), 40)]))
	}
	return root, nil
}

func parseJSON(data []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	return v, nil
}

func parseYAML(data []byte) (any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("it is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	c := converter{done: map[*yaml.Node]any{}, under: map[*yaml.Node]bool{}}
	return c.value(&root)
}

// A converter makes of YAML what the same document would be in JSON. What an
// anchor names is converted once and shared.
type converter struct {
	done  map[*yaml.Node]any
	under map[*yaml.Node]bool // conversions under way
}

func (c *converter) value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return c.value(n.Content[0])
	case yaml.AliasNode:
		return c.value(n.Alias)
	case yaml.ScalarNode:
		return scalar(n), nil
	}
	if v, ok := c.done[n]; ok {
		return v, nil
	}
	if c.under[n] {
		return nil, fmt.Errorf("line %d: the anchor %q contains itself", n.Line, n.Anchor)
	}
	c.under[n] = true
	v, err := c.collection(n)
	delete(c.under, n)
	if n.Anchor != "" {
		c.done[n] = v
	}
	return v, err
}

func (c *converter) collection(n *yaml.Node) (any, error) {
	if n.Kind == yaml.SequenceNode {
		list := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := c.value(e)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		v, err := c.value(value)
		if err != nil {
			return nil, err
		}
		if key.Tag == "!!merge" {
			merge(m, v)
			continue
		}
		m[key.Value] = v
	}
	return m, nil
}

// merge adds to m what it does not have of v, a map or a list of them.
func merge(m map[string]any, v any) {
	for _, part := range append(list(v), v) {
		for key, value := range object(part) {
			if _, has := m[key]; !has {
				m[key] = value
			}
		}
	}
}

// scalar is the value of a YAML scalar: dates stay text, as in JSON.
func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		var f float64
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return n.Value
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any) // nil for anything else
	return m
}

func list(v any) []any {
	l, _ := v.([]any) // nil for anything else
	return l
}

// text is a text or a number, which authors of YAML write for one.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

func texts(v any) []string {
	var out []string
	for _, e := range list(v) {
		if s := text(e); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// truth is a boolean that need not be there.
func truth(v any, otherwise bool) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	return otherwise
}
