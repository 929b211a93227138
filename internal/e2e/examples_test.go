package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestRealAgents runs the agents of examples/ over a real tooldex. Their model
// is a script: it searches, makes a mistake, runs what it found, and repeats
// what came back.
func TestRealAgents(t *testing.T) {
	modules, python := need(t, "TOOLDEX_E2E_NPM"), need(t, "TOOLDEX_E2E_PYTHON")
	s := sampleSetup(t)
	output(t, tooldex(t), "reindex", "--config", s.config)
	endpoint := serveHTTP(t, s)
	folder := filepath.Join("..", "..", "examples", "agent")
	script := filepath.Join(filepath.Dir(modules), "agent.mts") // beside the packages that it imports
	text, err := os.ReadFile(filepath.Join(folder, "agent.mts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{"python": {python, filepath.Join(folder, "agent.py")}, "node": {filepath.Join(modules, ".bin", "tsx"), script}} {
		t.Run(name, func(t *testing.T) {
			model := &scripted{t: t}
			chat := httptest.NewServer(model)
			defer chat.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, command[0], append(command[1:], "how many words has this text?")...)
			cmd.Env = append(os.Environ(), "TOOLDEX_URL="+endpoint, "CHAT_URL="+chat.URL, "CHAT_KEY=secret")
			var log strings.Builder
			cmd.Stderr = &log
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
			if got := string(out); !strings.Contains(got, `"words":3`) || model.turns.Load() != 4 {
				t.Errorf("after %d turns: %s\n%s", model.turns.Load(), got, log.String())
			}
		})
	}
}

// A scripted chat model answers by turns.
type scripted struct {
	t     *testing.T
	turns atomic.Int32
}

func (m *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("Authorization") != "Bearer secret" || len(asked.Tools) != len(metaTools) {
		m.t.Errorf("asked with %d tools, %v", len(asked.Tools), err)
	}
	last := asked.Messages[len(asked.Messages)-1].Content
	said := object{"role": "assistant", "content": last}
	switch m.turns.Add(1) {
	case 1:
		said = toolCall("search_tools", `{"query":"count the words of a text"}`)
	case 2:
		if !strings.Contains(last, "sample/count_text") {
			m.t.Errorf("the search gave %s", last)
		}
		said = toolCall("execute_tool", `{"tool_name":"sample/count_text",`)
	case 3:
		if !strings.Contains(last, "no JSON") {
			m.t.Errorf("the mistake gave %s", last)
		}
		said = toolCall("execute_tool", `{"tool_name":"sample/count_text","arguments":{"text":"one two three"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object{"choices": []object{{"message": said}}}); err != nil {
		m.t.Error(err)
	}
}

func toolCall(name, arguments string) object {
	return object{"role": "assistant", "content": nil, "tool_calls": []object{
		{"id": "call", "type": "function", "function": object{"name": name, "arguments": arguments}},
	}}
}
