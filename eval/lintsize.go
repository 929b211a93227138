package eval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tooldex/tooldex/index"
)

// bytesPerToken is what JSON schemas come to with current tokenisers, near
// enough to say what an object costs.
const bytesPerToken = 4

// oversize finds tool objects that cost a model too much to read.
func (l *linter) oversize() []Finding {
	var out []Finding
	for _, t := range l.tools {
		if len(t.Raw) <= l.o.MaxBytes {
			continue
		}
		f := Finding{Rule: Oversize, Tool: t.QualifiedName()}
		f.Detail = fmt.Sprintf("its object has %d bytes, some %d tokens each time a model reads it", len(t.Raw), len(t.Raw)/bytesPerToken)
		f.Change = fmt.Sprintf("shorten it to %d bytes", l.o.MaxBytes)
		if name, n := largest(t); n > 0 {
			f.Change = fmt.Sprintf("shorten %s: %d %% of the object", name, 100*n/len(t.Raw))
		}
		f.Gain = fmt.Sprintf("some %d tokens a reading", (len(t.Raw)-l.o.MaxBytes)/bytesPerToken)
		out = append(out, f)
	}
	return out
}

// largest names the largest part of a tool object: a parameter, or a member
// other than the input schema.
func largest(t index.Tool) (name string, size int) {
	var o map[string]json.RawMessage
	if json.Unmarshal(t.Raw, &o) != nil {
		return "", 0 // Decode has warned of it
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(o["inputSchema"], &schema) // a schema of another shape has no properties to name
	consider := func(what string, raw json.RawMessage) {
		if len(raw) > size || len(raw) == size && what < name {
			name, size = what, len(raw)
		}
	}
	for key, raw := range o {
		if key != "inputSchema" || len(schema.Properties) == 0 {
			consider(key, raw)
		}
	}
	for key, raw := range schema.Properties {
		consider(fmt.Sprintf("parameter %q", key), raw)
	}
	return name, size
}

// odd passes on what reading a tool complained of.
func (l *linter) odd() []Finding {
	var out []Finding
	for _, t := range l.tools {
		problems := append([]string(nil), t.Warnings...)
		change, gain := "mend the tool object at its server", "clients that are strict stop refusing it"
		if t.Inexecutable != "" {
			problems = append(problems, t.Inexecutable)
			gain = "the tool can be called"
		}
		if len(problems) > 0 {
			out = append(out, Finding{Rule: Odd, Tool: t.QualifiedName(), Detail: strings.Join(problems, "; "), Change: change, Gain: gain})
		}
	}
	return out
}
