package tool

import (
	"encoding/json"
	"testing"
)

func TestClaims(t *testing.T) {
	for _, tt := range []struct{ raw, effect, group string }{
		{`{"name":"a"}`, Destructive, ""},
		{`{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":true},"_meta":{"group":" people "}}`, Read, "people"},
		{`{"name":"a","annotations":{"readOnlyHint":false,"destructiveHint":false},"_meta":{"com.example/group":"x","group":"y"}}`, Write, "x"},
		{`{"name":"a","annotations":{"readOnlyHint":"true"},"_meta":{"group":7,"a/group":"z"}}`, Destructive, "z"},
		{`{"name":"a","annotations":[],"_meta":[]}`, Destructive, ""},
		{`{"name":"a","annotations":{"readOnlyHint":true,"readOnlyHint":false}}`, Destructive, ""}, // as decoders take it
	} {
		if got := EffectOf(json.RawMessage(tt.raw)); got != tt.effect {
			t.Errorf("effect of %s: %s, want %s", tt.raw, got, tt.effect)
		}
		if got := GroupOf(json.RawMessage(tt.raw)); got != tt.group {
			t.Errorf("group of %s: %q, want %q", tt.raw, got, tt.group)
		}
	}
	before := Hash(&Tool{Name: "a", Raw: json.RawMessage(`{}`)})
	if before != Hash(&Tool{Name: "a", Raw: json.RawMessage(`{}`), Effect: Read, Group: "x"}) {
		t.Error("what Raw says is hashed twice")
	}
}
