package term

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for _, k := range []struct{ text, want string }{
		{"plain, ü, 日本, é, 🙂", "plain, ü, 日本, é, 🙂"},
		{"a\tb\nc\r\nd\re", "a\tb\nc\nd\\u000de"},
		{"\x1b]52;c;eA==\a", `\u001b]52;c;eA==\u0007`},
		{"\u009b2J\u0085\x7f", `\u009b2J\u0085\u007f`},
		{"\u202egpj.exe\u2066\u200f\u061c", `\u202egpj.exe\u2066\u200f\u061c`},
		{"a\u200bb\u200d\u2060\ufeff\u00ad", `a\u200bb\u200d\u2060\ufeff\u00ad`},
		{"\U000e0041\U000e0120", `\udb40\udc41\udb40\udd20`},
		{"\u2028\u3164\u034f", `\u2028\u3164\u034f`},
		{"a\xffb", "a\ufffdb"},
	} {
		if got := Visible(k.text); got != k.want {
			t.Errorf("%q: got %q, want %q", k.text, got, k.want)
		}
	}
	if got := Flat("a\nb\tc\r\n"); got != `a\u000ab\u0009c\u000d\u000a` {
		t.Errorf("flat: %q", got)
	}
}

// Characters that come in parts are put together, and JSON stays equal.
func TestScreenKeepsText(t *testing.T) {
	want := map[string]string{"日\u202e\U000e0041🙂": "\u009b\u2028é"}
	in, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < 6; size++ {
		var out bytes.Buffer
		s := NewScreen(&out)
		for rest := in; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if n, err := s.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		var got map[string]string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got) != 1 || got["日\u202e\U000e0041🙂"] != "\u009b\u2028é" {
			t.Errorf("in parts of %d: %v\n%s", size, err, out.Bytes())
		}
	}
	var out bytes.Buffer
	s := NewScreen(&out)
	if _, err := io.WriteString(s, "a\xe6\x97"); err != nil || s.flush() != nil || out.String() != "a\ufffd" {
		t.Errorf("an end that is missing: %v %q", err, out.String())
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b[2J\u202e\U000e0041\xff\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := Visible(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && Unseen(r) }) || Visible(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}
