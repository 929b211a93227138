package arguments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tooldex/tooldex/gateway/rawjson"
	"github.com/tooldex/tooldex/index/tool"
)

// doubling is a schema of n definitions of which each refers to the next
// twice; the last one is leaf.
func doubling(n int, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"%d":%s}}`, n, leaf)
	return b.String()
}

func nested(n int) string {
	return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
}

func object1(key, value string) string { return `{"` + key + `":` + value + `}` }

func bombs() map[string][2]string {
	long := `{"a":"` + strings.Repeat("a", 200_000) + `!"}`
	pattern := func(p string) string {
		return `{"properties":{"a":{"pattern":` + string(rawjson.Quote(p)) + `}}}`
	}
	var enum []string
	for i := range 40_000 {
		enum = append(enum, fmt.Sprintf(`"value %d"`, i))
	}
	return map[string][2]string{
		"references that double":             {doubling(40, `{"type":"object"}`), `{}`},
		"references that double to a breach": {doubling(40, `{"type":"string"}`), `{}`},
		"a few, each breached":               {doubling(17, `{"required":["x"]}`), `{}`},
		"recursive oneOf":                    {`{"oneOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nested(30)},
		"recursive items": {`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"items":{"$ref":"#/$defs/x"}},{"items":{"$ref":"#/$defs/x"},"minItems":2}]}}}`,
			object1("a", strings.Repeat("[", 40)+strings.Repeat("]", 40))},
		"endless":                {`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{}`},
		"endless, with others":   {`{"anyOf":[{"type":"string"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`, `{}`},
		"dynamic reference":      {`{"$dynamicAnchor":"a","allOf":[{"$ref":"other"},{"$ref":"other"}],"$defs":{"o":{"$id":"other","$ref":"#/$defs/b","$defs":{"b":{"properties":{"a":{"$dynamicRef":"#a"}}},"c":{"$dynamicAnchor":"a"}}}}}`, nested(40)},
		"long pattern":           {pattern(strings.Repeat("(a|b|c)*", 1000) + "$"), long},
		"nested repetition":      {pattern(`((a{0,30}){0,30})$`), long},
		"repetition in thousand": {pattern(`(a{0,99}){0,9}$`), `{"a":"` + strings.Repeat("a", 4000) + `"}`},
		"many items with a pattern": {`{"properties":{"a":{"items":{"pattern":"(a?){50}b$"}}}}`,
			`{"a":["x"` + strings.Repeat(`,"`+strings.Repeat("a", 1000)+`"`, 5000) + `]}`},
		"enum":             {`{"properties":{"a":{"items":{"enum":[` + strings.Join(enum, ",") + `]}}}}`, `{"a":["x"` + strings.Repeat(`,"y"`, 20_000) + `]}`},
		"numbers in enum":  {`{"properties":{"a":{"items":{"enum":[1` + strings.Repeat(",2", 20_000) + `]}}}}`, `{"a":[3` + strings.Repeat(",4", 20_000) + `]}`},
		"huge number":      {`{"properties":{"a":{"minimum":1}}}`, `{"a":1e999999999}`},
		"huge numbers":     {`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[1e900000` + strings.Repeat(",1e900000", 9999) + `]}`},
		"huge limit":       {`{"properties":{"a":{"minimum":1e999999}}}`, `{"a":1}`},
		"unique":           {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("1e2000000,", 30) + `1]}`},
		"many subschemas":  {`{"properties":{"a":{"enum":[` + strings.Repeat(`{},`, 20_000) + `0]}}}`, `{}`},
		"many violations":  {`{"additionalProperties":{"type":"string"}}`, manyKeys(100_000)},
		"many unknown":     {`{"additionalProperties":false}`, manyKeys(100_000)},
		"deep":             {`{"properties":{"a":{"$ref":"#"}}}`, nested(9_000)},
		"near the limit":   {`{"properties":{"a":{"items":{"type":"integer","minimum":0}}}}`, `{"a":[1` + strings.Repeat(",2", 100_000) + `]}`},
		"its own dialect":  {`{"$schema":"tool:///inputSchema","allOf":[{"$ref":"#/$defs/0"}],"$defs":{"0":{}}}`, `{}`},
		"claimed patterns": {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":{"format":"regex"}}}}`, `{"a":["(?i)\\pL{900}"` + strings.Repeat(`,"(?i)\\pL{900}"`, 999) + `]}`},
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"key%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

// TestBombs checks that no schema and no arguments cost much, and that what
// is said about them is short. The limits leave room for a busy machine.
func TestBombs(t *testing.T) {
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			err := NewChecker().Check(t.Context(), "s/t", NewSchema(tool.Schema{JSON: json.RawMessage(bomb[0])}, nil), json.RawMessage(bomb[1]))
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			t.Logf("%v, %d MB: %v", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if took > 10*time.Second {
				t.Errorf("checking took %v", took)
			}
			if alloc := after.TotalAlloc - before.TotalAlloc; alloc > 1<<30 {
				t.Errorf("checking allocated %d MB", alloc>>20)
			}
			var e *Error
			if errors.As(err, &e) && len(e.Problem) > 1000 {
				t.Errorf("the error has %d bytes", len(e.Problem))
			}
		})
	}
}

// TestHeavyChecks checks that long checks wait for each other, and not for
// callers that have gone.
func TestHeavyChecks(t *testing.T) {
	c := NewChecker()
	schema := NewSchema(tool.Schema{JSON: json.RawMessage(`{"properties":{"a":{"items":{"type":"integer"}}}}`)}, nil)
	arguments := json.RawMessage(`{"a":[1` + strings.Repeat(",2", 10_000) + `]}`)
	if err := c.Check(t.Context(), "s/t", schema, arguments); err != nil {
		t.Fatal(err)
	}
	if err := c.heavy.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := c.Check(gone, "s/t", schema, arguments); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a caller that has gone", err)
	}
	if err := c.Check(gone, "s/t", schema, json.RawMessage(`{"a":[1]}`)); err != nil {
		t.Errorf("got %v for a short check beside a long one", err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	waiting := make(chan error)
	go func() { waiting <- c.Check(ctx, "s/t", schema, arguments) }()
	over := errors.New("over")
	end(over)
	if err := <-waiting; !errors.Is(err, over) {
		t.Errorf("got %v for a caller that goes while it waits", err)
	}
	c.heavy.leave()
}
