package words

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
		got := Shorten(tt.in, 30)
		if got != tt.want {
			t.Errorf("Shorten(%q): got %q, want %q", tt.in, got, tt.want)
		}
	}
	if n := utf8.RuneCountInString(Shorten(long, MaxDescription)); n > MaxDescription {
		t.Errorf("%d characters, want at most %d", n, MaxDescription)
	}
}

func TestDidYouMean(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"tag", `; did you mean "tags"?`},
		{"exclude", `; did you mean "exclude_tags"?`},
		{"Servers", `; did you mean "servers"?`},
		{"zzzzzzzz", ""},
		{"x", ""},
		{"", ""},
	} {
		if got := DidYouMean(tt.name, []string{"tags", "exclude_tags", "servers", "category"}); got != tt.want {
			t.Errorf("DidYouMean(%q): got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"abc", "abc"}, {"éééé", "éééé"}, {"abcde", "abc…"}, {"éééééé", "ééé…"}, {"日本語", "日本語"},
	} {
		if got := Cut(tt.in, 4); got != tt.want {
			t.Errorf("Cut(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
