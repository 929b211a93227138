package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEmbed(t *testing.T) {
	t.Setenv("TOOLDEX_CONFIG", writeConfig(t, t.TempDir(), "{}"))
	code, stdout, stderr := execute("embed", "open a pull request", "create a merge request", "bake a cake")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"builtin/", " 256 dimensions\n", "1  ", "  open a pull request\n", "COSINE  ", "2        0.4"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	code, stdout, _ = execute("embed", "--query", "x", "--json")
	if code != 0 || !strings.Contains(stdout, `"cosines": [`) {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
	t.Setenv("TOOLDEX_EMBEDDING_PROVIDER", "none")
	if code, _, stderr := execute("embed", "x"); code != 1 || !strings.Contains(stderr, "hint: set embedding.provider") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	t.Setenv("TOOLDEX_EMBEDDING_PROVIDER", "clay")
	if code, _, stderr := execute("embed", "x"); code != 1 || !strings.Contains(stderr, `"clay" is none of builtin, ollama, openai, none`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestCut(t *testing.T) {
	for _, k := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 10, "short"}, {"exactly ten", 11, "exactly ten"}, {"a longer text", 8, "a longe…"}, {"日本語テキスト", 7, "日本語…"},
	} {
		if got := cut(k.text, k.n); got != k.want {
			t.Errorf("cut %q to %d: got %q, want %q", k.text, k.n, got, k.want)
		}
	}
}

func TestGridFitsTheLine(t *testing.T) {
	g := &grid{head: []string{"n", "what", "about"}, numbers: []int{0}}
	g.add("1", "a", strings.Repeat("word ", 30))
	g.add("20", "longer", "two\nlines")
	if got := g.fitted(g.rows[0], 40); len([]rune(strings.Join(got, "  "))) > 40 || !strings.HasSuffix(got[2], "…") {
		t.Errorf("got %q", got)
	}
	var b bytes.Buffer
	g.write(&b)
	want := " N  WHAT    ABOUT\n 1  a       " + strings.TrimSpace(strings.Repeat("word ", 30)) + "\n20  longer  two lines\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestCosine(t *testing.T) {
	for _, k := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{1, 0}, []float32{2, 0}, 1}, {[]float32{1, 0}, []float32{0, 3}, 0}, {[]float32{1, 1}, []float32{-1, -1}, -1}, {nil, []float32{1}, 0},
	} {
		if got := cosine(k.a, k.b); got < k.want-1e-9 || got > k.want+1e-9 {
			t.Errorf("cosine %v %v: got %v, want %v", k.a, k.b, got, k.want)
		}
	}
}
