package arguments

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tooldex/tooldex/index/tool"
)

// FuzzCheck: no schema and no arguments break the check, and what it says is
// short.
func FuzzCheck(f *testing.F) {
	for _, bomb := range bombs() {
		if len(bomb[0])+len(bomb[1]) < 4000 {
			f.Add([]byte(bomb[0]), []byte(bomb[1]))
		}
	}
	f.Add([]byte(`{"properties":{"a":{"oneOf":[{"const":1},{"pattern":"x"}],"not":{"enum":[2]}}},"dependentSchemas":{"a":{"required":["b"]}}}`), []byte(`{"a":"é"}`))
	f.Add([]byte(`{"$id":"x:y","$recursiveAnchor":true,"$schema":"https://json-schema.org/draft/2019-09/schema","unevaluatedProperties":{"$recursiveRef":"#"}}`), []byte(`{"a":{"b":[]}}`))
	c := NewChecker()
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if !json.Valid(schema) {
			return
		}
		err := c.Check(t.Context(), "s/t", NewSchema(tool.Schema{JSON: schema}, nil), arguments)
		var e *Error
		if errors.As(err, &e) && len(e.Problem) > 4000 { // of at most 1,000 characters
			t.Errorf("the error has %d bytes: %s", len(e.Problem), e.Problem)
		}
		if s := signature("s/t", &Schema{raw: schema}); len(s) > 8000 {
			t.Errorf("the signature has %d bytes: %s", len(s), s)
		}
	})
}
