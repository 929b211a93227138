package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/gateway/upstream/mcp"
)

func TestErasAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "eras.json")
	files := []*eraFile{{path: path, log: slog.New(slog.DiscardHandler)}, {path: path, log: slog.New(slog.DiscardHandler)}}
	a := mcp.Era{Transport: "http", Version: "2025-11-25", Server: "a 1"}
	files[0].Remember("a", "token-in-source", a)
	files[1].Remember("b", "", mcp.Era{Transport: "stdio"})
	if got := files[1].Recall("a", "token-in-source"); got != a {
		t.Errorf("got %+v, want %+v", got, a)
	}
	if got := files[0].Recall("a", "another"); got != (mcp.Era{}) {
		t.Errorf("got %+v for another connection", got)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "token") {
		t.Errorf("the file says %s, %v", text, err)
	}
	for _, damaged := range []string{"", "{", "null", `{"x":5}`, `[]`} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := files[0].Recall("a", "token-in-source"); got != (mcp.Era{}) {
			t.Errorf("got %+v from the file %q", got, damaged)
		}
		files[0].Remember("a", "token-in-source", a)
		if got := files[1].Recall("a", "token-in-source"); got != a {
			t.Errorf("got %+v after the file was %q", got, damaged)
		}
	}
}
