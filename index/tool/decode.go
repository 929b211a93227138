package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxName is the longest name that the protocol recommends.
	maxName = 128
	// maxExamples bounds the examples kept of one tool.
	maxExamples = 20
)

// Decode reads a tool object as tools/list carries it. It fails only when raw
// is no JSON object or has no name; anything else wrong becomes a warning, or
// the reason why the tool must not be called.
func Decode(server string, raw json.RawMessage) (Tool, error) {
	if !json.Valid(raw) || !isObject(raw) {
		return Tool{}, fmt.Errorf("decode tool of server %q: not a JSON object: %s", server, brief(raw))
	}
	d := decoder{tool: Tool{Server: server, Raw: raw}}
	d.tool.Name = d.text(raw, "name")
	if d.tool.Name == "" {
		return Tool{}, fmt.Errorf("decode tool of server %q: %w: %s", server, errNoName, brief(raw))
	}
	d.header()
	d.schema()
	d.meta()
	return d.tool, nil
}

var errNoName = errors.New("no name")

func isObject(data []byte) bool {
	i := skipSpace(data, 0)
	return i < len(data) && data[i] == '{'
}

// A decoder fills one tool and notes what is odd about it.
type decoder struct{ tool Tool }

func (d *decoder) warn(format string, a ...any) {
	d.tool.Warnings = append(d.tool.Warnings, fmt.Sprintf(format, a...))
}

// text is the string member of that key; another type is warned of.
func (d *decoder) text(data []byte, key string) string {
	v := member(data, key)
	if len(v) == 0 || string(v) == "null" {
		return ""
	}
	if v[0] != '"' {
		d.warn("its %s is %s instead of a string", key, brief(v))
		return ""
	}
	return unquote(v)
}

func (d *decoder) header() {
	raw := d.tool.Raw
	if n := utf8.RuneCountInString(d.tool.Name); n > maxName {
		d.warn("its name has %d characters, clients may refuse more than %d", n, maxName)
	}
	d.tool.Description = d.text(raw, "description")
	d.tool.Title = d.text(raw, "title")
	if d.tool.Title == "" {
		d.tool.Title = d.text(member(raw, "annotations"), "title")
	}
	if unquote(member(member(raw, "execution"), "taskSupport")) == "required" {
		d.tool.Inexecutable = "it runs only as a task, which this gateway does not support"
	}
}

func (d *decoder) schema() {
	s := InputSchema(d.tool.Raw)
	d.tool.Warnings = append(d.tool.Warnings, s.Warnings...)
	if s.Unusable != "" && d.tool.Inexecutable == "" {
		d.tool.Inexecutable = s.Unusable
	}
	if s.Unusable == "" {
		d.examples(member(s.JSON, "examples"))
		d.propertyExamples(member(s.JSON, "properties"))
	}
}

// meta reads tags, category and examples of _meta, under plain or namespaced
// keys ("com.example/tags") or in the group of a framework ("_fastmcp").
func (d *decoder) meta() {
	d.labels(member(d.tool.Raw, "_meta"))
}

func (d *decoder) labels(meta []byte) {
	eachMember(meta, func(key string, v json.RawMessage) bool {
		switch key[strings.LastIndexByte(key, '/')+1:] {
		case "tags":
			d.tags(v)
		case "category":
			if d.tool.Category == "" {
				d.tool.Category = strings.TrimSpace(unquote(v))
			}
		case "examples":
			d.examples(v)
		case "fastmcp", "_fastmcp":
			d.tags(member(v, "tags"))
		}
		return true
	})
}

func (d *decoder) tags(list []byte) {
	eachElement(list, func(v json.RawMessage) bool {
		if t := strings.TrimSpace(unquote(v)); t != "" && !containsFold(d.tool.Tags, t) {
			d.tool.Tags = append(d.tool.Tags, t)
		}
		return true
	})
}

func containsFold(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}

// examples reads a list of calls: {"description", "arguments"}, or argument
// objects alone.
func (d *decoder) examples(list []byte) {
	eachElement(list, func(v json.RawMessage) bool {
		if !isObject(v) {
			return true
		}
		e := Example{Arguments: v}
		if args := member(v, "arguments"); isObject(args) {
			e = Example{Description: unquote(member(v, "description")), Arguments: args}
		}
		d.example(e)
		return true
	})
}

// propertyExamples makes one example of each documented value of a single
// parameter: combining them would invent calls.
func (d *decoder) propertyExamples(properties []byte) {
	eachMember(properties, func(name string, p json.RawMessage) bool {
		key, _ := json.Marshal(name) // a string always encodes
		eachElement(member(p, "examples"), func(v json.RawMessage) bool {
			args := fmt.Appendf(nil, "{%s:%s}", key, v)
			d.example(Example{Description: "a value of " + name, Arguments: args})
			return true
		})
		return true
	})
}

func (d *decoder) example(e Example) {
	if len(d.tool.Examples) < maxExamples {
		d.tool.Examples = append(d.tool.Examples, e)
	}
}
