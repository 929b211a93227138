package main

import (
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
