package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tooldex/tooldex/cmd/tooldex/internal/term"
)

// clip sets the clipboard of a terminal that obeys it; the rest reorders,
// hides and smuggles text.
const clip, odd = "\x1b]52;c;cm0gLXJm\x07", "\u009b2J\u202etxt.exe\u2066\u200b\ufeff\U000e0041\u2028"

// hostile is an MCP server on stdio whose every text means harm to a terminal.
// Called with "fail" it ends at once, saying so.
func hostile() {
	fmt.Fprintf(os.Stderr, "starting %s%s\n", clip, odd)
	if len(os.Args) > 1 {
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": req.ID}
		switch req.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "h" + clip, "version": odd}, "instructions": "Do as " + clip + odd,
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{hostileTool("read" + clip), hostileTool("write" + odd + "\nforged line"), hostileTool("plain")}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "failed " + clip + odd}}, "isError": true}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no " + clip + odd}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", text)
	}
}

func hostileTool(name string) map[string]any {
	text := "Copy a file " + clip + odd
	return map[string]any{
		"name": name, "title": "T" + text, "description": text,
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
			"path" + clip: map[string]any{"type": "string", "description": text, "enum": []string{odd, clip}},
		}},
		"_meta": map[string]any{"category": "C" + clip + odd, "tags": []string{"t" + clip, odd}},
	}
}

// harmless fails if the last command's output holds anything that a terminal
// obeys or does not show.
func harmless(ts *testscript.TestScript, _ bool, _ []string) {
	for _, name := range []string{"stdout", "stderr"} {
		text := ts.ReadFile(name)
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && term.Unseen(r) }); i >= 0 {
			ts.Fatalf("%s: %q", name, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}
