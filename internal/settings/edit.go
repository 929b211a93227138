package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// A Format is how a file is written.
type Format string

// The formats that can be changed.
const (
	YAML Format = "yaml"
	JSON Format = "json" // with comments and trailing commas
	TOML Format = "toml"
)

// Guess tells YAML from JSON by how a text begins.
func Guess(text []byte) Format {
	t := bytes.TrimSpace(bytes.TrimPrefix(text, bom))
	if bytes.HasPrefix(t, []byte("{")) || bytes.HasPrefix(t, []byte("//")) || bytes.HasPrefix(t, []byte("/*")) {
		return JSON
	}
	return YAML
}

var bom = []byte("\xef\xbb\xbf")

// Set returns the text with value at the keys of path, made where they are
// missing. Value is what encoding/json and yaml write alike.
func Set(format Format, text []byte, value any, path ...string) ([]byte, error) {
	return edit(format, text, value, path)
}

// Remove returns the text without what is at the keys of path.
func Remove(format Format, text []byte, path ...string) ([]byte, error) {
	return edit(format, text, nil, path)
}

// edit changes one value, and makes sure that nothing else has changed its
// meaning.
func edit(format Format, text []byte, value any, path []string) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, bom)
	before, err := decode(format, body)
	if err != nil {
		return nil, err
	}
	if err := put(before, value, path); err != nil {
		return nil, err
	}
	var out []byte
	switch format {
	case JSON:
		out, err = editJSON(body, value, path)
	case YAML:
		out, err = editYAML(body, value, path, before)
	default:
		out, err = editTOML(body, value, path)
	}
	if err != nil {
		return nil, err
	}
	after, err := decode(format, out)
	if err != nil || !same(before, after) {
		return nil, fmt.Errorf("the file is written in a way that cannot be changed safely: change %s by hand", strings.Join(path, "."))
	}
	if marked {
		out = append(slices.Clone(bom), out...)
	}
	return out, nil
}

// decode reads a text as maps.
func decode(format Format, text []byte) (map[string]any, error) {
	out := map[string]any{}
	switch format {
	case TOML:
		return out, toml.Unmarshal(text, &out)
	case JSON:
		if len(bytes.TrimSpace(text)) == 0 {
			return out, nil
		}
		v, err := hujson.Parse(text)
		if err != nil {
			return nil, err
		}
		if _, ok := v.Value.(*hujson.Object); !ok {
			return nil, errors.New("it holds no map of settings")
		}
		if name := repeated(v); name != "" {
			return nil, fmt.Errorf("%q is there twice: remove one of them", name)
		}
		plain, err := hujson.Standardize(bytes.Clone(text)) // it writes over what it is given
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(plain))
		d.UseNumber()
		return out, d.Decode(&out)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := d.Decode(&doc)
	if errorIsEOF(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if more := new(yaml.Node); !errorIsEOF(d.Decode(more)) {
		return nil, errors.New("it holds more than one document")
	}
	if err := doc.Decode(&out); err != nil {
		return nil, err
	}
	if out == nil {
		out = map[string]any{}
	}
	return out, nil
}

// repeated is a name that an object of v has twice, "" if none has.
func repeated(v hujson.Value) string {
	switch c := v.Value.(type) {
	case *hujson.Object:
		seen := map[string]bool{}
		for _, m := range c.Members {
			name := literal(m.Name)
			if seen[name] {
				return name
			}
			seen[name] = true
			if inner := repeated(m.Value); inner != "" {
				return inner
			}
		}
	case *hujson.Array:
		for _, e := range c.Elements {
			if inner := repeated(e); inner != "" {
				return inner
			}
		}
	}
	return ""
}

func literal(v hujson.Value) string {
	l, _ := v.Value.(hujson.Literal)
	return l.String()
}

// put sets or, where value is nil, removes what is at path.
func put(m map[string]any, value any, path []string) error {
	key := path[0]
	if len(path) == 1 {
		if value == nil {
			delete(m, key)
		} else {
			m[key] = value
		}
		return nil
	}
	inner, ok := m[key].(map[string]any)
	switch {
	case ok:
	case m[key] != nil:
		return fmt.Errorf("%s is no map of settings", key)
	case value == nil:
		return nil
	default:
		inner = map[string]any{}
		m[key] = inner
	}
	return put(inner, value, path[1:])
}

// same compares two decoded texts as JSON, where kinds of numbers are one.
func same(a, b any) bool { return reflect.DeepEqual(normal(a), normal(b)) }

func normal(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(text, &out) != nil {
		return v
	}
	return prune(out)
}

// prune takes empty maps for absent ones at the top.
func prune(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for k, inner := range m {
		if sub, ok := inner.(map[string]any); inner == nil || ok && len(sub) == 0 {
			delete(m, k)
		}
	}
	return m
}

// newline is how the lines of a text end.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// Get reads what is at the keys of path; nil if nothing is.
func Get(format Format, text []byte, path ...string) (any, error) {
	m, err := decode(format, bytes.TrimPrefix(text, bom))
	if err != nil {
		return nil, err
	}
	var at any = m
	for _, key := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil, nil
		}
		at = inner[key]
	}
	return at, nil
}

// Same tells whether two texts say the same but for what is at path: comments
// and layout do not count.
func Same(format Format, a, b []byte, path ...string) bool {
	one, err := decode(format, bytes.TrimPrefix(a, bom))
	if err != nil {
		return false
	}
	other, err := decode(format, bytes.TrimPrefix(b, bom))
	if err != nil || put(one, nil, path) != nil || put(other, nil, path) != nil {
		return false
	}
	return same(one, other)
}
