package rawjson

import (
	"encoding/json"
	"testing"
)

func TestMembers(t *testing.T) {
	const raw = ` {"b" : 12345678901234567890, "a":{"z":1, "y":"<"}, "b":null} `
	ms, err := Members([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(Object(ms)), `{"b":12345678901234567890,"a":{"z":1, "y":"<"},"b":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "[]", "{", `{"a"}`, `{"a":1`, `{"a":1 "b"}`, "null"} {
		if _, err := Members([]byte(bad)); err == nil {
			t.Errorf("Members(%q) gave no error", bad)
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := Members(data)
		if err != nil {
			return
		}
		again, err := Members(Object(ms))
		if err != nil {
			t.Fatalf("written object does not read: %v", err)
		}
		if string(Object(again)) != string(Object(ms)) {
			t.Errorf("%s became %s", Object(ms), Object(again))
		}
	})
}

func TestEdit(t *testing.T) {
	edit := func(key string, value json.RawMessage) json.RawMessage {
		switch key {
		case "new":
			return json.RawMessage(`"other"`)
		case "gone":
			return nil
		}
		return value
	}
	for raw, want := range map[string]string{
		`{}`:                          `{}`,
		` { "new" : 1 } `:             ` { "new" : "other" } `,
		`{"a": 1.0,"new":[1,2]}`:      `{"a": 1.0,"new":"other"}`,
		`{"gone":{"x":1}}`:            `{}`,
		`{"gone":1, "a":"<\u0041,}"}`: `{ "a":"<\u0041,}"}`,
		`{"a":1,"gone":2}`:            `{"a":1}`,
		`{"a":1,"gone":2,"n\u0065w":3 ,"gone":null}`: `{"a":1,"n\u0065w":"other"}`,
	} {
		if got := string(Edit(json.RawMessage(raw), edit)); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}
