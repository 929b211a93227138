package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzEach compares what is found without decoding with what encoding/json
// decodes; of what is no JSON it may find anything.
func FuzzEach(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[{"c":"}\\"},"\"]"],"":{}}`, ` [1, "a\\\"b" , {"x":[]},null ] `, `{}`, `[]`, `{"a\u0062":"\\", "d" : -1e5}`, `"\ud83d\ude00 \ud83d \ude00 \ud83dx \b\f\n\r\t\/\"\\"`, "\"\xff\"", `"x"`, `{"a":`, `[{]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members := map[string]json.RawMessage{}
		Each(data, func(key string, value json.RawMessage) { members[key] = value })
		elements, isArray := Elements(data)
		if !json.Valid(data) {
			return
		}
		want := map[string]json.RawMessage{}
		if Kind(data) == "object" && json.Unmarshal(data, &want) == nil {
			if len(members) != len(want) {
				t.Fatalf("%s: %d members, want %d", data, len(members), len(want))
			}
			for key, value := range want {
				if !bytes.Equal(members[key], value) {
					t.Errorf("%s: %q is %s, want %s", data, key, members[key], value)
				}
			}
		}
		var all []json.RawMessage
		if (Kind(data) == "array") != isArray {
			t.Fatalf("%s: an array: %v", data, isArray)
		}
		if isArray && json.Unmarshal(data, &all) == nil {
			if len(all) != len(elements) {
				t.Fatalf("%s: %d elements, want %d", data, len(elements), len(all))
			}
			for i := range all {
				if !bytes.Equal(all[i], elements[i]) {
					t.Errorf("%s: %d is %s, want %s", data, i, elements[i], all[i])
				}
			}
		}
		var text string
		if Kind(data) == "string" && json.Unmarshal(data, &text) == nil && Text(bytes.TrimSpace(data)) != text {
			t.Errorf("%s is decoded as %q, want %q", data, Text(data), text)
		}
	})
}

// FuzzQuote compares with encoding/json.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a\"b\\c\n\t\r\b\f\x00\x1f\x7f", "<&> é \u2028\u2029 \xff \xe2\x80", "😀 日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := Quote(s); !bytes.Equal(got, want) {
			t.Errorf("%q is quoted as %s, want %s", s, got, want)
		}
		if got := Quote(json.RawMessage(s)); !bytes.Equal(got, want) {
			t.Errorf("bytes %q are quoted as %s, want %s", s, got, want)
		}
	})
}

// FuzzValid compares with encoding/json.
func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+7,true,false,null,"x\u00e9\n"],"b":{}}`, `[]`, ` 1 `, `01`, `-`, `1.`, `1e`, `[1,]`, `{"a":1,}`, `{"a"}`, `{,}`, `"\x"`, `"\u12"`,
		"\"\t\"", `[}`, `tru`, `truex`, `{"a":1]`, ``, `[[]`, `1 2`, `"\`, `{"a":`, `{"a" :1 , "b": 2 }`,
	} {
		f.Add([]byte(seed))
	}
	f.Add(bytes.Repeat([]byte("["), 10001))
	f.Add(append(bytes.Repeat([]byte("["), 10000), bytes.Repeat([]byte("]"), 10000)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := Valid(data), json.Valid(data); got != want {
			t.Errorf("%.200q is valid: %v, want %v", data, got, want)
		}
	})
}
