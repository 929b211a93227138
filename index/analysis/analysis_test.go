package analysis

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// terms writes what a text comes to; extra terms carry a plus.
func terms(text string) string {
	var a Analyzer
	return write(a.Tokens(text))
}

func write(tokens []Token) string {
	var out []string
	for _, t := range tokens {
		if t.Extra {
			t.Text = "+" + t.Text
		}
		out = append(out, t.Text)
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"camel", "getPullRequests", "get pull request +getpullrequest"},
		{"acronym", "HTTPServer2", "http server 2 +httpserver2"},
		{"plural acronym", "list all IDs and URLs", "list id url"},
		{"snake", "get_pull_request", "get pull request +getpullrequest"},
		{"two underscores", "github__get_me", "github get +githubgetm"},
		{"outer underscores", "_private_ __init__", "privat init"},
		{"kebab and path", "read-file a/b.txt", "read file b txt"},
		{"digits", "utf8 v2 2024", "utf 8 +utf8 v 2 +v2 2024"},
		{"stop words", "the tool that I want to use is for files", "tool file"},
		{"apostrophe", "don't user's", "don user"},
		{"stop words in a name", "who_am_i", "am +whoami"},
		{"stems", "searching searched searches", "search search search"},
		{"brand", "GitHub", "git hub +github"},
		{"german", "Größe der Dateien ändern", "grösse der dateien ändern"},
		{"russian", "Найти Файлы", "найти файлы"},
		{"russian camel", "найтиФайл", "найти файл +найтифайл"},
		{"chinese", "获取用户列表", "获取 取用 用户 户列 列表"},
		{"one character", "第3章", "第 3 章"},
		{"chinese and latin", "用户id列表", "用户 id 列表"},
		{"japanese", "データを取得", "デー ータ タを を取 取得"},
		{"half-width kana", "ﾃﾞｰﾀ", "デー ータ"},
		{"korean", "파일 검색", "파일 검색"},
		{"korean jamo", norm.NFD.String("검색기"), "검색 색기"},
		{"full-width", "ＣＳＶ　１２", "csv 12"},
		{"emoji", "send 📧 ✂️ 1️⃣ fast", "send 1\ufe0f\u20e3 fast"},
		{"combining marks", "cafe\u0301 n\u0303", "café ñ"},
		{"marks alone", "\u0301 \u0301", ""},
		{"ligature", "ﬁle", "file"},
		{"arabic", "البحث عن ملف", "البحث عن ملف"},
		{"hebrew", "חיפוש קבצים", "חיפוש קבצים"},
		{"pointed hebrew", "שָׁלוֹם", norm.NFKC.String("שָׁלוֹם")},
		{"greek", "Αναζήτηση αρχείων", "αναζήτηση αρχείων"},
		{"thai", "ค้นหาไฟล์ ทั้งหมด", norm.NFKC.String("ค้นหาไฟล์ ทั้งหมด")},
		{"persian", "جست\u200cوجوی پرونده", "جست وجوی پرونده"},
		{"bengali", "ফাইল খুঁজুন", norm.NFKC.String("ফাইল খুঁজুন")},
		{"tamil", "கோப்பு தேடு", norm.NFKC.String("கோப்பு தேடு")},
		{"georgian", "ფაილის ძებნა", "ფაილის ძებნა"},
		{"hindi", "फ़ाइल खोजें", norm.NFKC.String("फ़ाइल") + " खोजें"},
		{"invalid", "lo\xffad \xc3file", "lo ad file"},
		{"replacement character", "a\ufffdfile", "file"},
		{"nothing", "", ""},
		{"separators", " .,;!?-/\n\t", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terms(c.text); got != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTokensAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"words":      strings.Repeat("get file ", 1<<20/9),
		"one word":   strings.Repeat("a", 1<<20),
		"one name":   strings.Repeat("a_", 1<<19),
		"characters": strings.Repeat("文", 1<<20/3),
		"invalid":    strings.Repeat("\xff", 1<<20),
	} {
		var a Analyzer
		tokens := a.Tokens(text)
		if len(tokens) > MaxBytes {
			t.Errorf("%s: %d tokens of a text bounded to %d bytes", name, len(tokens), MaxBytes)
		}
		checkTokens(t, tokens)
	}
}

func checkTokens(t *testing.T, tokens []Token) {
	t.Helper()
	for _, tok := range tokens {
		if tok.Text == "" || len(tok.Text) > MaxTerm || !utf8.ValidString(tok.Text) {
			t.Fatalf("bad term %q", tok.Text)
		}
		if !strings.ContainsFunc(tok.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			t.Fatalf("term %q has no letter and no digit", tok.Text)
		}
	}
}

// Stems are cached, and a cache that is full starts anew: neither may change
// what a text comes to.
func TestCacheChangesNothing(t *testing.T) {
	var a Analyzer
	text := "listing the PullRequests of who_am_i"
	want := write(a.Tokens(text))
	for i := range maxStems {
		a.Tokens(strings.Repeat("x", i%50+1) + string(rune('a'+i%26)) + strings.Repeat("y", i%40))
	}
	if got := write(a.Tokens(text)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"Read FILE": "read file",
		"STRASSE":   "strasse",
		"Straße":    "strasse",
		"ＣＳＶ":       "csv",
		"ΣΊΣΥΦΟΣ":   "σίσυφοσ",
	} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"getPullRequest", "HTTPServer2", "第3章", "a\xffb", "📧️", "ﷺ", "e\u0301_X9", "ǅungla", "İstanbul", "〡", "⺀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a Analyzer
		first := write(a.Tokens(s))
		checkTokens(t, a.Tokens(s))
		if again := write(a.Tokens(s)); again != first {
			t.Errorf("%q: got %q, then %q", s, first, again)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := "Open a new pull request in a GitHub repository. Args: owner: the account that owns it, repo_name: its name"
	var a Analyzer
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.Tokens(text)
	}
}
