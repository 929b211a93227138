package arguments

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/index/tool"
)

func TestCheck(t *testing.T) {
	const csv = `{"type":"object","properties":{` +
		`"file_url":{"type":"string","description":"where"},` +
		`"columns":{"type":"array","items":{"type":"string"}},` +
		`"output_format":{"enum":["json","markdown"]},` +
		`"options":{"type":"object","properties":{"depth":{"type":"integer","minimum":1}},"additionalProperties":false},` +
		`"when":{"anyOf":[{"type":"string"},{"type":"integer"}]}},` +
		`"required":["file_url"],"additionalProperties":false}`
	for _, tt := range []struct {
		name, schema, arguments string
		want                    []string // parts of the message; none means valid
	}{
		{"valid", csv, `{"file_url":"x","columns":["a"],"when":3}`, nil},
		{"missing", csv, `{}`, []string{`arguments: "file_url" missing`}},
		{"unknown", csv, `{"file_url":"x","colums":[]}`, []string{`unknown "colums"; did you mean "columns"?`}},
		{"type", csv, `{"file_url":7}`, []string{`arguments/file_url: expected string, got number`}},
		{"item", csv, `{"file_url":"x","columns":["a",2]}`, []string{`arguments/columns/1: expected string, got number`}},
		{"enum", csv, `{"file_url":"x","output_format":"xml"}`, []string{`arguments/output_format: value must be one of 'json', 'markdown'`}},
		{"nested", csv, `{"file_url":"x","options":{"dept":1}}`, []string{`arguments/options: unknown "dept"; did you mean "depth"?`}},
		{"minimum", csv, `{"file_url":"x","options":{"depth":0}}`, []string{`arguments/options/depth: `, `1`}},
		{"anyOf", csv, `{"file_url":"x","when":true}`, []string{`arguments/when: fits none of the allowed forms`, `string`, `integer`}},
		{"several", csv, `{"columns":3,"when":true,"options":1,"output_format":0}`, []string{"; and 2 more"}},
		{"big integers stay exact", `{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740992}`, []string{"arguments/n"}},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string"}]}}}`, `{"a":[1]}`, []string{"arguments/a/0"}},
		{"formats are left to the server", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"}}}`, `{"a":"x"}`, nil},
		{"look-ahead is left to the server", `{"properties":{"a":{"pattern":"^(?!x)"}}}`, `{"a":"x"}`, nil},
		{"pattern", `{"properties":{"a":{"pattern":"^y"}}}`, `{"a":"x"}`, []string{"arguments/a", "^y"}},
		{"recursive", `{"properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`, `{"kids":[{"kid":1}]}`, []string{`arguments/kids/0: unknown "kid"; did you mean "kids"?`}},
		{"endless reference", `{"$ref":"#"}`, `{}`, nil},
		{"no schema at all", `{"type":7}`, `{"a":1}`, nil},
		{"remote reference", `{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, `{}`, []string{"cannot be used", "https://example.com/s.json"}},
		{"file reference", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{}`, []string{"cannot be used"}},
		{"not an object", csv, `[1]`, []string{"arguments: expected object, got array"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema := NewSchema(tool.Schema{JSON: json.RawMessage(tt.schema)}, nil)
			err := NewChecker().Check(t.Context(), "s/t", schema, json.RawMessage(tt.arguments))
			var e *Error
			if tt.want == nil {
				if errors.As(err, &e) {
					t.Fatalf("got %v, want no error", err)
				}
				return
			}
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an Error", err)
			}
			t.Log(e.Problem, "|", e.Hint)
			for _, part := range tt.want {
				if !strings.Contains(e.Problem, part) {
					t.Errorf("got %q, want %q in it", e.Problem, part)
				}
			}
			if e.Hint == "" {
				t.Error("the error has no hint")
			}
		})
	}
}

func TestSignature(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"properties":{"b":{"type":"integer"},"a":{"type":"string"},"c":{"type":"array","items":{"type":"number"}}},"required":["a"]}`,
			"f(a: string, b?: integer, c?: number[])"},
		{`{"properties":{"k":{"enum":["x",1,null]},"o":{"type":["string","null"]},"u":{}}}`, `f(k?: "x"|1|null, o?: string|null, u?: any)`},
		{`{"properties":{"k":{"enum":[1,2,3,4,5,6,7]}}}`, `f(k?: 1|2|3|4|5|6|…)`},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"array","items":{"$ref":"#/$defs/x"}}}}`, "f(a?: array[][][][])"},
		{`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/no/where"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`, "f(a?: any, b?: any)"},
		{`{"type":"object"}`, "f()"},
		{`true`, "f()"},
	} {
		if got := signature("f", &Schema{raw: json.RawMessage(tt.schema)}); got != tt.want {
			t.Errorf("signature of %s: got %s, want %s", tt.schema, got, tt.want)
		}
	}
}

// TestFault checks that a schema's fault is named briefly, however many there
// are.
func TestFault(t *testing.T) {
	_, err := compile(json.RawMessage(`{"properties":{"a":{"type":"sting"}`+strings.Repeat(`,"b":{"type":7}`, 100)+`}}`), nil)
	if err == nil || !strings.Contains(err.Error(), "/properties/a/type") || len(err.Error()) > 300 {
		t.Errorf("got %v, want a brief error that names /properties/a/type", err)
	}
}
