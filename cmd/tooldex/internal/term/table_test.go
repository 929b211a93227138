package term

import (
	"bytes"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, k := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 10, "short"}, {"exactly ten", 11, "exactly ten"}, {"a longer text", 8, "a longe…"}, {"日本語テキスト", 7, "日本語…"},
	} {
		if got := Cut(k.text, k.n); got != k.want {
			t.Errorf("cut %q to %d: got %q, want %q", k.text, k.n, got, k.want)
		}
	}
}

func TestGridFitsTheLine(t *testing.T) {
	g := &Grid{Head: []string{"n", "what", "about"}, Numbers: []int{0}}
	g.Add("1", "a", strings.Repeat("word ", 30))
	g.Add("20", "longer", "two\nlines")
	if got := g.fitted(g.Rows[0], 40); len([]rune(strings.Join(got, "  "))) > 40 || !strings.HasSuffix(got[2], "…") {
		t.Errorf("got %q", got)
	}
	var b bytes.Buffer
	g.Write(&b)
	want := " N  WHAT    ABOUT\n 1  a       " + strings.TrimSpace(strings.Repeat("word ", 30)) + "\n20  longer  two lines\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
