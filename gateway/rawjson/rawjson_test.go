package rawjson

import "testing"

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
