// Package clients reads the MCP servers that a person has configured in other
// programs: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex,
// Gemini CLI and Zed, each in its own place and format.
//
// [System.Find] reads the places that [System.Files] and [System.ProjectFiles]
// name, [MakePlan] decides what to take over under which name, and [Write] adds
// that to a tooldex configuration. A [Server] may hold secrets: show it only through
// [Server.Summary]. Settings that tooldex has no use for are dropped; what
// needs a person's attention is in [Server.Notes].
package clients

import (
	"path/filepath"
	"time"
)

// A Server is one server as a client has it configured.
type Server struct {
	Name    string            `yaml:"-" json:"-"`
	Type    string            `yaml:"type,omitempty" json:"type,omitempty"` // stdio, http, sse, or "" to be derived
	Command string            `yaml:"command,omitempty" json:"command,omitempty"`
	Args    []string          `yaml:"args,omitempty" json:"args,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	Cwd     string            `yaml:"cwd,omitempty" json:"cwd,omitempty"`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	Timeout string            `yaml:"timeout,omitempty" json:"timeout,omitempty"` // as time.Duration writes it
	Tags    []string          `yaml:"tags,omitempty" json:"tags,omitempty"`
	// Hidden servers show those of Tools that say so.
	Hidden bool            `yaml:"hidden,omitempty" json:"hidden,omitempty"`
	Tools  map[string]Tool `yaml:"tools,omitempty" json:"tools,omitempty"`
	// Disabled servers are written as such.
	Disabled bool     `yaml:"disabled,omitempty" json:"disabled,omitempty"`
	Notes    []string `yaml:"-" json:"-"` // what a person must know or do

	// API is the whole entry of a REST API, which stands under rest; nil is an
	// MCP server.
	API map[string]any `yaml:"-" json:"api,omitempty"`
}

// Section is where a tooldex configuration has the server.
func (s Server) Section() string {
	if s.API != nil {
		return "rest"
	}
	return "mcpServers"
}

// entry is what stands there.
func (s Server) entry() any {
	if s.API != nil {
		return s.API
	}
	return s
}

// A Tool is one that the client has switched on or off by its name.
type Tool struct {
	Hidden bool `yaml:"hidden" json:"hidden"`
}

// A Location is a place where a client keeps servers.
type Location struct {
	Client string // such as "cursor"
	Path   string
}

// Names are the clients by their short names, with the names people know.
var Names = map[string]string{
	"claude-desktop": "Claude Desktop", "claude-code": "Claude Code", "cursor": "Cursor", "vscode": "VS Code",
	"windsurf": "Windsurf", "codex": "Codex", "gemini": "Gemini CLI", "zed": "Zed",
}

// A System is the machine whose clients are read.
type System struct {
	OS     string              // as runtime.GOOS
	Home   string              // the person's home folder
	Dir    string              // the project folder
	Listen string              // tooldex's own address, whose entries are tooldex; "" for none
	Getenv func(string) string // the environment
}

// settings is the folder where programs keep a person's settings.
func (s System) settings() string {
	switch s.OS {
	case "darwin":
		return filepath.Join(s.Home, "Library", "Application Support")
	case "windows":
		return s.env("APPDATA", filepath.Join(s.Home, "AppData", "Roaming"))
	}
	return s.env("XDG_CONFIG_HOME", filepath.Join(s.Home, ".config"))
}

func (s System) env(name, otherwise string) string {
	if v := s.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// zed is Zed's settings folder, which on macOS is not where others keep
// theirs.
func (s System) zed() string {
	if s.OS == "darwin" {
		return filepath.Join(s.Home, ".config", "zed")
	}
	if s.OS == "windows" {
		return filepath.Join(s.settings(), "Zed")
	}
	return filepath.Join(s.settings(), "zed")
}

// Files are the documented places where every client keeps a person's own
// servers. Most of them do not exist on any one machine.
func (s System) Files() []Location {
	return []Location{
		{"claude-desktop", filepath.Join(s.settings(), "Claude", "claude_desktop_config.json")},
		{"claude-code", filepath.Join(s.env("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")},
		{"cursor", filepath.Join(s.Home, ".cursor", "mcp.json")},
		{"vscode", filepath.Join(s.settings(), "Code", "User", "mcp.json")},
		{"vscode", filepath.Join(s.settings(), "Code", "User", "settings.json")},
		{"windsurf", filepath.Join(s.Home, ".codeium", "windsurf", "mcp_config.json")},
		{"codex", filepath.Join(s.env("CODEX_HOME", filepath.Join(s.Home, ".codex")), "config.toml")},
		{"gemini", filepath.Join(s.Home, ".gemini", "settings.json")},
		{"zed", filepath.Join(s.zed(), "settings.json")},
	}
}

// ProjectFiles are the places where clients keep a project's servers, in Dir.
// Whoever wrote the project wrote them, so they are read only on request.
func (s System) ProjectFiles() []Location {
	return []Location{
		{"claude-code", filepath.Join(s.Dir, ".mcp.json")},
		{"cursor", filepath.Join(s.Dir, ".cursor", "mcp.json")},
		{"vscode", filepath.Join(s.Dir, ".vscode", "mcp.json")},
		{"codex", filepath.Join(s.Dir, ".codex", "config.toml")},
		{"gemini", filepath.Join(s.Dir, ".gemini", "settings.json")},
		{"zed", filepath.Join(s.Dir, ".zed", "settings.json")},
	}
}

// milliseconds writes a client's timeout as a duration; "" for none.
func milliseconds(ms float64) string {
	if ms <= 0 {
		return ""
	}
	return time.Duration(ms * float64(time.Millisecond)).String()
}
