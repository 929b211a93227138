package arguments

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tooldex/tooldex/index/tool"
)

const draft4, draft7 = `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`

// brokenSchemas are not valid, each in one part; want is in their warning.
var brokenSchemas = []struct{ schema, want string }{
	{`{"properties":{"a":{"type":"sting"},"n":{"type":"integer"}}}`, `/properties/a/type is "sting" instead of a type`},
	{`{"properties":{"a":{"type":["string","string"]},"n":{"type":"integer"}}}`, `/properties/a/type`},
	{`{"properties":{"a":{"type":"string","required":true},"n":{"type":"integer"}}}`, `/properties/a/required is true instead of a list`},
	{`{"properties":{"a":{"description":null},"n":{"type":"integer"}}}`, `/properties/a/description is null`},
	{`{"properties":{"a":{"items":[{"type":"string"}]},"n":{"type":"integer"}}}`, `/properties/a/items`},
	{`{"properties":{"a":7,"n":{"type":"integer"}}}`, `/properties/a is 7 instead of a schema`},
	{`{"properties":{"a":{"anyOf":[{},"x"]},"n":{"type":"integer"}}}`, `/properties/a/anyOf/1 is "x"`},
	{`{"properties":{"a":{"anyOf":[]},"n":{"type":"integer"}}}`, `/properties/a/anyOf is []`},
	{`{"properties":{"a":{"$ref":"#/$defs/Gone"},"n":{"type":"integer"}}}`, `/properties/a/$ref is "#/$defs/Gone" instead of a reference`},
	{`{"properties":{"a":{"$ref":"#gone"},"n":{"type":"integer"}}}`, `/properties/a/$ref`},
	{`{"properties":{"a":{"minLength":-1},"n":{"type":"integer"}}}`, `/properties/a/minLength is -1`},
	{`{"properties":{"a":{"maxItems":"3"},"n":{"type":"integer"}}}`, `/properties/a/maxItems`},
	{`{"properties":{"a":{"minimum":"3"},"n":{"type":"integer"}}}`, `/properties/a/minimum`},
	{`{"properties":{"a":{"multipleOf":0},"n":{"type":"integer"}}}`, `/properties/a/multipleOf`},
	{`{"properties":{"a":{"exclusiveMinimum":true},"n":{"type":"integer"}}}`, `/properties/a/exclusiveMinimum`},
	{`{` + draft4 + `"properties":{"a":{"exclusiveMinimum":3},"n":{"type":"integer"}}}`, `/properties/a/exclusiveMinimum`},
	{`{` + draft4 + `"properties":{"a":true,"n":{"type":"integer"}}}`, `/properties/a is true`},
	{`{` + draft7 + `"properties":{"a":{"items":[7]},"n":{"type":"integer"}}}`, `/properties/a/items/0`},
	{`{"properties":{"a":{"enum":"x"},"n":{"type":"integer"}}}`, `/properties/a/enum`},
	{`{"properties":{"a":{"additionalProperties":"no"},"n":{"type":"integer"}}}`, `/properties/a/additionalProperties`},
	{`{"properties":{"a":{"properties":[]},"n":{"type":"integer"}}}`, `/properties/a/properties`},
	{`{"properties":{"properties":{"type":7},"n":{"type":"integer"}}}`, `/properties/properties/type`},
	{`{"properties":{"n":{"type":"integer"}},"required":["m","m",7]}`, `/required`},
}

func TestBrokenSchemas(t *testing.T) {
	for _, tt := range brokenSchemas {
		if _, err := compile(json.RawMessage(tt.schema), nil); err == nil {
			t.Errorf("%s compiles as it is", tt.schema)
		}
		s := tool.InputSchema(json.RawMessage(`{"inputSchema":` + strings.Replace(tt.schema, "{", `{"type":"object",`, 1) + `}`))
		if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], tt.want) {
			t.Errorf("%s: warnings %q, want %q in one", tt.schema, s.Warnings, tt.want)
		}
		mended, err := compile(s.JSON, s.Faults)
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if strings.Contains(tt.schema, "required\":[") {
			if mended.explain.Validate(map[string]any{}) == nil || mended.explain.Validate(map[string]any{"m": true}) != nil {
				t.Errorf("%s: the name that is required is not m alone", tt.schema)
			}
			continue
		}
		if err := mended.explain.Validate(map[string]any{"a": "x", "properties": "x"}); err != nil {
			t.Errorf("%s: the broken part is checked: %v", tt.schema, err)
		}
		if mended.explain.Validate(map[string]any{"n": "x"}) == nil {
			t.Errorf("%s: the other part goes unchecked", tt.schema)
		}
	}
}

// TestSoundSchemas has what looks odd and is valid.
func TestSoundSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"type":{"type":["string","null"]},"required":{"enum":[]},"$ref":{"default":7,"const":{"type":"sting"}}},"required":[]}`,
		`{"type":"object","$defs":{"a b":{"$anchor":"here"}},"properties":{"a":{"$ref":"#/$defs/a%20b"},"b":{"$ref":"#"},"c":{"$ref":"#here"},"d":true},"unknown":{"type":7}}`,
		`{"type":"object","properties":{"a":{"minLength":2.0,"multipleOf":1e-3,"pattern":"(?!x)","examples":[],"nullable":7}}}`,
		`{` + draft4 + `"type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true,"additionalProperties":false}}}`,
		`{` + draft7 + `"type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}},"definitions":{"d":{"$ref":"#/properties/a"}}}`,
	} {
		s := tool.InputSchema(json.RawMessage(`{"inputSchema":` + schema + `}`))
		if len(s.Faults)+len(s.Warnings) > 0 {
			t.Errorf("%s: %q", schema, s.Warnings)
		}
		if _, err := compile(s.JSON, nil); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// FuzzMend checks that what the inspector takes out of a schema lets it
// compile more often, and never less.
func FuzzMend(f *testing.F) {
	for _, tt := range brokenSchemas {
		f.Add([]byte(tt.schema))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema)); err != nil || len(schema) > 1000 {
			return
		} else if _, ok := doc.(map[string]any); !ok {
			return
		}
		s := tool.InputSchema(append(append([]byte(`{"inputSchema":`), schema...), '}'))
		if s.Unusable != "" {
			return
		}
		if _, before := compile(s.JSON, nil); before != nil {
			return
		}
		if _, err := compile(s.JSON, s.Faults); err != nil {
			t.Errorf("%s compiles, and without %v it does not: %v", schema, s.Faults, err)
		}
	})
}
