package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// project is the folder of the repository.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(project(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// notTyped are commands of the front page that have no answer here, and what
// shows them instead.
var notTyped = map[string]string{
	"go run ./cmd/tooldex demo":          "TestDocumentedDemo",
	"TOOLDEX_EMBEDDING_PROVIDER=ollama ": "testdata/script/embedder.txt, .ci/embedders",
	"tooldex search \"send a chat":       "needs the tools of Slack's server",
}

// TestDocumentedFrontPage types what the front page says, in its order, as
// somebody who has one server in one client.
func TestDocumentedFrontPage(t *testing.T) {
	r := newReader(t)
	r.dir = project(t)
	tooldex, err := exec.LookPath("tooldex")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"erp": map[string]any{"command": tooldex, "args": []string{"sample-server", "--group", "numbers"}}}})
	if err != nil {
		t.Fatal(err)
	}
	r.put(".cursor/mcp.json", string(mine))
	r.put("bin/npx", "#!/bin/sh\nexec tooldex sample-server --group files\n") // the real package is what .ci/integration starts
	r.put("documents/notes.txt", "text")
	typed := 0
	for _, block := range fence.FindAllStringSubmatch(readme(t), -1) {
		for _, line := range command.FindAllStringSubmatch(block[1], -1) {
			if documented(line[1]) == nil || typedElsewhere(line[1]) {
				continue
			}
			typed++
			if out, err := r.enter(line[1]); err != nil {
				t.Errorf("%s\n%s%v", line[1], out, err)
			} else if shown, ok := strings.CutPrefix(block[1], "$ "+line[1]+"\n"); ok && untimed(out) != untimed(shown) {
				t.Errorf("%s: got\n%s, the page shows\n%s", line[1], out, shown)
			}
		}
	}
	if typed < 8 {
		t.Errorf("only %d commands were found", typed)
	}
}

func typedElsewhere(line string) bool {
	for begin := range notTyped {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// times are what differs from run to run: milliseconds, and in the rows of
// eval the last two columns.
var times = regexp.MustCompile(`[0-9.]+ ms\b|"execution_time_ms":[0-9]+| +[0-9.]+ +[0-9.]+\n`)

func untimed(text string) string { return strings.TrimSpace(times.ReplaceAllString(text+"\n", "")) }

// TestDocumentedDemo compares the walk that the front page shows with the one
// that the demo makes.
func TestDocumentedDemo(t *testing.T) {
	_, shown, _ := strings.Cut(readme(t), "\n```\ntooldex stands between")
	shown, _, _ = strings.Cut(shown, "\n```\n")
	out, err := exec.CommandContext(t.Context(), "tooldex", "demo", "--once").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := untimed(string(out)), untimed("tooldex stands between"+shown); got != want {
		t.Errorf("the demo says\n%s\nand README.md\n%s", got, want)
	}
}
