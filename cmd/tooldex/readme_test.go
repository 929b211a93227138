package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	if runtime.GOOS == "windows" {
		t.Skip("the lines are of a POSIX shell")
	}
	home := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tooldex, err := exec.LookPath("tooldex")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"erp": map[string]any{"command": tooldex, "args": []string{"sample-server", "--group", "numbers"}}}})
	if err != nil {
		t.Fatal(err)
	}
	put(".cursor/mcp.json", string(mine))
	put("bin/npx", "#!/bin/sh\nexec tooldex sample-server --group files\n") // the real package is what .ci/integration starts
	put("documents/notes.txt", "text")
	typed := 0
	for _, block := range fence.FindAllStringSubmatch(readme(t), -1) {
		for _, line := range command.FindAllStringSubmatch(block[1], -1) {
			if documented(line[1]) == nil || typedElsewhere(line[1]) {
				continue
			}
			typed++
			c := exec.CommandContext(t.Context(), "sh", "-c", line[1])
			c.Dir = project(t)
			c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s\n%s%v", line[1], out, err)
			} else if shown, ok := strings.CutPrefix(block[1], "$ "+line[1]+"\n"); ok && untimed(string(out)) != untimed(shown) {
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
