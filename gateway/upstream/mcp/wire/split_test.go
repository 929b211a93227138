package wire

import (
	"fmt"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`:                           nil,
		`[1, "a,b\"]" ,{"x":[1,2]}]`:   {"1", `"a,b\"]"`, `{"x":[1,2]}`},
		` {"a":1,"b" : [2, 3]} `:       {`"a":1`, `"b" : [2, 3]`},
		`[[[[]]],"\\"]`:                {`[[[]]]`, `"\\"`},
		`{"a":"}","b":"\\\"{","c":{}}`: {`"a":"}"`, `"b":"\\\"{"`, `"c":{}`},
	} {
		var got []string
		if err := Split([]byte(text), func(part []byte, _ int) bool { got = append(got, string(part)); return true }); err != nil {
			t.Error(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "[", "{]", "1", "null"} {
		if err := Split([]byte(text), func([]byte, int) bool { return true }); err == nil {
			t.Errorf("%q was split", text)
		}
	}
	fields, err := Members([]byte(`{"a\u0062":1, "c":null,"c": {"d":2}}`))
	if err != nil || len(fields) != 2 || string(fields["ab"]) != "1" || string(fields["c"]) != `{"d":2}` {
		t.Errorf("got %s, %v", fields, err)
	}
}
