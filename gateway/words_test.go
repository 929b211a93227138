package gateway

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortened(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, tt := range []struct{ in, want string }{
		{" short ", "short"},
		{"One. Two is here. Three is too long for this", "One. Two is here.…"},
		{"no sentence ends in these thirty", "no sentence ends in these…"},
		{"v1.2 has a dot but no end of sentence", "v1.2 has a dot but no end of…"},
		{"Use it, e.g. for this. \n\n    Then: a b c d e f g", "Use it, e.g. for this.…"},
		{"first line\n   second line and more words", "first line\nsecond line and…"},
		{"a  \n\n   b", "a\nb"},
		{strings.Repeat("x", 40), strings.Repeat("x", 29) + "…"},
		{"これは道具です。とても長い説明がここに続きます。そして終わりません", "これは道具です。とても長い説明がここに続きます。…"},
	} {
		got := shortened(tt.in, 30)
		if got != tt.want {
			t.Errorf("shortened(%q): got %q, want %q", tt.in, got, tt.want)
		}
	}
	if n := utf8.RuneCountInString(shortened(long, maxDescription)); n > maxDescription {
		t.Errorf("%d characters, want at most %d", n, maxDescription)
	}
}

func TestDidYouMean(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"tag", `; did you mean "tags"?`},
		{"exclude", `; did you mean "exclude_tags"?`},
		{"Servers", `; did you mean "servers"?`},
		{"zzzzzzzz", ""},
		{"", ""},
	} {
		if got := didYouMean(tt.name, filterKeys); got != tt.want {
			t.Errorf("didYouMean(%q): got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMembers(t *testing.T) {
	const raw = ` {"b" : 12345678901234567890, "a":{"z":1, "y":"<"}, "b":null} `
	ms, err := members([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(object(ms)), `{"b":12345678901234567890,"a":{"z":1, "y":"<"},"b":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "[]", "{", `{"a"}`, `{"a":1`, `{"a":1 "b"}`, "null"} {
		if _, err := members([]byte(bad)); err == nil {
			t.Errorf("members(%q) gave no error", bad)
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := members(data)
		if err != nil {
			return
		}
		again, err := members(object(ms))
		if err != nil {
			t.Fatalf("written object does not read: %v", err)
		}
		if string(object(again)) != string(object(ms)) {
			t.Errorf("%s became %s", object(ms), object(again))
		}
	})
}
