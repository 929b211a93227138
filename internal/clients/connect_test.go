package clients

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tooldex/tooldex/internal/settings"
)

// homes are the first file of each client below the home folder, on the
// three systems.
var homes = map[string]map[string]string{
	"linux": {
		"claude-desktop": ".config/Claude/claude_desktop_config.json", "claude-code": ".claude.json", "cursor": ".cursor/mcp.json",
		"vscode": ".config/Code/User/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json", "codex": ".codex/config.toml",
		"gemini": ".gemini/settings.json", "zed": ".config/zed/settings.json",
	},
	"darwin": {
		"claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json", "claude-code": ".claude.json", "cursor": ".cursor/mcp.json",
		"vscode": "Library/Application Support/Code/User/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json", "codex": ".codex/config.toml",
		"gemini": ".gemini/settings.json", "zed": ".config/zed/settings.json",
	},
	"windows": {
		"claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json", "claude-code": ".claude.json", "cursor": ".cursor/mcp.json",
		"vscode": "AppData/Roaming/Code/User/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json", "codex": ".codex/config.toml",
		"gemini": ".gemini/settings.json", "zed": "AppData/Roaming/Zed/settings.json",
	},
}

// before is what each client has, and kept what must be there byte for byte
// afterwards.
var before = map[string]struct{ text, kept string }{
	"claude-desktop": {"{\n  \"big\": 12345678901234567890,\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}},\n  \"html\": \"<&>\"\n}\n", "{\n  \"big\": 12345678901234567890,\n  \"mcpServers\": {|},\n  \"html\": \"<&>\"\n}\n"},
	"claude-code":    {`{"mcpServers":{"a":{"type":"stdio","command":"x"}},"projects":{"/p":{"mcpServers":{"b":{"command":"y"}}}}}`, `{"mcpServers":{|},"projects":{"/p":{"mcpServers":{"b":{"command":"y"}}}}}`},
	"cursor":         {"\xef\xbb\xbf{\r\n\t// c\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"}, // a\r\n\t},\r\n}\r\n", "\xef\xbb\xbf{\r\n\t// c\r\n\t\"mcpServers\": {|},\r\n}\r\n"},
	"vscode":         {"{\n    \"inputs\": [], // none\n    \"servers\": {\"a\": {\"url\": \"https://x.example\"}},\n}", "{\n    \"inputs\": [], // none\n    \"servers\": {|},\n}"},
	"windsurf":       {`{"mcpServers": {"a": {"serverUrl": "https://x.example"}}}`, `{"mcpServers": {|}}`},
	"codex":          {"model = \"m\" # m\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n\r\n[other]\r\nk = 1\r\n", "model = \"m\" # m\r\n\r\n\r\n[other]\r\nk = 1\r\n|"},
	"gemini":         {"{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\"a\": {\"httpUrl\": \"https://x.example\"}}\n}", "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {|}\n}"},
	"zed":            {"// z\n{\n  \"context_servers\": {\"a\": {\"command\": {\"path\": \"x\"}}, \"ext\": {\"settings\": {}}},\n  \"t\": 1,\n}\n", "|\"t\": 1,\n}\n"},
}

func fakeHome(t *testing.T, system string) System {
	t.Helper()
	return System{OS: system, Home: filepath.Join(t.TempDir(), "Jöhn Dœ 名"), Dir: t.TempDir(), Getenv: func(string) string { return "" }, Listen: "127.0.0.1:7420"}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConnectAndDisconnect(t *testing.T) {
	for system, files := range homes {
		s := fakeHome(t, system)
		for client, name := range files {
			path := filepath.Join(s.Home, filepath.FromSlash(name))
			put(t, path, before[client].text)
			for _, self := range []Self{{Command: `C:\a b\tooldex.exe`, Args: []string{"serve", "--stdio"}}, {URL: "http://127.0.0.1:7420/mcp"}} {
				changes, err := s.Connect(client, self)
				if client == "claude-desktop" && self.URL != "" {
					if err == nil {
						t.Error("Claude Desktop was given an address")
					}
					continue
				}
				if err != nil || len(changes) != 1 || changes[0].Path != path || len(changes[0].Removed) != 1 {
					t.Fatalf("%s %s: %v %+v, want one change of %s", system, client, err, changes, path)
				}
				if _, err := Apply(changes); err != nil {
					t.Fatalf("%s %s: %v", system, client, err)
				}
				text := read(t, path)
				front, back, _ := strings.Cut(before[client].kept, "|")
				if !strings.HasPrefix(text, front) || !strings.HasSuffix(text, back) {
					t.Errorf("%s %s: %q, want %q around tooldex", system, client, text, before[client].kept)
				}
				servers, err := s.Read(Location{client, path})
				only := 0
				for _, x := range servers {
					if x.IsTooldex(s.Listen) {
						only++
					} else if x.Name != "ext" {
						t.Errorf("%s %s: %s is still there", system, client, x.Name)
					}
				}
				if err != nil || only != 1 {
					t.Errorf("%s %s: %v, %+v", system, client, err, servers)
				}
				back2, err := s.Disconnect(client)
				if err != nil {
					t.Fatalf("%s %s: %v", system, client, err)
				}
				if _, err := Apply(back2); err != nil || read(t, path) != before[client].text {
					t.Errorf("%s %s: %v: after disconnect %q", system, client, err, read(t, path))
				}
				if _, err := os.Stat(changes[0].Copy()); err == nil {
					t.Errorf("%s %s: the copy is still there", system, client)
				}
			}
		}
	}
}

// A client without a file gets one, and loses it again.
func TestConnectWithoutAFile(t *testing.T) {
	s := fakeHome(t, "linux")
	if _, err := s.Connect("cursor", Self{Command: "tooldex"}); err == nil || !strings.Contains(err.Error(), "no such folder") {
		t.Errorf("a client that is not there: %v", err)
	}
	path := filepath.Join(s.Home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	apply(t)(s.Connect("cursor", Self{Command: "tooldex"}))
	if !strings.Contains(read(t, path), `"tooldex"`) {
		t.Error(read(t, path))
	}
	apply(t)(s.Disconnect("cursor"))
	if _, err := os.Stat(path); err == nil {
		t.Errorf("left behind: %s", read(t, path))
	}
}

func apply(t *testing.T) func([]*Rewrite, error) {
	return func(changes []*Rewrite, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Apply(changes); err != nil {
			t.Fatal(err)
		}
	}
}

// What a person changed while the client was connected stays.
func TestDisconnectKeepsChanges(t *testing.T) {
	s := fakeHome(t, "linux")
	path := filepath.Join(s.Home, ".codex", "config.toml")
	put(t, path, "model = \"m\"\n[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.b]\ncommand = \"y\"\n")
	apply(t)(s.Connect("codex", Self{Command: "/bin/tooldex"}))
	put(t, path, strings.Replace(read(t, path), `"m"`, `"n"`, 1)+"[mcp_servers.b]\ncommand = \"new\"\n")
	if _, err := s.Connect("codex", Self{Command: "/bin/tooldex"}); err == nil || !strings.Contains(err.Error(), "has b since: disconnect first") {
		t.Errorf("connected again: %v", err)
	}
	apply(t)(s.Disconnect("codex"))
	servers, err := s.Read(Location{"codex", path})
	if text := read(t, path); err != nil || len(servers) != 2 || servers[0].Command != "x" || servers[1].Command != "new" || !strings.HasPrefix(text, "model = \"n\"\n") {
		t.Errorf("%v %+v\n%s", err, servers, text)
	}
}

// When one of two files cannot be written, neither is.
func TestConnectIsAllOrNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	s := fakeHome(t, "linux")
	dir := filepath.Join(s.Home, ".config", "Code", "User")
	mcp, old := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "settings.json")
	put(t, mcp, before["vscode"].text)
	const oldText = "{\"mcp\": {\"servers\": {\"o\": {\"command\": \"o\"}}}, \"x\": 1}"
	put(t, old, oldText)
	changes, err := s.Connect("vscode", Self{Command: "tooldex"})
	if err != nil || len(changes) != 2 {
		t.Fatal(err, changes)
	}
	put(t, old, oldText+"\n") // the client writes it meanwhile
	if _, err := Apply(changes); !errors.Is(err, settings.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if read(t, mcp) != before["vscode"].text {
		t.Errorf("half done: %s", read(t, mcp))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*before-tooldex")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	apply(t)(s.Connect("vscode", Self{Command: "tooldex"}))
	if strings.Contains(read(t, old), `"o"`) || !strings.Contains(read(t, old), `"x": 1`) {
		t.Error(read(t, old))
	}
	// A copy that a cut-off attempt left behind is no obstacle.
	apply(t)(s.Disconnect("vscode"))
	put(t, mcp+".before-tooldex", read(t, mcp))
	apply(t)(s.Connect("vscode", Self{Command: "tooldex"}))
	apply(t)(s.Disconnect("vscode"))
	if read(t, mcp) != before["vscode"].text || read(t, old) != oldText+"\n" {
		t.Errorf("%s\n%s", read(t, mcp), read(t, old))
	}
}
