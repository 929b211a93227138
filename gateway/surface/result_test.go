package surface

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway"
)

// Long texts are JSON where they look like it, and keep their bytes where
// these say no more than they must.
func TestValue(t *testing.T) {
	long := strings.Repeat("x", scalarBytes)
	for text, want := range map[string]string{
		`"7"`:                             `7`,
		`" {} "`:                          `{}`,
		`"a<b\n"`:                         `"a<b\n"`,
		`"\u4e2d\u6587 \/"`:               `"中文 /"`,
		`"` + long + `"`:                  `"` + long + `"`,
		`"\n \t[\"` + long + `\"]"`:       `["` + long + `"]`,
		`"[` + long + `"`:                 `"[` + long + `"`,
		`"\u007b\"a\":\"` + long + `\"}"`: `{"a":"` + long + `"}`,
		`"\n` + long + `"`:                `"\n` + long + `"`,
	} {
		r := gateway.Result{Content: []gateway.Block{{Type: "text", Quoted: json.RawMessage(text)}}}
		if got := string(Value(r)); got != want {
			t.Errorf("%.40s is %.40s, want %.40s", text, got, want)
		}
	}
	two := gateway.Result{Content: []gateway.Block{{Type: "text", Quoted: json.RawMessage(`"1"`)}, {Type: "image"}, {Type: "text", Quoted: json.RawMessage(`"b"`)}}}
	if got := string(Value(two)); got != `["1","b"]` {
		t.Errorf("two texts are %s", got)
	}
	spaces := gateway.Result{Content: []gateway.Block{{Type: "text", Quoted: json.RawMessage(`"` + strings.Repeat(" ", scalarBytes) + `"`)}}}
	if got := len(Value(spaces)); got != scalarBytes+2 {
		t.Errorf("spaces are %d bytes", got)
	}
}
