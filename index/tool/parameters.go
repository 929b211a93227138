package tool

import (
	"encoding/json"
	"strings"
)

const (
	maxParamDepth = 4  // levels of nested parameters that are read
	maxEnum       = 20 // values of one enum that are read
)

// Parameters are the texts of a tool's input schema that are searched.
type Parameters struct {
	Names []string
	Texts []string // descriptions and enum values
}

// ParametersOf reads a tool object's parameters in the schema's own order,
// depth first.
func ParametersOf(tool json.RawMessage) Parameters {
	var p Parameters
	p.add(member(tool, "inputSchema"), maxParamDepth)
	return p
}

func (p *Parameters) add(schema []byte, levels int) {
	if levels == 0 {
		return
	}
	eachMember(member(schema, "properties"), func(name string, v json.RawMessage) bool {
		p.Names = append(p.Names, name)
		if !isObject(v) {
			return true
		}
		if s := unquote(member(v, "description")); s != "" {
			p.Texts = append(p.Texts, s)
		}
		if s := enumText(member(v, "enum")); s != "" {
			p.Texts = append(p.Texts, s)
		}
		if string(member(v, "type")) == `"array"` {
			v = member(v, "items")
		}
		p.add(v, levels-1)
		return true
	})
}

func enumText(list []byte) string {
	var words []string
	eachElement(list, func(v json.RawMessage) bool {
		if len(v) > 0 && v[0] == '"' {
			words = append(words, unquote(v))
		} else {
			words = append(words, string(v))
		}
		return len(words) < maxEnum
	})
	return strings.Join(words, " ")
}

// Inputs are the names of a tool object's top-level parameters, joined by spaces.
func Inputs(tool json.RawMessage) string {
	var names []string
	eachMember(member(member(tool, "inputSchema"), "properties"), func(name string, _ json.RawMessage) bool {
		names = append(names, name)
		return true
	})
	return strings.Join(names, " ")
}
