package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// realServers are the servers that every test of this file stands in front of;
// the HTTP ones are started here.
func realServers(t *testing.T, files string) object {
	t.Helper()
	everything := npm(t, "server-everything/dist/index.js")
	goServer := need(t, "TOOLDEX_E2E_EVERYTHING")

	npmAddr := freeAddress(t)
	start(t, []string{"PORT=" + npmAddr[strings.LastIndex(npmAddr, ":")+1:]}, "node", everything, "streamableHttp")
	waitHTTP(t, "http://"+npmAddr+"/mcp", any200s)
	goAddr := freeAddress(t)
	start(t, nil, goServer, "-http", goAddr)
	waitHTTP(t, "http://"+goAddr+"/", any200s)

	return object{
		"files":      object{"command": "node", "args": []string{npm(t, "server-filesystem/dist/index.js"), files}},
		"memory":     object{"command": "node", "args": []string{npm(t, "server-memory/dist/index.js")}, "env": object{"MEMORY_FILE_PATH": filepath.Join(files, "memory.json")}},
		"everything": object{"command": "node", "args": []string{everything, "stdio"}},
		"everyhttp":  object{"url": "http://" + npmAddr + "/mcp"},
		"golang":     object{"command": goServer},
		"gohttp":     object{"url": "http://" + goAddr + "/", "type": "http"},
	}
}

// testServers does a person's work through one session: find, describe, call.
func testServers(t *testing.T, s *mcp.ClientSession, files string) {
	find(t, s, "create a file or overwrite its content", "files/write_file")
	path := filepath.Join(files, "note.txt")
	execute(t, s, "files/write_file", object{"path": path, "content": "hello"})
	if data, err := os.ReadFile(path); err != nil || string(data) != "hello" {
		t.Fatalf("write_file left %q, %v", data, err)
	}
	execute(t, s, "files/read_text_file", object{"path": path})

	find(t, s, "remember entities in the knowledge graph", "memory/create_entities")
	execute(t, s, "memory/create_entities", object{"entities": []object{{"name": "tooldex", "entityType": "program", "observations": []string{"finds tools"}}}})
	got, _ := execute(t, s, "memory/search_nodes", object{"query": "tooldex"})
	if text, ok := got.(object); !ok || !strings.Contains(toJSON(t, text), "finds tools") {
		t.Errorf("search_nodes gave %v", got)
	}

	for _, server := range []string{"everything", "everyhttp"} {
		find(t, s, server+" echo a message back", server+"/echo")
		got, _ := execute(t, s, server+"/echo", object{"message": "over there"})
		if !strings.Contains(toJSON(t, got), "over there") {
			t.Errorf("%s/echo gave %v", server, got)
		}
		_, res := execute(t, s, server+"/get-tiny-image", object{})
		if !hasImage(res) {
			t.Errorf("%s/get-tiny-image lost its image: %v", server, res.Content)
		}
	}
	for _, server := range []string{"golang", "gohttp"} {
		find(t, s, server+" simple text", server+"/test_simple_text")
		execute(t, s, server+"/test_simple_text", object{})
		_, res := execute(t, s, server+"/test_image_content", object{})
		if !hasImage(res) {
			t.Errorf("%s/test_image_content lost its image: %v", server, res.Content)
		}
		out, res := call(t, s, "execute_tool", object{"tool_name": server + "/test_error_handling", "arguments": object{}})
		if !res.IsError {
			t.Errorf("%s/test_error_handling is no error but %v", server, out)
		}
	}
}

func hasImage(res *mcp.CallToolResult) bool {
	for _, c := range res.Content {
		if i, ok := c.(*mcp.ImageContent); ok && len(i.Data) > 0 {
			return true
		}
	}
	return false
}

var eras = []string{"2025-11-25", "2026-07-28"}

func TestRealServersOverHTTP(t *testing.T) {
	files := t.TempDir()
	endpoint := serveHTTP(t, configure(t, realServers(t, files)))
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			testServers(t, connect(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, era), files)
		})
	}
}

func TestRealServersOverStdio(t *testing.T) {
	files := t.TempDir()
	s := configure(t, realServers(t, files))
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			cmd := exec.Command(tooldex(t), "serve", "--stdio", "--config", s.config)
			cmd.Stderr = os.Stderr
			testServers(t, connect(t, &mcp.CommandTransport{Command: cmd}, era), files)
		})
	}
}
